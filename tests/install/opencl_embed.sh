#!/bin/sh
# opencl_embed.sh BUILD SOURCE CC: builds examples/opencl_embed outside of the tree, against an installed gpuc found by
# CMake and by pkg-config, and runs it with a network that reads digits: it sees a 0 and a 1 by turns.
set -eu
build=$1 source=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_opencl_embed: $*" >&2; exit 1; }
run() { "$@" >"$work/out" 2>&1 || fail "$*: $(cat "$work/out")"; }

run cmake --install "$build" --prefix "$work/gpuc"
gpuc=$work/gpuc/bin/gpuc libdir=$(dirname "$(find "$work/gpuc" -name libgpuc_runtime.a)")
run "$gpuc" devices
if ! grep -q '^opencl:0' "$work/out"; then echo "skipped: no OpenCL device"; exit 77; fi
if ! pkg-config --exists OpenCL; then echo "skipped: no OpenCL to link with"; exit 77; fi

cp -R "$source/examples/opencl_embed" "$work/app"
run cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$work/gpuc" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror'
run cmake --build "$work/app/build"
# shellcheck disable=SC2046
run "$cc" -std=c11 "$work/app/main.c" -o "$work/with_pkg_config" \
    $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gpuc-runtime OpenCL)

run "$gpuc" build "$source/tests/models/mnist_8/model.onnx" -t opencl -o "$work/mnist.gpuc"
run "$gpuc" build "$source/tests/models/mnist_8/model.onnx" -t c -o "$work/other.gpuc"
echo nothing >"$work/none.gpuc"
export LD_LIBRARY_PATH="$libdir"
for program in "$work/app/build/opencl_embed" "$work/with_pkg_config"; do
    run "$program" "$work/mnist.gpuc"
    [ "$(sed 's/.*: //' "$work/out" | tr -d '\n')" = 01010101 ] || fail "it prints $(cat "$work/out")"
    for package in none other missing; do
        code=0
        "$program" "$work/$package.gpuc" >"$work/out" 2>&1 || code=$?
        [ $code = 1 ] || fail "$package.gpuc: ended with $code: $(cat "$work/out")"
        [ -s "$work/out" ] || fail "$package.gpuc: says nothing"
    done
done
