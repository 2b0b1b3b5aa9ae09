#!/bin/sh
# custom_op.sh BUILD SOURCE CC: builds examples/custom_op outside of the tree, against an installed gpuc found
# by CMake and by pkg-config, and runs it: its operator computes on every device that is here.
set -eu
build=$1 source=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_custom_op: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/gpuc" >"$work/log" || fail "$(cat "$work/log")"
libdir=$(dirname "$(find "$work/gpuc" -name libgpuc.a)")
cp -R "$source/examples/custom_op" "$work/app"
if ! { cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$work/gpuc" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror' && cmake --build "$work/app/build"; } >"$work/log" 2>&1; then
    fail "$(cat "$work/log")"
fi
# shellcheck disable=SC2046
"$cc" -std=c11 "$work/app/main.c" "$work/app/add2.c" -o "$work/with_pkg_config" \
    $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gpuc) -lm

"$work/app/build/custom_op" "$work/app/add2.onnx" "$work/add2.gpuc" || fail "custom_op, built by CMake"
LD_LIBRARY_PATH=$libdir "$work/with_pkg_config" "$work/app/add2.onnx" "$work/add2.gpuc" >/dev/null ||
    fail "custom_op, built with pkg-config"

# The package names the operator.
"$work/gpuc/bin/gpuc" inspect "$work/add2.gpuc" >"$work/out" || fail "gpuc inspect"
grep -q 'add2' "$work/out" || fail "the package names no add2: $(cat "$work/out")"

# Without registration the model is refused, by name.
if "$work/gpuc/bin/gpuc" build "$work/app/add2.onnx" -t c -o "$work/none.gpuc" >"$work/out" 2>&1; then
    fail "gpuc built an operator that it does not know"
fi
grep -q "first.*Add2.*com.example" "$work/out" || fail "$(cat "$work/out")"
if "$work/gpuc/bin/gpuc" tune "$work/app/add2.onnx" -t c --log "$work/log.jsonl" >"$work/out" 2>&1; then
    fail "gpuc tunes an operator that it does not know"
fi
grep -q "first.*Add2.*com.example" "$work/out" || fail "$(cat "$work/out")"

# As a plug-in it is known to every command.
for command in "build $work/app/add2.onnx -t c -o $work/plugged.gpuc" "tune $work/app/add2.onnx -t c --log $work/log.jsonl --trials 1 --no-wait"; do
    # shellcheck disable=SC2086
    "$work/gpuc/bin/gpuc" $command --plugin "$work/app/build/add2.so" >"$work/out" 2>&1 || fail "$command: $(cat "$work/out")"
done
"$work/gpuc/bin/gpuc" ops --plugin "$work/app/build/add2.so" | grep -q '^example.add2$' || fail "gpuc ops lists no add2"
"$work/gpuc/bin/gpuc" ops --plugin "$work/app/build/add2.so" example.add2 >"$work/out" || fail "gpuc ops example.add2"
for words in 'scale  *float, default 1' 'com.example:Add2' 'inputs  *2' '0  *floats' '1  *as input 0' 'fused as broadcast'; do
    grep -q "$words" "$work/out" || fail "gpuc ops example.add2 has no '$words': $(cat "$work/out")"
done
grep -q 'example.add2_by_row  *c, priority 20, for some calls' "$work/out" || fail "gpuc ops names no implementation: $(cat "$work/out")"

# Its other implementation is taken on the CPU; a record that says so takes the row's own.
"$work/gpuc/bin/gpuc" inspect "$work/plugged.gpuc" | grep -q 'add2 \[by example.add2_by_row\]' ||
    fail "not by row: $("$work/gpuc/bin/gpuc" inspect "$work/plugged.gpuc")"
"$work/gpuc/bin/gpuc" tune "$work/app/add2.onnx" -t c --log "$work/both.jsonl" --trials 4 --no-wait \
    --plugin "$work/app/build/add2.so" >"$work/out" 2>&1 || fail "tune -t c: $(cat "$work/out")"
for value in 0 1; do
    grep -q "\"use_example_add2_by_row\":$value" "$work/both.jsonl" || fail "no trial with $value: $(cat "$work/both.jsonl")"
done

# Its schedule asks for a knob on GPUs: it is tuned there, and builds use what was found.
if "$work/gpuc/bin/gpuc" tune "$work/app/add2.onnx" -t opencl --log "$work/gpu.jsonl" --trials 3 --no-wait \
    --plugin "$work/app/build/add2.so" >"$work/out" 2>&1; then
    grep -q '"task":"add2(float32\[5,7\], float32\[7\])".*"threads":' "$work/gpu.jsonl" || fail "$(cat "$work/gpu.jsonl")"
    "$work/gpuc/bin/gpuc" build "$work/app/add2.onnx" -t opencl --tuning-log "$work/gpu.jsonl" -o "$work/gpu.gpuc" \
        --plugin "$work/app/build/add2.so" >"$work/out" 2>&1 || fail "build with a log: $(cat "$work/out")"
    "$work/gpuc/bin/gpuc" inspect "$work/gpu.gpuc" | grep -q 'schedule: {"threads":.*from gpu.jsonl' ||
        fail "inspect names no configuration of add2: $("$work/gpuc/bin/gpuc" inspect "$work/gpu.gpuc")"
else
    grep -q 'device' "$work/out" || fail "tune -t opencl: $(cat "$work/out")"
fi
"$work/gpuc/bin/gpuc" run "$work/plugged.gpuc" --random 1 >/dev/null || fail "the package needs the plug-in"
