#!/bin/sh
# backends.sh OBJECTS CC: the runtime's folders in the build folder OBJECTS link without any device, and with each device
# alone: so does every choice of them. What belongs to a device bears its name, so that one that is left out leaves no trace.
set -eu
objects=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_backends: $*" >&2; exit 1; }
in_folder() { find "$objects/$1" -name '*.o' ! -name 'ctx.c.o' ! -name 'map.c.o'; }

common=$(for folder in base tensor_files abi runtime loader library executor; do in_folder $folder; done)
marks='gpuc_cpu_|gpuc_cl_|gpuc_opencl_|gpuc_vk_|gpuc_vulkan_|libOpenCL|libvulkan'
tried=0
for device in none cpu opencl vulkan; do
    case $device in
    none) own= mine='-' ;;
    *)
        [ -d "$objects/runtime_$device" ] || continue
        own=$(in_folder "runtime_$device") ;;
    esac
    case $device in
    cpu) mine='gpuc_cpu_' ;;
    opencl) mine='gpuc_cl_|gpuc_opencl_|libOpenCL' ;;
    vulkan) mine='gpuc_vk_|gpuc_vulkan_|libvulkan' ;;
    esac
    # shellcheck disable=SC2086
    "$cc" -shared -Wl,--no-undefined -o "$work/$device.so" $common $own -lm -ldl -lpthread || fail "$device alone does not link"
    { nm "$work/$device.so"; strings -n 8 "$work/$device.so" | grep '^lib'; } | grep -oE "\b($marks)[A-Za-z0-9_]*" | grep -vE "^($mine)" |
        sort -u >"$work/traces" || true
    [ ! -s "$work/traces" ] || fail "with $device alone there is $(head -n 5 "$work/traces" | tr '\n' ' ')"
    tried=$((tried + 1))
done
echo "$tried libraries link and hold nothing of other devices"
