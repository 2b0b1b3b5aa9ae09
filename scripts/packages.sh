# What gpuc is built and tested with. Sourced by quickstart and check; need_packages brings what is missing.
# Format: Debian package, then how its presence is seen elsewhere: pc:NAME (pkg-config), cmd:NAME, file:PATH.
GPUC_PACKAGES='
gcc cmd:cc
libc6-dev file:/usr/include/stdio.h
cmake cmd:cmake
ninja-build cmd:ninja
pkg-config cmd:pkg-config
libvulkan-dev pc:vulkan
mesa-vulkan-drivers -
vulkan-validationlayers -
spirv-tools cmd:spirv-val
spirv-headers file:/usr/include/spirv/unified1/spirv.h
ocl-icd-opencl-dev pc:OpenCL
pocl-opencl-icd -
opencl-headers pc:OpenCL-Headers
libcjson-dev pc:libcjson
libprotobuf-c-dev pc:libprotobuf-c
protobuf-c-compiler cmd:protoc-c
libdlpack-dev file:/usr/include/dlpack/dlpack.h
libxxhash-dev pc:libxxhash
zlib1g-dev pc:zlib
libxgboost-dev -
libcmocka-dev pc:cmocka
libonnx-testdata -
oclgrind cmd:oclgrind
'

on_debian() { command -v dpkg-query >/dev/null 2>&1 && [ -e /etc/debian_version ]; }

present() { # package, mark
    if on_debian; then
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
        return
    fi
    case $2 in
    pc:*) pkg-config --exists "${2#pc:}" ;;
    cmd:*) command -v "${2#cmd:}" >/dev/null 2>&1 ;;
    file:*) [ -e "${2#file:}" ] ;;
    *) true ;;
    esac
}

need_packages() {
    missing= marks=
    while read -r package mark; do
        [ -n "$package" ] || continue
        present "$package" "$mark" || { missing="$missing $package"; marks="$marks ${mark#*:}"; }
    done <<EOF
$GPUC_PACKAGES
EOF
    [ -n "$missing" ] || { echo "== packages: all present"; return 0; }
    if ! on_debian; then
        echo "missing (pkg-config modules, commands, headers):$marks" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "missing packages; install them with" >&2
        echo "  sudo apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    echo "== packages: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
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

build_preset() { # preset, targets
    preset=$1
    shift
    echo "== building ($preset)"
    : >build/"$preset".log
    logged build/"$preset".log cmake --preset "$preset" || exit 1
    logged build/"$preset".log cmake --build --preset "$preset" ${1:+--target "$@"} || exit 1
}
