# SPDX-License-Identifier: Apache-2.0
# gpuc verify: what passes, fails and is skipped, and how it is told.
. ./lib.sh

# last LINE: the last line of stdout is exactly this.
last() {
    checks=$((checks + 1))
    [ "$(tail -n 1 out)" = "$1" ] || complain "last line is '$(tail -n 1 out)', expected '$1'"
}

expect 2 'name the folder' verify --target c
expect 2 'time above 0' verify --target c --timeout 0 tests
expect 1 "did you mean 'vulkan'" verify --target vulcan tests
expect 1 'cpu:9' verify --target c --device cpu:9 tests
expect 1 'cannot run target' verify --target vulkan --device cpu tests

expect 0 '^2 passed \(0 with inputs bound, 0 on the fallback device\)$' verify --target c tests
last '2 passed, 0 failed, 0 skipped'
expect 0 'PASS dynamic' verify --target c -v tests/dynamic tests/good/
last '2 passed, 0 failed, 0 skipped'
expect 0 'passed' verify --target c loose
last '1 passed, 0 failed, 0 skipped'
expect 1 "SKIP unknown: .*Addd" verify --target c -v skipped
last '0 passed, 0 failed, 1 skipped'
expect 0 'passed' verify --target c skipped tests/good
last '1 passed, 0 failed, 1 skipped'

# What decides a shape is bound when building, unless it is data, too.
expect 0 '"inputs_bound": 2, "bound_at_build": \["shape"\]' verify --target c --json bound
grep -q '"packages_built": 2' out || complain 'not a package per bound value'
expect 0 '^1 passed \(1 with inputs bound, 0 on the fallback device\)$' verify --target c bound
expect 0 '"bound_at_build": \[\]' verify --target c --json --no-bind bound
grep -q '^1 passed (0 with inputs bound, 0 on the fallback device)$' err || complain '--no-bind binds'
expect 0 'PASS reshape' verify --target c -v unbound

# What the target does not compute in runs on the CPU, with copies.
expect 0 '"operators_elsewhere": 0' verify --target c --json mixed
expect 0 '"operators_elsewhere": [1-9]' verify --target 'c -float64=0' --json mixed
grep -q '"kernels_launched_elsewhere": [1-9]' out || complain 'launches elsewhere'
expect 0 'mixed.gpuc' build mixed/model.onnx --target 'vulkan' -o mixed.gpuc
expect 0 '  cpu     cast_.*' inspect mixed.gpuc
grep -q '  vulkan  .*abs' out || complain 'an operator of float32 does not run on the device'
grep -q 'cpu_so' out && grep -q 'spirv' out || complain 'two kinds of modules'
expect_no_compiler() {
    checks=$((checks + 1))
    PATH=$dir/empty "$gpuc" build mixed/model.onnx --target vulkan -o bad.gpuc >out 2>err
    [ $? = 1 ] && grep -q '^gpuc: .*cast.*: target vulkan does not run it, or does not compute in its types; it runs on c' err ||
        complain 'no clear message without a C compiler'
}
expect_no_compiler
for target in vulkan opencl; do
    "$gpuc" devices 2>/dev/null | grep -q "^$target:0" && expect 0 '1 passed' verify --target $target mixed
done

expect 1 "FAIL wrong: test_data_set_0: output 1 'twice' differs in 1 of 6 elements, most at \[1,2\]: .*allowed 0.0563" verify --target c bad/wrong
last '0 passed, 1 failed, 0 skipped'
expect 1 'FAIL one_output: .*2 outputs.*1 files' verify --target c bad
grep -q 'FAIL tolerance: .*tolerance.json' out || complain 'unreadable tolerance'
grep -q 'FAIL no_data: .*no data set' out || complain 'no data set'
grep -q 'FAIL no_model: .*no model.onnx' out || complain 'no model'
grep -q 'FAIL other_shape: ' out || complain 'other shape'
last '0 passed, 6 failed, 0 skipped'
mkdir -p none/inside
expect 1 'FAIL none: no test was found' verify --target c none tests/good
last '1 passed, 1 failed, 0 skipped'
expect 1 'FAIL nothere: there is no such folder' verify --target c nothere
last '0 passed, 1 failed, 0 skipped'
rm tests/good/test_data_set_0/input_1.pb
expect 1 '2 inputs.*1 files' verify --target c tests/good
cp tests/good/test_data_set_0/input_0.pb tests/good/test_data_set_0/input_2.pb
expect 1 'without gaps' verify --target c tests/good
cp tests/good/test_data_set_0/input_0.pb tests/good/test_data_set_0/input_1.pb
expect 1 '2 inputs.*3 files' verify --target c tests/good

expect 1 '' verify --target c --json --junit out.xml tests/dynamic bad/wrong
[ "$(wc -l <out)" = 2 ] || complain '--json: not one line per test'
for field in name target status reason worst_errors device driver packages_built kernels_compiled kernels_launched \
    operators_elsewhere inputs_bound build_seconds run_seconds; do
    [ "$(grep -c "\"$field\": " out)" = 2 ] || complain "--json: $field"
done
grep -q '"packages_built": 1' out || complain 'more than one package'
[ "$(tail -n 1 err)" = '1 passed, 1 failed, 0 skipped' ] || complain '--json: last line of stderr'
grep -q '<testsuite name="gpuc verify" tests="2" failures="1"' out.xml || complain 'JUnit'
expect 0 '' verify --target c --keep kept tests/dynamic
[ -s kept/dynamic/model.gpuc ] && ls kept/dynamic/*.c >/dev/null ||
    complain '--keep'

# Nothing is left in the folder for temporary files, also after an interrupt.
mkdir tmp
TMPDIR=$dir/tmp "$gpuc" verify --target c tests/dynamic >out 2>err
TMPDIR=$dir/tmp "$gpuc" verify --target c tests/dynamic bad tests/dynamic >out 2>err &
child=$!
sleep 0.3
kill -TERM $child 2>/dev/null
wait $child
checks=$((checks + 1))
[ -z "$(ls -A tmp)" ] || complain "left in the temporary folder: $(ls -A tmp)"
expect 1 'took longer than 0.001 s' verify --target c --timeout 0.001 tests/dynamic
finish
