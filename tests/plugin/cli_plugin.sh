# SPDX-License-Identifier: Apache-2.0
# gpuc --plugin: every command that makes a runtime or reads targets loads it, and says what is wrong with one.
. ./lib.sh
plugins=$5 compiler=$6
good=$plugins/good.so

expect 0 'cpu:0' devices --plugin "$good"
expect 0 'cpu:0' --plugin "$good" devices
expect 0 'cpu:0' "--plugin=$good" devices --plugin "$plugins/bare.so"
expect 0 'first' run id.gpuc --random 1 --plugin "$good"
expect 0 'median' bench id.gpuc --repeat 2 --plugin "$good"
expect 0 'first' inspect id.gpuc --plugin "$good"

# What is wrong is told once, and nothing is done.
expect 2 "option '--plugin' needs an argument: FILE" devices --plugin
expect 2 "option '--plugin' needs an argument: FILE" --plugin
expect 0 '^usage' --help
wrong='compiled for version 4711 of gpuc.s binary interface, and this gpuc has version [0-9]+; compile it again'
for c in run bench inspect; do
    expect 1 "^gpuc: plug-in '.*other_abi.so': it was $wrong" $c id.gpuc --plugin "$plugins/other_abi.so"
done
expect 1 "$wrong" devices --plugin "$plugins/other_abi.so"
expect 1 "plug-in 'none.so': cannot open shared object file" devices --plugin none.so
expect 1 "plug-in 'x.npy': " devices --plugin x.npy
expect 1 'exports no function gpuc_plugin_init' devices --plugin "$plugins/no_init.so"
expect 1 'the card is not plugged in' devices --plugin "$plugins/failing.so"
expect 1 'has loaded it before' devices --plugin "$good" --plugin "$good"
cp "$good" mine.so
expect 0 'cpu:0' devices --plugin mine.so

[ "$compiler" = 1 ] || finish

# Targets
expect 0 '^good_kind +a target of a plug-in$' targets --plugin "$good"
grep -q '^good_kind/small *a tag of a plug-in$' out || complain 'targets lists no tag of the plug-in'
expect 0 '^ *good_lanes .*of kind good_kind: lanes of the good machine$' targets --attributes --plugin "$good"
expect 0 '"good_lanes": 1' targets --json --plugin "$good"
expect 0 '^vulkan ' targets
grep -q good out && complain 'a plug-in that was not named is there'
expect 0 'good_kind' ops --plugin "$good"
for c in targets ops; do expect 1 "$wrong" $c --plugin "$plugins/other_abi.so"; done

# Commands that compile: by the tag for a kind of gpuc, and by the plug-in's generator.
model=$3/mnist_8
expect 1 "target 'c.good' is unknown" build "$model/model.onnx" --target c/good -o no.gpuc
expect 0 'for c/good' build "$model/model.onnx" --target c/good -o good.gpuc --plugin "$good"
expect 1 'the good generator was called' build "$model/model.onnx" --target good_kind -o no.gpuc --plugin "$good"
expect 0 'output 0' run good.gpuc --random 1 --plugin "$good"
expect 0 '1 passed' verify --target c/good --plugin "$good" "$model"
expect 1 'the card is not plugged in' verify --target c/good --plugin "$plugins/failing.so" "$model"
expect 0 '^1 trials' tune "$model/model.onnx" --target c/good --log log --trials 1 --no-wait --plugin "$good"
expect 1 'the card is not plugged in' tune "$model/model.onnx" --target c/good --log log --plugin "$plugins/failing.so"
expect 1 "$wrong" compare good.gpuc --device cpu --random 1 --plugin "$plugins/other_abi.so"
printf 'func f(A: float32[4] write) {\n}\n' >f.tir
expect 1 "target 'c.good' is unknown" opt f.tir --target c/good
expect 1 "$wrong" opt f.tir --target c/good --plugin "$plugins/other_abi.so"

# Passes over Relay, with options, beside those of gpuc
printf 'def @main(%%x: float32) { exp(%%x) + sqrt(%%x) }\n' >r.rly
expect 0 '^  good_rename.from="exp", to="tanh".$' opt --list --plugin "$good"
grep -q 'writes one operator as another' out || complain 'list does not say what the pass of the plug-in does'
expect 0 '^  dead_code$' opt --list
grep -q good_rename out && complain 'a pass of a plug-in that was not named is there'
expect 0 '%0 = tanh' opt r.rly --pass good_rename,dead_code --plugin "$good"
expect 0 '%1 = log' opt r.rly --pass 'dead_code,good_rename(from="sqrt", to="log")' --plugin "$good"
expect 1 "no pass 'good_rename'" opt r.rly --pass good_rename
expect 1 "no pass 'good_renames'; did you mean 'good_rename'" opt r.rly --pass good_renames --plugin "$good"
expect 1 "the pass good_rename has no option 'too'; it has from=" opt r.rly --pass 'good_rename(too="log")' --plugin "$good"
expect 1 "unknown operator 'lag'|no operator 'lag'" opt r.rly --pass 'good_rename(to="lag")' --plugin "$good"
finish
