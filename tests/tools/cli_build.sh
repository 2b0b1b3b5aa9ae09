# SPDX-License-Identifier: Apache-2.0
# gpuc build and targets: the command line, and models that are wrong.
. ./lib.sh
models=$3

nothing_left() {
    checks=$((checks + 1))
    [ -e bad.gpuc ] && complain 'a package was left behind'
    ls -A . "$TMPDIR" | grep -Eq '^(\.gpuc-|gpuc-cc-)' && complain 'a temporary file was left behind'
}

for c in build verify targets ops opt; do expect 0 "usage: gpuc $c" $c --help; done
expect 2 'model is missing' build --target c
expect 2 'say what to build for' build sum.onnx
expect 2 "did you mean '--target'" build sum.onnx --tagret c
expect 2 'must be in 0..3' build sum.onnx --target c -O4
expect 2 'needs a number of bytes' build sum.onnx --target c --fold-limit 1Q
expect 2 'names .a. twice' build sum.onnx --target c --shape a=2,3 --shape a=2,3
expect 0 'vulkan/llvmpipe' targets
expect 0 '"name": "opencl/pocl"' targets --json
expect 0 'max_num_threads' targets -a
expect 0 'nnvm     elemwise_add,broadcast_add' ops
expect 0 '"name": "nn.softmax"' ops --json
expect 0 'kernel_size  *integers, another spelling: must be that of the weight' ops conv2d
expect 0 'aliases  nn.pool2d,pool2d' ops nn.pool2d
expect 1 "unknown operator 'nn.con2d'; did you mean 'nn.conv2d'" ops nn.con2d

# Passes by hand.
cat >f.tir <<'END'
func f(A: float32[6] global) {
  for i in 0..2 {
    for j in 0..3 {
      A[i*3 + j] = 1.5
    }
  }
}
END
expect 0 '^ *A\[i\*3 \+ j\] = 1.5' opt f.tir
expect 0 'stage target' opt --pass lower --target opencl f.tir
expect 0 '^  storage_flatten$' opt --list
expect 0 '^    -O0; a graph, a target: groups operators' opt --list
expect 1 "no pass 'nothing'; those of loop IR are listed by" opt --pass nothing f.tir
expect 1 'nothere.tir' opt nothere.tir
expect 2 'file is missing' opt
echo 'func f(' >bad.tir
expect 1 'bad.tir:2:1' opt bad.tir
printf 'def @main(%%x: int32) { let %%f = fn (%%y) { %%y + 1 }; %%f(%%x) }\n' > p.rly
expect 0 '^    add\(%y, 1\)$' opt p.rly
expect 0 'add\(%y, 1\) /\* ty=int32 \*/$' opt --types p.rly
expect 1 "no pass 'fold_constants'; did you mean 'fold_constant'" opt --pass fold_constants p.rly
expect 1 "no pass 'simplify'; those of Relay are listed by" opt --pass simplify p.rly
expect 1 "the pass winograd needs a target" opt --pass winograd p.rly
expect 1 "the pass dead_code has no options, 'x' is none" opt --pass 'dead_code(x=1)' p.rly
expect 1 "options of the pass dead_code have no" opt --pass 'dead_code(x=1' p.rly
expect 1 "graphs only can be built, but @main has a let" opt --pass dead_code,optimize_for_target --target c p.rly
printf 'def @main(%%x: Tensor[(3), int32]) { reshape(%%x, newshape=[3]) + (1 + 1) }\n' > r.rly
expect 0 '^  add\(%x, 2\)$' opt --pass simplify_expr,fold_constant r.rly
# A program without branches is built as a model is, and gives what the interpreter gives.
cat >g.rly <<'END'
def @f(%x: Tensor[(2, 3), float32]) { let %y = %x * 4f; %y + %x }
def @main(%x: Tensor[(2, 3), float32]) { let %z = @f(%x); (%z * 2f, nn.relu(%z)) }
END
echo 'def @main(%x: Tensor[(2, 3), float32]) { %x + 0f }' > same.rly
echo '[[-0.5, -0.25, 0], [0.25, 0.5, 0.75]]' > x.json
expect 0 'output_0.npy' run same.rly --interpret --input x=x.json --output x
expect 0 'output_1.npy' run g.rly --interpret --input x=x.json --output want
expect 0 'for c, opencl, vulkan' build g.rly --target c --target opencl --target vulkan -o g.gpuc
for device in cpu opencl vulkan; do
    expect 0 'output 1' run g.gpuc --device $device --input x=x/output_0.npy --output got-$device
    for i in 0 1; do
        checks=$((checks + 1))
        cmp want/output_$i.npy got-$device/output_$i.npy || complain "$device: output $i is another than the interpreter's"
    done
done
expect 1 "are for ONNX models" build g.rly --target c --shape x=2,3 -o bad.gpuc
echo 'def @main(%x: int32) { if (%x < 1) { %x } else { 1 } }' > i.rly
expect 1 'i.rly:1:24: graphs only can be built, but @main has an if' build i.rly --target c -o bad.gpuc
echo 'def @main(%x: (int32, int32)) { %x.0 }' > i.rly
expect 1 'i.rly:1:11: graphs only can be built, but @main has a parameter that is no tensor' build i.rly --target c -o bad.gpuc
echo 'def @main(%x: Tensor[(4), float32]) { (topk(%x, k=1), %x) }' > i.rly
expect 1 'graphs only can be built, but @main has a tuple in the tuple that is its result' build i.rly --target c -o bad.gpuc
# Each ? is a size of its own.
cat >q.rly <<'END'
def @main(%x: Tensor[(?, 3), float32], %d1: Tensor[(d1), float32], %y: Tensor[(?, 3), float32]) {
  (concatenate((%x, %y)), %x + %y, %d1)
}
END
expect 0 'd1=d1 .*the program can say sizes' build q.rly --target c -o q.gpuc
expect 0 'float32\[d0 \+ d2,3\]' inspect q.gpuc
echo 'def @main() { (full(0.5f, shape=[1, 3]), reshape(cast(arange(0, 15, 1), dtype="float32"), newshape=[5, 3]), full(2f, shape=[2])) }' > make.rly
expect 0 'output_2.npy' run make.rly --interpret --output in
for pair in '0 1' '1 1'; do
    set -- $pair
    inputs="--input x=in/output_$1.npy --input y=in/output_$2.npy --input d1=in/output_2.npy"
    expect 0 'output_2.npy' run q.rly --interpret $inputs --output want
    expect 0 'output 2' run q.gpuc $inputs --device cpu --output got
    for i in 0 1 2; do
        checks=$((checks + 1))
        cmp want/output_$i.npy got/output_$i.npy || complain "sizes of $pair: output $i is another than the interpreter's"
    done
done
expect 1 'dimensions d0 and d2 do not broadcast' run q.gpuc --random 1 --shape x=2,3 --shape d1=2 --shape y=5,3 --device cpu
expect 0 'def @main' opt sum.onnx
cp out sum.rly
expect 0 'sum.gpuc' build sum.onnx --target c -o sum.gpuc
expect 0 'output 0' run sum.gpuc --random 1 --device cpu --output of-onnx
expect 0 'sum-text.gpuc' build sum.rly --target c -o sum-text.gpuc
expect 0 'output 0' run sum-text.gpuc --random 1 --device cpu --output of-text
checks=$((checks + 1))
cmp of-onnx/output_0.npy of-text/output_0.npy || complain 'the text of a model gives other results'
printf 'def @main(%%x: int32) { %%z }\n' > q.rly
expect 1 "q.rly:1:24: unknown variable '%z'" opt q.rly
printf 'def @main() { 1 }\n\0def @f() { 2 }\n' > q.rly
expect 1 'q.rly: byte 18 is 0' opt q.rly

# C compilers that are not there, that fail, that are killed.
printf '#!/bin/sh\necho "some words"\nkill -9 $$\n' >killed
chmod +x killed
expect 1 "'./no-cc' cannot be run: No such file.*name another with -cc=" build sum.onnx --target 'c -cc=./no-cc' -o bad.gpuc
expect 1 "'$PWD' cannot be run: Permission denied" build sum.onnx --target "c -cc=$PWD" -o bad.gpuc
expect 1 "'false' failed with exit code 1" build sum.onnx --target 'c -cc=false' -o bad.gpuc
expect 1 "was killed by signal 9" build sum.onnx --target "c -cc=$PWD/killed" -o bad.gpuc
grep -qx 'some words' err || complain 'the words of a killed compiler are missing'
printf '#!/bin/sh\nmkdir -p "$TMPDIR/a/b" && : >"$TMPDIR/a/b/left" && exec cc "$@"\n' >leaving && chmod +x leaving
expect 0 'left.gpuc' build sum.onnx --target "c -cc=$PWD/leaving" -o left.gpuc # folders of the compiler, such as ccache's
nothing_left
expect 1 "did you mean 'vulkan'" build sum.onnx --target vulcan -o bad.gpuc
expect 1 "did you mean 'max_num_threads'" build sum.onnx --target 'vulkan -max_num_thread=1' -o bad.gpuc
expect 1 'nothere.onnx' build nothere.onnx --target c -o bad.gpuc
expect 1 'noise.onnx' build noise.onnx --target c -o bad.gpuc
expect 1 'empty.onnx' build empty.onnx --target c -o bad.gpuc
expect 1 'nested.onnx.*nested' build nested.onnx --target c -o bad.gpuc
expect 1 "node_sum.*Addd" build unknown.onnx --target c -o bad.gpuc
expect 1 'a cycle through .*node_' build cycle.onnx --target c -o bad.gpuc
expect 1 "the name 'b' is given to two tensors" build duplicate.onnx --target c -o bad.gpuc
expect 1 'of node_zeros: .* 17179869184 bytes.*--fold-limit' build fold.onnx --target c -o bad.gpuc
expect 0 'any.gpuc' build dynamic.onnx --target c -o any.gpuc
expect 1 "names 'M'.*the inputs are a\[N,3\], b\[N,3\]" build dynamic.onnx --target c -o bad.gpuc --shape M=2
expect 1 'takes one number' build dynamic.onnx --target c -o bad.gpuc --shape N=2,3
bound=bound/reshape/model.onnx
expect 0 'free.gpuc' build $bound --target c -o free.gpuc
expect 0 '  shape  ' inspect free.gpuc
expect 1 "--bind names 'shap', which is no input; did you mean 'shape'" build $bound --target c -o bad.gpuc --bind shap=shape.npy
expect 1 'nothere.npy' build $bound --target c -o bad.gpuc --bind shape=nothere.npy
expect 1 '--bind x: .*of type int64' build $bound --target c -o bad.gpuc --bind x=shape.npy
expect 1 '--bind shape: .*a value already' build $bound --target c -o bad.gpuc --bind shape=shape.npy --bind shape=shape.npy
expect 0 'bound.gpuc' build $bound --target c -o bound.gpuc --bind shape=shape.npy
expect 0 'inputs' inspect bound.gpuc
grep -q '  shape  ' out && complain 'a bound input is an input of the package'
expect 1 "no pass 'fuse_op'; did you mean 'fuse_ops'" build sum.onnx --target c -o bad.gpuc --disable-pass fuse_op
nothing_left
head -c 60 sum.onnx >cut.onnx
expect 1 'cut.onnx' build cut.onnx --target c -o bad.gpuc
expect 1 'nowhere' build sum.onnx --target 'c' -o nowhere/bad.gpuc
TMPDIR=/proc
expect 1 'the C compiler in /proc: .*TMPDIR' build sum.onnx --target c -o bad.gpuc
TMPDIR=$dir/temporary
full 1 "^gpuc: 'sum.onnx': cannot write 'bad.gpuc': File too large" build sum.onnx --target vulkan -o bad.gpuc
full 1 "^gpuc: 'sum.onnx': .*File too large" build sum.onnx --target c -o bad.gpuc
nothing_left
for seconds in 0.01 0.1 0.3; do
    timeout -s INT $seconds "$gpuc" build "$models/squeezenet1_1/model.onnx" --target c -o bad.gpuc >out 2>err
    [ $? = 124 ] || break
    nothing_left
done
rm -f bad.gpuc
GPUC_DEBUG=help; export GPUC_DEBUG
expect 1 'debug flags' build sum.onnx --target c -o bad.gpuc
GPUC_DEBUG=rules
expect 0 ' [0-9]+ x +of_constants +add_0$' build sum.onnx --target vulkan -o rules.gpuc
unset GPUC_DEBUG
PATH_BEFORE=$PATH
PATH=$dir/empty
expect_no_compiler() {
    PATH=$dir/empty "$gpuc" build sum.onnx --target c -o bad.gpuc >out 2>err
    code=$?
    PATH=$PATH_BEFORE
    checks=$((checks + 1))
    [ $code = 1 ] && grep -q '^gpuc: ' err || complain 'no message without a C compiler'
}
expect_no_compiler
nothing_left

expect 0 'sum.gpuc' build sum.onnx --target c
expect 0 'kernels' build sum.onnx --target c -v --emit emitted -o sum.gpuc
[ -s emitted/graph.json ] && ls emitted/*.c >/dev/null || complain 'emitted files are missing'
expect 0 '"kernels":' build sum.onnx --target c --json --threads 1 -o again.gpuc
cmp -s sum.gpuc again.gpuc || complain 'packages differ between numbers of threads'
expect 0 'open: a=.*N.*--shape pins' build dynamic.onnx --target c
# What a message says to type works, and a cost that depends on sizes is unknown.
expect 1 'not fixed: give the shape, such as --shape a=1,3$' run dynamic.gpuc --random 1
expect 0 'output 0' run dynamic.gpuc --random 1 $(sed 's/.*such as //' err) --shape b=1,3
expect 0 'unknown MB; unknown Mop' inspect dynamic.gpuc
expect 0 '"cost_bytes": null, "cost_ops": null' inspect --json dynamic.gpuc
expect 0 'dynamic.gpuc' build dynamic.onnx --target c --shape N=2
expect 0 'dynamic.gpuc' build dynamic.onnx --target c --shape a=2,3 --shape b=2,3
expect 0 'result  agrees' bench sum.gpuc --repeat 2
expect 0 "output 1 'twice'" run sum.gpuc --inputs tests/good/test_data_set_0
expect 0 'three.gpuc' build sum.onnx --target vulkan --target opencl --target c -o three.gpuc
expect 0 "output 1 'twice'" run three.gpuc --random 3 --device cpu
# Images.
digits=$models/mnist_8/model.onnx
expect 0 'open: Input3=Input3.height,Input3.width,4' build $digits --target c --input-image Input3=rgba8,range=255,crop=center -o image.gpuc
expect 0 'Input3  uint8\[Input3.height,Input3.width,4\]  image rgba8$' inspect image.gpuc
expect 0 '"name": "Input3".*"image": "rgba8"' inspect --json image.gpuc
expect 0 '"name": "Plus214_Output_0".*"image": null' inspect --json image.gpuc
expect 0 'images  *- ' inspect image.gpuc
expect 0 'output 0' run image.gpuc --random 1 --shape Input3=40,64,4
expect 1 'dimension 2 is 4 in the package' run image.gpuc --random 1 --shape Input3=40,64,3
expect 0 'image.gpuc' build $digits --target vulkan --target c --input-image Input3=r8,size=30x20 -o image.gpuc
expect 0 'Input3  uint8\[20,30,1\]  image r8$' inspect image.gpuc
expect 0 'image.gpuc' build $models/espcn_x3/model.onnx --target vulkan --input-image input=r8 --output-image output=rgba8,alpha=0.5 -o image.gpuc
expect 0 'output  uint8\[.*,4\]  image rgba8$' inspect image.gpuc
expect 1 "input image 'Input3': there is no key 'men'; did you mean 'mean'" build $digits --target c --input-image Input3=r8,men=1 -o bad.gpuc
expect 1 "input image 'Input2': the network has no input of this name; did you mean 'Input3'" build $digits --target c --input-image Input2=r8 -o bad.gpuc
expect 1 "output image 'y': the network has no output of this name" build $digits --target c --output-image y=r8 -o bad.gpuc
nothing_left
# What a program asks of a device is in the package.
expect 0 'm.gpuc' build "$models/mnist_cnn/model.onnx" --shape N=1 --target vulkan/llvmpipe --target vulkan -o m.gpuc
expect 0 'requires:.* max_storage_buffers>=[0-9]+ max_buffer_range>=[0-9]+ max_texels>=[0-9]+' inspect m.gpuc
[ "$(grep -c 'max_texels>=' out)" = 1 ] || complain 'a program without texel views asks for texels'

# Code for a CPU runs on those that have what the compiler used, whatever flags it got; others take the next program.
if [ "$(uname -m)" = x86_64 ]; then
    expect 0 'cpu.gpuc' build sum.onnx --target "c -cflags=-mfma4" --target "c -mcpu=x86-64-v2" --target c -o cpu.gpuc
    expect 0 'requires: cpu.sse3.* cpu.fma4' inspect cpu.gpuc
    expect 0 'requires: cpu.sse3 .*cpu.sse4_2 cpu.popcnt$' inspect cpu.gpuc
    if ! grep -qw fma4 /proc/cpuinfo; then
        expect 0 "output 1 'twice'" run cpu.gpuc --random 3 --device cpu
        grep -q "'c -cflags=-mfma4': it was compiled for the instruction set" err || complain 'the fall to another program was not told'
    fi
fi

# Several levels of instruction sets are programs of one package, which share the weights.
if [ "$(uname -m)" = x86_64 ] && grep -qw sse4_2 /proc/cpuinfo; then
    levels="c -mcpu=x86-64-v2,x86-64-v4,x86-64-v3"
    expect 0 'levels.gpuc' build "$models/mnist_cnn/model.onnx" --shape N=1 --target "$levels" -o levels.gpuc
    expect 0 "^program 0: target 'c -mcpu=x86-64-v4 " inspect levels.gpuc
    expect 0 '^  on this CPU: taken$' inspect levels.gpuc
    grep -Eq '^  on this CPU: not taken: (program [01] is before it|it lacks avx)' out || complain 'why a level is not taken'
    [ "$(grep -c '^  weights ' out)" = 1 ] || complain 'the levels share no weights'
    expect 0 '"taken_by_cpu": true' inspect --json levels.gpuc
    expect 0 'output 0' run levels.gpuc --inputs "$models/mnist_cnn/test_data_set_0"
    expect 0 'apart.gpuc' build "$models/mnist_cnn/model.onnx" --shape N=1 --target "c -mcpu=x86-64-v3 -weight_block=8" \
        --target "c -mcpu=x86-64 -weight_block=8" -o apart.gpuc
    expect 0 "^program 1: target 'c -mcpu=x86-64 -weight_block=8 -vector_bits=128'" inspect apart.gpuc
    [ "$(grep -c '^  weights ' out)" = 1 ] || complain 'targets with the same blocks share no weights'
    expect 1 'a list is of x86-64, x86-64-v2' build sum.onnx --target "c -mcpu=x86-64-v2,skylake" -o bad.gpuc
    nothing_left
fi
# CPU code is loaded from memory: no place for temporary files is asked for.
TMPDIR=/nowhere expect 0 "output 1 'twice'" run cpu.gpuc --random 3 --device cpu

# A package runs without the model, without a PATH, and without the loader of the first target: there is no driver, or
# there is no library.
expect 0 'vc.gpuc' build sum.onnx --target vulkan --target c -o vc.gpuc
mkdir far hidden && mv three.gpuc vc.gpuc far && mv sum.onnx hidden && : >hidden/libvulkan.so.1
cd far || exit 1
env -i PATH= HOME="$HOME" "$gpuc" run three.gpuc --random 3 >out 2>err || complain 'a package did not run without a PATH'
expect 0 "output 1 'twice'" run vc.gpuc --random 3 --device cpu -o cpu
for hide in "VK_DRIVER_FILES=$dir/none VK_ICD_FILENAMES=$dir/none" "LD_LIBRARY_PATH=$dir/hidden"; do
    # shellcheck disable=SC2086
    env -i PATH= HOME="$HOME" $hide "$gpuc" run vc.gpuc --random 3 -o hidden >out 2>err || complain "did not run with $hide"
    grep -q "^gpuc: running target 'c', since the programs before it cannot run: target 'vulkan': " err || complain 'the fall to the next program was not told'
    cmp -s cpu/output_0.npy hidden/output_0.npy || complain 'the results of the next program differ'
    # shellcheck disable=SC2086
    env -i HOME="$HOME" $hide "$gpuc" run vc.gpuc --random 3 --device vulkan >out 2>err
    [ $? = 1 ] && grep -q '^gpuc: .*ulkan' err || complain "no message without a device, with $hide"
    rm -r hidden
    checks=$((checks + 4))
done
finish
