# What gpuc is built and tested with. Sourced by quickstart and check; need_packages brings what is missing.
# A line: Debian package, then how its presence is seen: pc:NAME (pkg-config), cmd:NAME, header:NAME, sanitizers (a
# program links with them), or - (only dpkg knows). "optional": gpuc does without it, and not every Debian has it.
# CC, if it is set, names the compiler; its package is wanted then.
cc=${CC:-cc}
cc_package() {
    case $cc in
    cc) echo gcc ;;
    *) basename "${cc##* }" ;;
    esac
}

sanitizers_package() {
    case $(cc_package) in
    clang) echo libclang-rt-dev ;;
    clang-*) cc_package | sed 's/^clang-\(.*\)/libclang-rt-\1-dev/' ;;
    *) cc_package ;;
    esac
}

GPUC_BUILD_PACKAGES="
$(cc_package) cmd:${cc%% *}
libc6-dev header:stdio.h
cmake cmd:cmake
ninja-build cmd:ninja
pkg-config cmd:pkg-config
libvulkan-dev pc:vulkan
mesa-vulkan-drivers -
spirv-headers header:spirv/unified1/spirv.h
ocl-icd-opencl-dev pc:OpenCL
pocl-opencl-icd -
opencl-headers header:CL/cl.h
libcjson-dev pc:libcjson
libprotobuf-c-dev pc:libprotobuf-c
protobuf-c-compiler cmd:protoc-c
libdlpack-dev header:dlpack/dlpack.h
libxgboost-dev -
"

GPUC_TEST_PACKAGES="
$(sanitizers_package) sanitizers
libcmocka-dev pc:cmocka
zlib1g-dev pc:zlib
spirv-tools cmd:spirv-val
g++ cmd:c++
vulkan-validationlayers -
glslang-tools cmd:glslangValidator
libpng-dev pc:libpng
libonnx-testdata -
oclgrind cmd:oclgrind optional
ccache cmd:ccache optional
mold cmd:mold optional
python3 cmd:python3
"

on_debian() { command -v dpkg-query >/dev/null 2>&1 && [ -e /etc/debian_version ]; }

present() { # package, mark
    case $2 in
    pc:*) pkg-config --exists "${2#pc:}" 2>/dev/null ;;
    cmd:*) command -v "${2#cmd:}" >/dev/null 2>&1 ;;
    header:*) echo "#include <${2#header:}>" | $cc -E -x c - >/dev/null 2>&1 ;;
    sanitizers) echo 'int main(void) { return 0; }' | $cc -fsanitize=address,undefined -x c - -o /dev/null 2>/dev/null ;;
    *) ! on_debian || [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    esac
}

# The optional ones of those words that apt has.
of_apt() {
    for package; do
        if apt-cache show "$package" >/dev/null 2>&1; then printf ' %s' "$package"; fi
    done
}

need_packages() { # lines as above
    missing= marks= optional=
    while read -r package mark kind; do
        if [ -z "$package" ] || present "$package" "$mark"; then continue; fi
        case $kind in
        optional) optional="$optional $package" ;;
        *) missing="$missing $package" marks="$marks ${mark#*:}" ;;
        esac
    done <<END
$1
END
    if [ -z "$missing" ]; then
        echo "== packages: all present${optional:+ (without$optional: tests are skipped, or take longer)}"
        return 0
    fi
    if ! on_debian; then
        echo "missing (pkg-config modules, commands, headers):$marks" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "missing packages; install them with" >&2
        # shellcheck disable=SC2086
        echo "  sudo apt-get install --no-install-recommends$missing$(of_apt $optional)" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086
    missing=$missing$(of_apt $optional)
    echo "== packages: installing$missing"
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# Runs a command with its output in a log; on a terminal one line shows where it is. The log is shown on failure.
logged() { # log, command...
    log=$1
    shift
    if [ -t 1 ]; then
        { "$@" 2>&1 || : >"$log.failed"; } | tee -a "$log" |
            awk '{ printf "\r\033[K%s", substr($0, 1, 78); fflush() } END { printf "\r\033[K" }'
    else
        "$@" >>"$log" 2>&1 || : >"$log.failed"
    fi
    [ ! -e "$log.failed" ] && return
    rm -f "$log.failed"
    tail -n 60 "$log" >&2
    return 1
}

# A build folder belongs to the compiler that it was made with; another CC makes it anew.
forget_other_compiler() { # preset
    cache=build/$1/CMakeCache.txt
    if [ -z "${CC:-}" ] || [ ! -e "$cache" ]; then return 0; fi
    grep -q "^CMAKE_C_COMPILER:[A-Z]*=$(command -v "${CC%% *}")\$" "$cache" || rm -r "$cache" "build/$1/CMakeFiles"
}

build_preset() { # preset, whether warnings are errors (ON, OFF), targets
    preset=$1 werror=$2
    shift 2
    echo "== building ($preset)"
    mkdir -p build
    : >build/"$preset".log
    forget_other_compiler "$preset"
    logged build/"$preset".log cmake --preset "$preset" -DGPUC_WERROR="$werror" || exit 1
    logged build/"$preset".log cmake --build --preset "$preset" ${1:+--target "$@"} || exit 1
}
