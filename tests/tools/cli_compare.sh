# SPDX-License-Identifier: Apache-2.0
# gpuc compare: programs that agree, and kernels that were damaged on purpose. $4 makes the damage.
damage=$4
. ./lib.sh

expect 2 'device names the program' compare sum.gpuc
expect 2 'not negative' compare sum.gpuc --device cpu --rtol -1
expect 1 'cannot open' compare none.gpuc --device cpu

tests=0
for target in opencl vulkan; do
    "$gpuc" devices | grep -q "^$target:0" || continue
    tests=$((tests + 1))
    expect 0 '' build chain.onnx --target $target --target c -o $target.gpuc
    expect 1 'same program' compare $target.gpuc --device cpu --random 1
    expect 1 "is missing" compare $target.gpuc --device $target
    expect 0 '^4 operators agree, 0 could not be compared' compare $target.gpuc --device $target --random 1
    expect 0 '^same: softmax_2#2 .node_soft' compare $target.gpuc --device $target --random 1 -v
    expect 0 '^4 operators agree' compare $target.gpuc --device cpu --with $target --random 1

    # The first operator, one in the middle, the last: each is named, whatever follows from it.
    "$damage" $target.gpuc first.gpuc $target 1.375 || complain 'damage'
    "$damage" $target.gpuc middle.gpuc $target 0.28125 || complain 'damage'
    "$damage" first.gpuc both.gpuc $target 3.625 || complain 'damage'
    "$damage" $target.gpuc last.gpuc $target 3.625 || complain 'damage'
    expect 1 "^gpuc: operator 'multiply_0#0' .node_scaled. is the first that differs: output 0" \
        compare first.gpuc --device $target --random 1 -o $target-first
    expect 1 "^gpuc: operator 'matmul_add_1#1' .node_product,node_shifted." \
        compare middle.gpuc --device $target --random 1 -o $target-middle
    expect 1 "^gpuc: operator 'multiply_0#0'" compare both.gpuc --device $target --random 1
    expect 1 "^gpuc: operator 'multiply_3#3' .node_y." compare last.gpuc --device $target --random 1 -o $target-last
    expect 0 '^4 operators agree' compare last.gpuc --device $target --random 1 --rtol 1 --atol 9
    expect 1 "^gpuc: operator 'multiply_3#3' .node_y." compare last.gpuc --device cpu --with $target --random 1
    [ -s gpuc-compare/multiply_3.so ] || complain 'the shared object of the CPU'
    code=$target-middle/matmul_add_1
    for file in $target-middle/input_0.npy $target-middle/input_1.npy $target-middle/output_0.npy \
        $target-middle/expected_0.npy; do
        [ -s $file ] || complain "$file"
    done
    case $target in
    opencl) grep -q '1.28125f' $code.cl || complain 'the source of the kernel' ;;
    vulkan) [ "$(head -c 4 $code.spv | od -An -tx4 | tr -d ' ')" = 07230203 ] || complain 'the code of the kernel' ;;
    esac
    # Two kernels that store halves of one tensor: the tensor is named, and what both kernels had is there.
    expect 0 '' build halves.onnx --target $target --target c -o halves.gpuc
    expect 0 '^1 operators agree, 0 could not' compare halves.gpuc --device $target --random 1
    "$damage" halves.gpuc wrong.gpuc $target 3.625 || complain 'damage'
    expect 1 "^gpuc: operator 'concatenate#2' .node_y. is the first that differs" \
        compare wrong.gpuc --device $target --random 1 -o $target-halves
    [ -s $target-halves/input_2.npy ] || complain 'the inputs of both kernels'
    # What was saved is what the kernel had: the expected output follows from the inputs.
    cmp -s $target-middle/output_0.npy $target-middle/expected_0.npy && complain 'both outputs are the same'
done
[ $tests -gt 0 ] || { echo 'skipped: there is neither OpenCL nor Vulkan'; exit 77; }

# Fused differently: the least that Vulkan promises has no room for all tensors in one kernel.
if "$gpuc" devices | grep -q '^vulkan:0'; then
    expect 0 '' build sums.onnx --target vulkan --target c -o sums.gpuc
    expect 0 '^1 operators agree, 1 could not be compared' compare sums.gpuc --device vulkan --random 1
    grep -q '^not compared: .*node_scaled,.*: the other program has no operator' out || complain 'what was left out'
    "$damage" sums.gpuc wrong.gpuc vulkan 1.375 || complain 'damage'
    expect 1 "^gpuc: operator .*node_y. is the first" compare wrong.gpuc --device vulkan --random 1
    grep -q '^or in .*node_scaled,.* which nothing was compared with' out || complain 'the suspect'
fi
finish
