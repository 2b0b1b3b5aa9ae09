#!/bin/sh
# backend_foo.sh BUILD SOURCE CC: builds examples/backend_foo outside of the tree, against an installed gpuc found by CMake
# and by pkg-config, and uses it: by its own program, and by gpuc with a network.
set -eu
build=$1 source=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_backend_foo: $*" >&2; exit 1; }
run() { "$@" >"$work/out" 2>&1 || fail "$*: $(cat "$work/out")"; }
says() { grep -q "$1" "$work/out" || fail "no '$1' in: $(cat "$work/out")"; }
refuses() { # WORDS COMMAND...
    words=$1
    shift
    if "$@" >"$work/out" 2>&1; then fail "this went well: $*"; fi
    says "$words"
}

cmake --install "$build" --prefix "$work/gpuc" >"$work/log" || fail "$(cat "$work/log")"
libdir=$(dirname "$(find "$work/gpuc" -name libgpuc.a)")
cp -R "$source/examples/backend_foo" "$work/app"
run cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$work/gpuc" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror'
run cmake --build "$work/app/build"
plugin=$work/app/build/libfoo.so

# Without CMake, and linked with no copy of gpuc: it takes the program's. The interpreter is what takes long to compile.
# shellcheck disable=SC2046
(cd "$work/app" && "$cc" -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -shared -fPIC plugin.c kind.c device.c module.c code.c interp.c \
    codegen.c emit.c -o "$work/plain.so" $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags gpuc) -lm) || fail "cc"
# shellcheck disable=SC2046
"$cc" -std=c11 "$work/app/main.c" -o "$work/use_plain" $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gpuc) -lm ||
    fail "cc main.c"

# Its program: a function, a library, streams, operators, counters, damaged code.
mkdir "$work/files"
run "$work/app/build/use_foo" "$plugin" "$work/files"
for words in 'f32 x16 +' 'vector_add on foo:1 is right' 'foo:1 is' 'softmax on foo:0 are right' '6 launches'; do says "$words"; done
LD_LIBRARY_PATH=$libdir run "$work/use_plain" "$work/plain.so" "$work/files"
run "$work/app/build/foo_mutate" "$work/files/add.foo" 100000

# gpuc knows it by its plug-in, and by that alone.
gpuc() { command=$1; shift; "$work/gpuc/bin/gpuc" "$command" --plugin "$plugin" "$@"; }
run gpuc targets
says '^foo '
run gpuc devices
says '^foo:1  foo, the second'
run gpuc inspect "$work/files/add.gpuc-lib"
says 'device kind foo'
model=$source/tests/models/mnist_cnn/model.onnx shape='input=2,1,28,28'
refuses foo "$work/gpuc/bin/gpuc" build "$model" -t foo -o "$work/none.gpuc"
refuses 'must be a power of two' gpuc build "$model" -t 'foo -lanes=12' -o "$work/none.gpuc"

# A network computes what it does on the c target; the attributes change the code.
run gpuc build "$model" -t 'foo -lanes=8' -t c -o "$work/both.gpuc"
run gpuc compare "$work/both.gpuc" -d foo:1 --shape "$shape" --random 1
says '7 operators agree, 0 could not be compared'
for lanes in 4 16; do run gpuc build "$model" -t "foo -vector_width=$lanes" -o "$work/$lanes.gpuc"; done
if cmp -s "$work/4.gpuc" "$work/16.gpuc"; then fail "4 and 16 lanes give the same code"; fi
run gpuc build "$model" -t 'foo -lanes=16' -o "$work/again.gpuc"
cmp "$work/16.gpuc" "$work/again.gpuc" || fail "the alias of lanes gives other code"

# What it refuses runs on the CPU.
run gpuc build "$model" -t 'foo -without=nn.softmax,nn.max_pool2d' -o "$work/mixed.gpuc"
run gpuc inspect "$work/mixed.gpuc"
for words in 'cpu  *softmax' 'cpu  *max_pool2d' 'foo  *conv2d'; do says "$words"; done
for name in 16 mixed; do
    run gpuc run "$work/$name.gpuc" --shape "$shape" --random 3 -o "$work/out_$name"
done
run gpuc run "$work/both.gpuc" -d cpu --shape "$shape" --random 3 -o "$work/out_c"
cmp "$work/out_16/output_0.npy" "$work/out_mixed/output_0.npy" || fail "the mixed program computes something else"

# A package whose code is damaged is refused, or is another program: never a crash.
run "$work/app/build/foo_mutate" "$work/16.gpuc" 2000
size=$(wc -c <"$work/16.gpuc")
head -c "$((size - 4096))" "$work/16.gpuc" >"$work/short.gpuc"
refuses gpuc gpuc run "$work/short.gpuc" --shape "$shape" --random 3
refuses 'loadbinary_foo_code\|plug-in\|foo' "$work/gpuc/bin/gpuc" run "$work/16.gpuc" --shape "$shape" --random 3

# The networks whose reference outputs are known.
run gpuc verify -t foo "$source/tests/models/mnist_8" "$source/tests/models/squeezenet1_1" "$source/tests/models/tcn_audio"
says '3 passed, 0 failed'
run gpuc verify -t 'foo -lanes=1' "$source/tests/models/mnist_8"
