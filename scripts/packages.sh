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

build_preset() { # preset, targets
    preset=$1
    shift
    echo "== building ($preset)"
    cmake --preset "$preset" >build/"$preset".log 2>&1 || { cat build/"$preset".log >&2; exit 1; }
    cmake --build --preset "$preset" ${1:+--target "$@"} >>build/"$preset".log 2>&1 || { tail -n 60 build/"$preset".log >&2; exit 1; }
}
