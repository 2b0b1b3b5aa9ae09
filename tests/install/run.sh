#!/bin/sh
# run.sh BUILD SOURCE HAS_COMPILER CC: installs the build into a directory that is then moved, and builds the
# examples against it with pkg-config and with CMake, shared and static.
set -eu
build=$1 source=$2 has_compiler=$3 cc=$4
. "$source/tests/install/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_install: $*" >&2; exit 1; }

DESTDIR=$work/stage cmake --install "$build" --prefix /opt/gpuc >"$work/log" || fail "$(cat "$work/log")"
mv "$work/stage/opt/gpuc" "$work/moved"
root=$work/moved
[ -z "$(find "$work/stage" -type f)" ] || fail "files outside of the prefix: $(find "$work/stage" -type f)"

# What quickstart builds is all of it; and where something is not built, nothing is installed.
ninja -C "$build" -t query installable >"$work/inputs"
for file in tools/gpuc/gpuc src/libgpuc_runtime.a src/libgpuc_runtime.so; do
    grep -q " $file\$" "$work/inputs" || fail "the target installable does not build $file"
done
cmake -G Ninja -S "$source" -B "$work/empty" -DCMAKE_C_COMPILER="$cc" -DGPUC_COMPILER=OFF -DGPUC_TESTS=OFF >"$work/log" ||
    fail "$(cat "$work/log")"
if cmake --install "$work/empty" --prefix "$work/half" >"$work/log" 2>&1; then fail "a folder without a build was installed"; fi
grep -q 'is not built' "$work/log" || fail "$(cat "$work/log")"
[ ! -e "$work/half" ] || fail "an install that failed left $(find "$work/half" -type f | wc -l) files"

"$root/bin/gpuc" --version >/dev/null || fail "bin/gpuc does not start"
libdir=$(dirname "$(find "$root" -name libgpuc_runtime.a)")
used=$(ldd "$root/bin/gpuc" | sed -n 's/^[[:space:]]*libgpuc.* => \(.*\) (.*/\1/p')
[ "$(realpath "$(dirname "$used")")" = "$(realpath "$libdir")" ] || fail "bin/gpuc uses $used"
readelf -d "$libdir/libgpuc_runtime.so" | grep -q 'SONAME.*libgpuc_runtime\.so\.[0-9]' || fail "no SONAME"
for header in ctx tir te schedule target op build; do
    if [ "$has_compiler" = 1 ]; then
        [ -e "$root/include/gpuc/$header.h" ] || fail "gpuc/$header.h is missing"
    else
        [ ! -e "$root/include/gpuc/$header.h" ] || fail "gpuc/$header.h belongs to the compiler"
    fi
done

if [ "$has_compiler" = 1 ]; then
    for header in "$source"/include/gpuc/*.h; do
        case $header in
        */vulkan.h | */opencl.h) continue ;; # where they are built
        esac
        [ -e "$root/include/gpuc/$(basename "$header")" ] || fail "$(basename "$header") is public and not installed"
    done
fi

# Every header stands alone, in C11 and in C++17, with all compilers that are here.
c_compilers=$(different "$cc" gcc clang) cxx_compilers=$(different c++ g++ clang++)
strict='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'
for header in "$root"/include/gpuc/*.h; do
    case $header in
    */dlpack.h) [ -e /usr/include/dlpack/dlpack.h ] || continue ;;
    esac
    printf '#include <gpuc/%s>\nextern int unused;\n' "$(basename "$header")" >"$work/one.c"
    for compiler in $c_compilers; do
        # shellcheck disable=SC2086
        "$compiler" -std=c11 $strict -I"$root/include" "$work/one.c" 2>"$work/log" || fail "$compiler: $(cat "$work/log")"
    done
    for compiler in $cxx_compilers; do
        # shellcheck disable=SC2086
        "$compiler" -std=c++17 $strict -x c++ -I"$root/include" "$work/one.c" 2>"$work/log" || fail "$compiler: $(cat "$work/log")"
    done
done

programs='run_model:gpuc-runtime:runtime use:gpuc-runtime:runtime streams:gpuc-runtime:runtime slices:gpuc-runtime:runtime'
[ "$has_compiler" = 1 ] && programs="$programs vector_add:gpuc:gpuc export:gpuc:gpuc custom_reducer:gpuc:gpuc relay_build:gpuc:gpuc"

export PKG_CONFIG_PATH=$libdir/pkgconfig
for entry in $programs; do
    name=${entry%%:*} package=${entry#*:}
    package=${package%:*}
    # shellcheck disable=SC2046
    "$cc" -std=c11 "$source/examples/$name.c" -o "$work/$name" $(pkg-config --cflags --libs "$package") -lm
    # shellcheck disable=SC2046
    "$cc" -std=c11 "$source/examples/$name.c" -o "$work/$name-static" $(pkg-config --cflags "$package") \
        "$libdir/lib$(echo "$package" | tr - _).a" $(pkg-config --static --libs "$package" | sed "s/-l$(echo "$package" | tr - _)//")
done

mkdir "$work/app"
{
    echo 'cmake_minimum_required(VERSION 3.22)'
    echo 'project(app LANGUAGES C)'
    echo 'find_package(gpuc 0.1 REQUIRED COMPONENTS runtime)'
    for entry in $programs; do
        name=${entry%%:*} target=${entry##*:}
        echo "foreach(kind $target ${target}_static)"
        echo "  add_executable($name-\${kind} $source/examples/$name.c)"
        echo "  target_link_libraries($name-\${kind} PRIVATE gpuc::\${kind} m)"
        echo "endforeach()"
    done
} >"$work/app/CMakeLists.txt"
if ! { cmake -G Ninja -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$root" -DCMAKE_C_COMPILER="$cc" &&
    cmake --build "$work/app/build"; } >"$work/log" 2>&1; then
    fail "$(cat "$work/log")"
fi

# They start, and say what is wrong with a package that is none.
echo nothing >"$work/none.gpuc"
for program in "$work/run_model-static" "$work/app/build/run_model-runtime" "$work/slices-static"; do
    if "$program" "$work/none.gpuc" >"$work/out" 2>&1; then fail "$program took a text file for a package"; fi
    [ -s "$work/out" ] || fail "$program says nothing about a text file"
done
LD_LIBRARY_PATH=$libdir "$work/run_model" "$work/none.gpuc" 2>&1 | grep -q . || fail "run_model says nothing"

# What one process exports, another one with the runtime alone uses.
if [ "$has_compiler" = 1 ]; then
    LD_LIBRARY_PATH=$libdir "$work/export" "$work/add.gpuc-lib" >"$work/out" || fail "export"
    grep -q vector_add "$work/out" || fail "export prints no source: $(cat "$work/out")"
    "$root/bin/gpuc" inspect "$work/add.gpuc-lib" >"$work/out" || fail "inspect of a library"
    grep -qF 'vector_add(A: float32[n], B: float32[n], C: float32[n], n: int64)' "$work/out" ||
        fail "inspect does not list the function: $(cat "$work/out")"
    for program in "$work/use" "$work/use-static" "$work/app/build/use-runtime" "$work/streams" "$work/streams-static" \
        "$work/app/build/streams-runtime"; do
        LD_LIBRARY_PATH=$libdir "$program" "$work/add.gpuc-lib" >"$work/out" || fail "$program: $(cat "$work/out")"
        grep -q 'cpu *ok' "$work/out" || fail "$program: $(cat "$work/out")"
    done
fi
# Reducers of one's own, on every device that is here.
if [ "$has_compiler" = 1 ]; then
    for program in "$work/custom_reducer" "$work/custom_reducer-static" "$work/app/build/custom_reducer-gpuc"; do
        LD_LIBRARY_PATH=$libdir "$program" >"$work/out" || fail "$program: $(cat "$work/out")"
        grep -q '^c  *37 of 37 rows are right' "$work/out" || fail "$program: $(cat "$work/out")"
    done
fi
# A program of Relay that is built, interpreted and rewritten.
if [ "$has_compiler" = 1 ]; then
    for program in "$work/relay_build" "$work/relay_build-static" "$work/app/build/relay_build-gpuc"; do
        LD_LIBRARY_PATH=$libdir "$program" >"$work/out" || fail "$program: $(cat "$work/out")"
        [ "$(tail -n 2 "$work/out")" = "$(printf 'main(2) = 10\nmain(2) = 24')" ] || fail "$program: $(cat "$work/out")"
    done
fi
# A network in slices, beside frames.
if [ "$has_compiler" = 1 ]; then
    "$root/bin/gpuc" build "$source/tests/models/mnist_8/model.onnx" --target c -o "$work/net.gpuc" >"$work/out" 2>&1 ||
        fail "$(cat "$work/out")"
    for program in "$work/slices-static" "$work/app/build/slices-runtime"; do
        "$program" "$work/net.gpuc" 500 10 >"$work/out" 2>&1 || fail "$program: $(cat "$work/out")"
        grep -q '^frames: 10,' "$work/out" || fail "$program: $(cat "$work/out")"
    done
fi

# A plug-in of somebody else, linked with the program's library or with none.
plugin() { # source, package, words, command...
    plugin_source=$source/$1 plugin_package=$2 words=$3
    shift 3
    for libs in --libs ''; do
        # shellcheck disable=SC2046
        "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC "$plugin_source" -o "$work/plugin.so" \
            $(pkg-config --cflags $libs "$plugin_package") || fail "$plugin_source"
        "$root/bin/gpuc" "$@" --plugin "$work/plugin.so" >"$work/out" 2>&1 || fail "plug-in: $(cat "$work/out")"
        grep -q "$words" "$work/out" || fail "plug-in: $(cat "$work/out")"
    done
}
if [ "$has_compiler" = 1 ]; then
    plugin tests/plugin/bare.c gpuc cpu:0 devices
    plugin examples/plugin.c gpuc 'vulkan/my_board.*revision 2' targets
else
    plugin tests/plugin/bare.c gpuc-runtime cpu:0 devices
fi
echo "installed $(find "$root" -type f | wc -l) files"
