#!/bin/sh
# consumers.sh BUILD SOURCE HAS_COMPILER CC: installs the build, moves it, and builds examples/minimal.c and consumer.cpp
# against it: by pkg-config and by CMake, shared, static and from the amalgamation. All of them run one package, and print
# the same. The libraries give away no name without the prefix gpuc_.
set -eu
build=$1 source=$2 has_compiler=$3 cc=$4
. "$source/tests/install/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_consumers: $*" >&2; exit 1; }
run() { "$@" >"$work/log" 2>&1 || fail "$*: $(cat "$work/log")"; }

run cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
root=$work/moved
libdir=$(dirname "$(find "$root" -name libgpuc_runtime.a)")
c="$cc -std=c11 -Wall -Wextra -Wpedantic -Werror"
cxx=
if command -v c++ >/dev/null; then cxx="c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror"; fi

# ---- Names ----

only_ours() { # what, then names on the standard input
    sed -n 's/^[0-9a-f]* [A-TV-Za-tv-z] //p' | sed 's/@.*//' | grep -v '^gpuc_' >"$work/names" || return 0
    fail "$1 exports $(sort -u "$work/names" | head -n 5 | tr '\n' ' ')"
}
for library in "$libdir"/libgpuc*.a; do nm -g --defined-only "$library" 2>/dev/null | only_ours "$library"; done
for library in "$libdir"/libgpuc*.so; do nm -D --defined-only "$library" | only_ours "$library"; done

# ---- Programs: work/NAME each, with what links it ----

programs=
program() { # name, compiler, source, arguments
    name=$1 compiler=$2 file=$3
    shift 3
    # shellcheck disable=SC2086
    run $compiler "$file" -o "$work/$name" "$@"
    programs="$programs $work/$name"
}
both() { # name, arguments: the C program and the C++ one
    name=$1
    shift
    program "c_$name" "$c" "$source/examples/minimal.c" "$@"
    if [ -n "$cxx" ]; then program "cxx_$name" "$cxx" "$source/tests/install/consumer.cpp" "$@"; fi
}

export PKG_CONFIG_PATH=$libdir/pkgconfig
packages=gpuc-runtime
[ "$has_compiler" = 1 ] && packages="$packages gpuc"
for package in $packages; do
    # shellcheck disable=SC2046
    both "${package}_shared" $(pkg-config --cflags --libs "$package")
    # shellcheck disable=SC2046
    both "${package}_static" $(pkg-config --cflags --libs "$package-static")
done
# Where the archive is all there is, pkg-config --static tells what it needs.
cp -R "$root" "$work/archives"
find "$work/archives" -name 'libgpuc*.so*' -exec rm {} +
# shellcheck disable=SC2046
both archives $(PKG_CONFIG_PATH=$work/archives/${libdir#"$root/"}/pkgconfig pkg-config --static --cflags --libs gpuc-runtime)

mkdir "$work/app"
{
    echo 'cmake_minimum_required(VERSION 3.22)'
    if [ -n "$cxx" ]; then echo 'project(app LANGUAGES C CXX)'; else echo 'project(app LANGUAGES C)'; fi
    echo 'set(CMAKE_CXX_STANDARD 17)'
    echo 'find_package(gpuc 0.1 REQUIRED COMPONENTS runtime)'
    for target in runtime $(echo "$packages" | sed 's/gpuc-runtime//'); do
        for kind in "$target" "${target}_static"; do
            echo "add_executable(c_$kind $source/examples/minimal.c)"
            echo "target_link_libraries(c_$kind PRIVATE gpuc::$kind)"
            [ -z "$cxx" ] && continue
            echo "add_executable(cxx_$kind $source/tests/install/consumer.cpp)"
            echo "target_link_libraries(cxx_$kind PRIVATE gpuc::$kind)"
        done
    done
} >"$work/app/CMakeLists.txt"
run cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$root" -DCMAKE_C_COMPILER="$cc"
run cmake --build "$work/app/build"
for name in $(sed -n 's/^add_executable(\([a-z_]*\) .*/\1/p' "$work/app/CMakeLists.txt"); do
    programs="$programs $work/app/build/$name"
done

# ---- The amalgamation ----

amalgamation=$(pkg-config --variable=amalgamation gpuc-runtime)
if [ -e "$amalgamation/gpuc_runtime.c" ]; then
    # It does not depend on where, when and how often it is made.
    run env CC="$cc" "$source/scripts/amalgamate" "$work/again"
    for file in gpuc_runtime.c gpuc_runtime.h; do
        cmp "$work/again/$file" "$amalgamation/$file" || fail "another $file"
    done
    mkdir "$work/own"
    for file in examples/minimal.c tests/install/consumer.cpp; do # what a user writes
        sed 's,<gpuc/devices.h>,"gpuc_runtime.h",' "$source/$file" >"$work/own/$(basename "$file")"
    done
    flags="-std=c11 -Wall -Wextra -Wpedantic -Werror -O0 -I$amalgamation"
    for compiler in $(different "$cc" gcc clang); do
        object=$work/own/$(basename "$compiler").o
        # shellcheck disable=SC2086
        run "$compiler" $flags -c "$amalgamation/gpuc_runtime.c" -o "$object"
        nm -g --defined-only "$object" | only_ours "the amalgamation of $compiler"
        program "c_$(basename "$compiler")_amalgamated" "$c" "$work/own/minimal.c" -I"$amalgamation" "$object" -lm -ldl -lpthread
    done
    object=$work/own/$(basename "$cc").o
    if [ -n "$cxx" ]; then
        program cxx_amalgamated "$cxx" "$work/own/consumer.cpp" -I"$amalgamation" "$object" -lm -ldl -lpthread
    fi
    # A device that is left out leaves nothing behind, its headers neither. In a shared library of somebody else all names
    # can be kept inside.
    for left in CPU OPENCL VULKAN; do
        flags='-Wall -Wextra -Werror -O0 -fPIC -shared -fvisibility=hidden -DGPUC_STATIC -H'
        for kind in CPU OPENCL VULKAN; do [ $kind = $left ] || flags="$flags -DGPUC_HAVE_$kind=0"; done
        # shellcheck disable=SC2086
        run "$cc" -std=c11 $flags "$amalgamation/gpuc_runtime.c" -o "$work/own/part.so" -lm -ldl -lpthread
        case $left in
        CPU) others='gpuc_vk_\|gpuc_cl_\|vulkan/\|CL/' ;;
        OPENCL) others='gpuc_vk_\|gpuc_cpu_\|vulkan/' ;;
        VULKAN) others='gpuc_cl_\|gpuc_cpu_\|CL/' ;;
        esac
        nm "$work/own/part.so" >>"$work/log"
        if grep "^\(\.* .*\|[^ ]* . \)\($others\)" "$work/log"; then fail "with $left alone there is the above"; fi
        nm -D --defined-only "$work/own/part.so" | grep gpuc_ && fail "a library exports the above"
    done
elif command -v python3 >/dev/null; then
    fail "no amalgamation was installed"
fi

# ---- They run ----

model=$work/none.gpuc expected=1
echo nothing >"$model"
if [ "$has_compiler" = 1 ]; then
    model=$work/mnist.gpuc expected=0
    run "$root/bin/gpuc" build "$source/tests/models/mnist_cnn/model.onnx" -t c -o "$model"
fi
ran=0
for program in $programs; do
    code=0
    LD_LIBRARY_PATH=$libdir "$program" "$model" >"$work/out" 2>&1 || code=$?
    [ $code = $expected ] || fail "$program ended with $code: $(cat "$work/out")"
    [ -e "$work/expected" ] || cp "$work/out" "$work/expected"
    cmp "$work/out" "$work/expected" || fail "$program prints something else: $(cat "$work/out")"
    case $program in
    *_static | *_amalgamated | *archives) ldd "$program" | grep -q libgpuc && fail "$program needs the shared library" ;;
    *) ldd "$program" | grep -q libgpuc || fail "$program has no shared library" ;;
    esac
    ran=$((ran + 1))
done
[ $expected = 1 ] || grep -q '10 numbers: [-0-9.]' "$work/expected" || fail "no numbers: $(cat "$work/expected")"
echo "$ran programs print the same: $(cat "$work/expected")"
