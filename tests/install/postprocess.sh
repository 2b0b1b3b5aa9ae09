#!/bin/sh
# postprocess.sh BUILD SOURCE CC: builds examples/postprocess outside of the tree, against an installed gpuc, and runs it
# under the validation layer: frames as files, three of them as the CPU computes them, and no work by the runtime.
set -eu
build=$1 source=$2 cc=$3
skip() { echo "skipped: $*"; exit 77; }
command -v glslangValidator >/dev/null || skip "glslangValidator is not installed (Debian: glslang-tools)"
pkg-config --exists libpng || skip "libpng is not installed (Debian: libpng-dev)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_postprocess: $*" >&2; exit 1; }
run() { "$@" >"$work/out" 2>&1 || fail "$*: $(cat "$work/out")"; }
says() { grep -q "$1" "$work/out" || fail "no '$1' in: $(cat "$work/out")"; }
refuses() { # WORDS COMMAND...
    words=$1
    shift
    if "$@" >"$work/out" 2>&1; then fail "this went well: $*"; fi
    says "$words"
}

run cmake --install "$build" --prefix "$work/gpuc"
gpuc=$work/gpuc/bin/gpuc app=$work/app/build/postprocess models=$source/tests/models
cp -R "$source/examples/postprocess" "$work/app"
run cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$work/gpuc" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror'
run cmake --build "$work/app/build"

# Luminance, with real weights: a minute of lavapipe at most where nothing else runs.
sr() { # TARGETS-AND-MORE...
    run "$gpuc" build "$models/super_resolution_10/model.onnx" --constant-defaults --shape batch_size=1 "$@"
}
sr -t vulkan/llvmpipe -t vulkan -t c --input-image input=rgba8,size=224x224 --output-image output=rgba8 \
    -o "$work/sr.gpuc"
if ! "$app" --super-resolution "$work/sr.gpuc" --frames 60 --reference --validate --out "$work/sr" >"$work/out" 2>&1; then
    if grep -q 'is not installed\|there is no Vulkan 1.3 device' "$work/out"; then skip "$(tail -n 1 "$work/out")"; fi
    fail "$(cat "$work/out")"
fi
none='0 submits, 0 waits, 0 allocations, 0 host copies, 0 descriptor writes'
for words in '^60 frames' "$none" '^frame 59: at most [01] of 255' '^0 messages'; do says "$words"; done
[ "$(find "$work/sr" -name 'frame_*.png' | wc -l)" = 60 ] || fail "not 60 files: $(ls "$work/sr")"
cmp -s "$work/sr/frame_0020.png" "$work/sr/frame_0040.png" && fail "the picture stands still"

# Colors; the weights are made up.
image=rgba8,range=255
run "$gpuc" build "$models/fast_style/model.onnx" -t vulkan/llvmpipe -t vulkan -t c --input-image input=$image \
    --output-image output=$image -o "$work/style.gpuc"
style="$app --style $work/style.gpuc" checks=--best-practices
if ! $style --frames 5 --reference $checks --out "$work/style" >"$work/out" 2>&1; then
    grep -q 'does not know this version' "$work/out" || fail "$(cat "$work/out")"
    echo "skipped: best practices, as $(tail -n 1 "$work/out")"
    checks=--validate
    run $style --frames 5 --reference $checks --out "$work/style"
fi
for words in '^5 frames' "$none" '^frame 4: at most [01] of 255' '^0 messages'; do says "$words"; done

# In a window, where there can be one.
if command -v Xvfb >/dev/null && pkg-config --exists sdl2; then
    Xvfb -displayfd 3 -screen 0 800x800x24 3>"$work/display" >/dev/null 2>&1 &
    server=$!
    trap 'kill $server; rm -rf "$work"' EXIT
    for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$work/display" ] || sleep 1; done
    run env DISPLAY=":$(cat "$work/display")" SDL_VIDEODRIVER=x11 $style --window --frames 6 $checks
    for words in '^6 frames' "$none" '^0 messages'; do says "$words"; done
fi

# What it is not for.
sr -t vulkan -o "$work/tensors.gpuc"
refuses 'input is not an image: gpuc build --input-image input=rgba8' "$app" --style "$work/tensors.gpuc" --out "$work/none"
refuses 'cannot open' "$app" --style "$work/nothing.gpuc" --out "$work/none"
sr -t c -o "$work/c.gpuc"
refuses 'no program' "$app" --super-resolution "$work/c.gpuc" --out "$work/none"
