# SPDX-License-Identifier: Apache-2.0
# Names that were renamed (src/base/names.def): targets, logs and packages with the old ones work, and what is printed
# has the new ones. old/sum.package and old/tuning.jsonl were written before the attribute max_rounds, the knob turns
# and the layouts NCS and OIK got other names.
. ./lib.sh
old=$3/../tools/old
model=$3/mnist_cnn/model.onnx

# Old targets, in both forms, and attributes that have no old name.
expect 0 'for vulkan -max_iterations=100$' build sum.onnx --target 'vulkan -max_rounds=100' -o a.gpuc
expect 0 "target 'vulkan -max_iterations=100'" inspect a.gpuc
expect 0 'for vulkan -float16=1 -max_iterations=100$' build sum.onnx --target '{"kind":"vulkan","max_rounds":100,"float16":1}' -o b.gpuc
expect 0 'for vulkan -max_iterations=100$' build sum.onnx --target 'vulkan -max_iterations=100' -o c.gpuc
cmp -s a.gpuc c.gpuc || complain 'an alias gives another package'
expect 0 'max_iterations' targets -a
grep -q max_rounds out && complain 'targets lists an old name'

# What TVM calls them, and what only TVM has.
expect 0 'for vulkan -max_num_threads=256 -max_threads_x=256 -max_threads_y=256 -max_threads_z=64 -float16=1$' build sum.onnx --target 'vulkan -max_threads_per_block=256 -supports_float16=1' -o a.gpuc
expect 0 'for opencl -keys=mali,opencl,gpu -device=mali$' build sum.onnx --target '{"kind":"opencl","keys":["mali","opencl","gpu"],"device":"mali"}' -o b.gpuc

# An old package.
expect 0 "target 'opencl -max_iterations=70000'" inspect "$old/sum.package"
expect 0 '"iterations": ' inspect --json "$old/sum.package"
grep -q rounds out && complain 'inspect prints an old name'
if "$gpuc" devices 2>/dev/null | grep -q '^opencl:0'; then
    expect 0 'result  agrees' bench "$old/sum.package" --repeat 2 --device opencl:0
fi

# An old log: both functions are found, one by layouts, one with a renamed knob.
expect 0 'tuned' build "$model" --shape input=1,1,28,28 --target 'c -max_iterations=70000' --tuning-log "$old/tuning.jsonl" -o tuned.gpuc -v
expect 0 'schedule: .*"lanes":1,"rows":4.* from tuning.jsonl' inspect tuned.gpuc
expect 0 'schedule: .*"iterations":4.* from tuning.jsonl' inspect tuned.gpuc
cp "$old/tuning.jsonl" log
expect 0 '^1 trials' tune "$model" --shape input=1,1,28,28 --no-wait --target 'c -max_iterations=70000' --log log --trials 1
tail -n 1 log | grep -q '"target":"c -max_iterations=70000"' || complain 'a new record has an old name'
grep -q '2 records' err || complain 'the old records are not read'
finish
