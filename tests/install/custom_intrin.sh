#!/bin/sh
# custom_intrin.sh BUILD SOURCE CC: builds examples/custom_intrin outside of the tree, against an installed gpuc found by
# CMake and by pkg-config, and runs it: its intrinsic computes on every device that is here, on the CPU by a C function of the
# program.
set -eu
build=$1 source=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_custom_intrin: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/gpuc" >"$work/log" || fail "$(cat "$work/log")"
libdir=$(dirname "$(find "$work/gpuc" -name libgpuc.a)")
cp -R "$source/examples/custom_intrin" "$work/app"
if ! { cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$work/gpuc" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror' && cmake --build "$work/app/build"; } >"$work/log" 2>&1; then
    fail "$(cat "$work/log")"
fi
# shellcheck disable=SC2046
"$cc" -std=c11 -rdynamic "$work/app/main.c" -o "$work/with_pkg_config" \
    $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gpuc) -lm

for program in "$work/app/build/custom_intrin" "$work/with_pkg_config"; do
    LD_LIBRARY_PATH=$libdir "$program" >"$work/out" || fail "$program: $(cat "$work/out")"
    grep -q 'tensorize micro_kernel' "$work/out" || fail "the schedule has no intrinsic: $(cat "$work/out")"
    grep -q '^c  *3500 of 3500 elements are right' "$work/out" || fail "$program: $(cat "$work/out")"
done
cat "$work/out"

# Without the function the program is told which one is missing.
"$cc" -std=c11 "$work/app/main.c" -o "$work/hidden" \
    $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gpuc) -lm
if LD_LIBRARY_PATH=$libdir "$work/hidden" >"$work/out" 2>&1; then fail "a function that is not exported was found"; fi
grep -q '^c .*failed:.*micro_kernel' "$work/out" || fail "no word of micro_kernel: $(cat "$work/out")"
