# SPDX-License-Identifier: Apache-2.0
# gpuc build with compilers for other machines: what packages hold, and what this machine says of them.
. ./lib.sh
models=$3

# TRIPLE MACHINE PROCESSOR ARCHITECTURE: what it is called in messages, and two values of -mcpu.
cross() {
    cc=$1-gcc
    if ! command -v "$cc" >/dev/null 2>&1; then
        echo "skipped: $cc is not installed"
        return
    fi
    tested=$((tested + 1))
    expect 0 'far.gpuc' build sum.onnx --target "c -cc=$cc" --target c -o far.gpuc
    expect 0 "cpu_so for $2" inspect far.gpuc
    expect 0 'not taken: its code is for' inspect far.gpuc
    expect 0 "output 1 'twice'" run far.gpuc --random 3 --device cpu
    grep -q "target 'c -cc=$cc': the CPU code is for $2" err || complain 'the fall to another program was not told'
    expect 0 'alone.gpuc' build sum.onnx --target "c -cc=$cc" -o alone.gpuc
    expect 1 "the CPU code is for $2 .*, this processor is .*: build the package on such a machine" run alone.gpuc --random 3
    expect 1 "mcpu=native is this machine's processor, but '$cc' compiles for $1" \
        build sum.onnx --target "c -cc=$cc -mcpu=native" -o bad.gpuc
    expect 0 'near.gpuc' build sum.onnx --target "c -cc=$cc -mcpu=$3" -o near.gpuc
    expect 0 'near.gpuc' build sum.onnx --target "c -cc=$cc -mcpu=$4" -o near.gpuc
    expect 1 "the C compiler '$cc' failed with exit code 1" build sum.onnx --target "c -cc=$cc -mcpu=nonsense" -o bad.gpuc
    # What is emitted compiles there without a word.
    for target in "c" "c -vector_bits=128"; do
        expect 0 '' build "$models/mnist_cnn/model.onnx" --shape N=1 --target "$target -cc=$cc" --emit emitted -o net.gpuc
        for file in emitted/*.c; do
            checks=$((checks + 1))
            "$cc" -std=gnu11 -O1 -Wall -Wextra -Wno-unused-parameter -Wno-psabi -Werror -c "$file" -o emitted.o >out 2>err || complain "$cc $file"
        done
        rm -r emitted
    done
}

tested=0
cross aarch64-linux-gnu AArch64 cortex-a72 armv8.2-a+dotprod
cross arm-linux-gnueabihf ARM cortex-a15 armv7-a+simd
[ $tested -gt 0 ] || exit 77
finish
