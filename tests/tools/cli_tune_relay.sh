# SPDX-License-Identifier: Apache-2.0
# gpuc tune of Relay programs: mistakes in them, one log for several targets, and the builds that use it.
. ./lib.sh
# tune CODE PATTERN PROGRAM OPTION...
tune() {
    code=$1 pattern=$2 program=$3
    shift 3
    expect "$code" "$pattern" tune "$program" --no-wait --log log --trials 2 "$@"
}
# mistake PATTERN TEXT: a program that cannot be tuned. The message names it, and nothing is recorded.
mistake() {
    echo "$2" >mistake.rly
    tune 1 "^gpuc: '?mistake.rly'?:$1" mistake.rly --target c
    [ ! -s log ] || complain "a record of '$2'"
}
cat >net.rly <<'E2'
def @scaled(%x) { multiply(%x, 0.5f) }
def @main(%x: Tensor[(1, 4, 12, 12), float32], %w: Tensor[(8, 4, 3, 3), float32], %b: Tensor[(8), float32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1]), %b));
  let %y = nn.batch_flatten(nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]));
  (nn.softmax(@scaled(%y)), sum(%0, axis=[1]))
}
E2
cat >exact.rly <<'E2'
def @main(%x: Tensor[(24, 40), int32], %w: Tensor[(9, 40), int32]) { sum(nn.dense(%x, %w) + 3, axis=[0]) }
E2

# Programs that are none, or none that can be built.
mistake "1:50: nn.dense: inner dimensions 4 and 5 differ" \
    'def @main(%x: Tensor[(4, 4), float32]) { nn.relu(nn.dense(%x, ones(shape=[4, 5], dtype="float32"))) }'
mistake "2:1: ',' is expected, but the text ends" 'def @main(%x: Tensor[(4, 4), float32]) { nn.dense(%x, %x'
mistake "1:42: unknown operator or constructor 'nn.dens'" 'def @main(%x: Tensor[(4, 4), float32]) { nn.dens(%x, %x) }'
mistake '1:11: the type is not known.*write it where it begins' 'def @main(%x) { add(%x, %x) }'
mistake '1:.*graphs only can be built, but @main has an if' 'def @main(%x: int32, %c: bool) { if (%c) { %x } else { %x + 1 } }'
mistake '1:34: graphs only can be built, but @main has a parameter that is no tensor' \
    'type L { N, C(int32) } def @main(%x: L) { %x }'
mistake '1:.*graphs only can be built' 'def @f(%x: int32) -> int32 { @f(%x) } def @main(%x: int32) { @f(%x) }'
mistake " the module has no function 'main': write 'def @main" 'def @mian(%x: int32) { %x }'
mistake " the module has no function 'main': write 'def @main" ''
mistake ' there is nothing to tune in it$' 'def @main(%x: Tensor[(4, 4), float32]) { 1 + 2 }'
mistake ' there is nothing to tune in it; 1 functions .* sizes of them open: write them in the program' \
    'def @main(%x: Tensor[(?, 4), float32]) { nn.dense(%x, %x) }'
printf 'def @main\0(%%x: int32) { %%x }\n' >zero.rly
tune 1 '^gpuc: zero.rly: byte 9 is 0' zero.rly --target c
mkdir folder.rly
tune 1 "cannot read 'folder.rly': it is a directory" folder.rly --target c
tune 1 "cannot open 'nothere.rly': No such file" nothere.rly --target c

# Options for models only, several targets, logs that cannot be written.
tune 1 '^gpuc: net.rly: --shape and --bind are for ONNX models: write the sizes in the program' net.rly --target c --shape x=1
tune 1 '^gpuc: net.rly: --shape and --bind are for ONNX models' net.rly --target c --bind x=x.npy
tune 1 "did you mean 'vulkan'" net.rly --target vulcan
tune 1 "^gpuc: target attribute 'vector_bits' needs an integer, not 'many'" net.rly --target 'c -vector_bits=many'
tune 2 'one --target at a time; a log holds the records of several' net.rly --target c --target opencl
expect 2 "one model at a time; 'exact.rly' is too much" tune net.rly exact.rly --target c --log log
[ ! -s log ] || complain 'a record of what cannot be tuned'
expect 1 "^gpuc: cannot open tuning log 'nowhere/log': No such file" tune net.rly --target c --log nowhere/log
expect 1 "^gpuc: cannot open tuning log 'folder.rly': Is a directory" tune net.rly --target c --log folder.rly
expect 1 "^gpuc: cannot use '/dev/full' as a tuning log: it is not a regular file" tune net.rly --target c --log /dev/full
full 1 "^gpuc: cannot write tuning log 'torn': File too large" tune net.rly --no-wait --target c --log torn --trials 1
if [ "$(id -u)" != 0 ]; then
    : >locked
    chmod 400 locked
    expect 1 "^gpuc: cannot open tuning log 'locked': Permission denied" tune net.rly --target c --log locked
fi
rm -f log

# One log for several targets. A build takes the records of its own, and computes the same.
targets=c
for target in opencl/pocl vulkan/llvmpipe; do
    "$gpuc" devices 2>/dev/null | grep -q "^${target%/*}:0" && targets="$targets $target"
done
for target in $targets; do
    tune 0 '^[1-9] trials, 0 of them failed' net.rly --target "$target" --trials 6
    grep -q "build --target '$target' --tuning-log log" out || complain 'the build is not told'
done
for target in $targets; do
    expect 0 'operators with something to tune are tuned, 0 use' build net.rly --target "$target" --tuning-log log -v -o net.gpuc
    expect 0 'schedule: {.*} from log' inspect net.gpuc
    [ "$target" = c ] && continue
    expect 0 'tuned, 0 use' build net.rly --target "$target" --target c --tuning-log log -v -o both.gpuc
    expect 0 'operators agree' compare both.gpuc --device "${target%/*}" --random 1
done
tune 0 '^8 trials, 0 of them failed' exact.rly --target c --trials 8 --ignore-default --search random
expect 0 'tuned, 0 use' build exact.rly --target c --tuning-log log -v -o tuned.gpuc
expect 0 'tuned' build exact.rly --target c -v -o default.gpuc
cmp -s tuned.gpuc default.gpuc && complain 'the log changes nothing'
for package in tuned default; do
    expect 0 '' run $package.gpuc --random 3 --output $package
done
cmp tuned/output_0.npy default/output_0.npy || complain 'the tuned program computes something else'

# Tuning goes on where it was; another program's functions have records of their own.
tune 0 '^3 trials' exact.rly --target c --trials 3 --search random
[ "$(grep -o '"workload":.*"costs"' log | sort | uniq -d | wc -l)" = 0 ] || complain 'a trial was repeated'
sed 's/(9, 40)/(11, 40)/' exact.rly >other.rly
expect 0 '0 of 2 operators with something to tune are tuned' build other.rly --target c --tuning-log log -v -o other.gpuc
finish
