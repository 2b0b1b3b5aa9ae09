#!/bin/sh
# tuned_stencil.sh BUILD SOURCE CC: builds examples/tuned_stencil outside of the tree, against an installed gpuc, tunes its
# template for every device that is here, and runs it: the tuned stencil is right, and faster than its own schedule.
set -eu
build=$1 source=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_tuned_stencil: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/gpuc" >"$work/log" || fail "$(cat "$work/log")"
cp -R "$source/examples/tuned_stencil" "$work/app"
if ! { cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$work/gpuc" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror' && cmake --build "$work/app/build"; } >"$work/log" 2>&1; then
    fail "$(cat "$work/log")"
fi
gpuc=$work/gpuc/bin/gpuc plugin=$work/app/build/stencil.so log=$work/stencil.jsonl
tune() { "$gpuc" tune --plugin "$plugin" --log "$log" --no-wait "$@" >"$work/out" 2>&1; }
expect() { # words, arguments of gpuc tune: refused
    words=$1
    shift
    if "$gpuc" tune --log "$work/none" "$@" >"$work/out" 2>&1; then fail "not refused: $*"; fi
    grep -q "$words" "$work/out" || fail "$*: no '$words' in: $(cat "$work/out")"
}

# Killed after three trials it goes on: no trial is measured twice.
tune -t c --trials 3 || fail "$(cat "$work/out")"
tune -t c --trials 27 || fail "$(cat "$work/out")"
[ "$(wc -l <"$log")" -eq 30 ] || fail "not 30 records: $(cat "$log")"
[ "$(sed 's/.*"config"/"config"/; s/,"costs".*//' "$log" | sort -u | wc -l)" -eq 30 ] || fail "measured twice: $(cat "$log")"
for target in opencl vulkan; do
    if tune -t $target --trials 30 --template 'example.stencil(rows=384, columns=512)'; then continue; fi
    grep -q 'no .*device\|not here\|cannot load\|no driver' "$work/out" || fail "$target: $(cat "$work/out")"
done
if grep -q '"status":"\(wrong\|crash\|timeout\)"' "$log"; then fail "trials that failed: $(cat "$log")"; fi
"$work/app/build/tuned_stencil" "$log" || fail "the tuned stencil is wrong, or not faster"

# A kernel with a mistake, one that crashes and one that hangs cost a trial each.
tune -t c --trials 4 --template 'example.stencil(rows=16)' --plant wrong:2 --plant crash:3 || fail "$(cat "$work/out")"
grep -q ': wrong: output 0' "$work/out" || fail "no wrong result: $(cat "$work/out")"
grep -q ': crash: signal' "$work/out" || fail "no crash: $(cat "$work/out")"

expect "no template 'example.stencl'; the nearest is 'example.stencil'" -t c --plugin "$plugin" --template example.stencl
expect "unknown attribute 'row'\|has no attribute 'row'" -t c --plugin "$plugin" --template 'example.stencil(row=1)'
expect "'row' is no attribute" -t c --plugin "$plugin" --template 'example.stencil(row)'
expect "is no template: write NAME" -t c --plugin "$plugin" --template 'example.stencil(rows=1'
expect "model is missing" -t c
expect "are for a model" -t c --plugin "$plugin" --shape x=1
