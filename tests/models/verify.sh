#!/bin/sh
# Every model here on one target; every SPIR-V module through spirv-val; Vulkan under the validation layer.
# usage: verify.sh GPUC TARGET MODELS [OPTION OF VERIFY]... GPUC_TEST_DEVICE (vulkan, opencl, cpu; several with commas) limits the devices.
set -eu
gpuc=$1 target=$2 models=$3
shift 3
kind=${target%%[ /]*}
[ "$kind" = c ] && device=cpu || device=$kind
case ",${GPUC_TEST_DEVICE:-$device}," in
*",$device,"* | *",$device:"*) ;;
*) echo "skipped: GPUC_TEST_DEVICE is $GPUC_TEST_DEVICE"; exit 77 ;;
esac
if [ "$kind" = vulkan ] && ! command -v spirv-val >/dev/null; then
    echo "skipped: spirv-val is not installed (Debian: spirv-tools)"
    exit 77
fi
keep=$(mktemp -d)
trap 'rm -rf "$keep"' EXIT
[ "$kind" != vulkan ] || set -- --validation "$@"
# pocl 6.0 with LLVM 18 ends the process over one kernel there (github.com/pocl/pocl/issues/1608).
left_out=
if [ "$target" = opencl ] && "$gpuc" devices --json | grep -q 'Portable Computing Language 6\.'; then
    left_out=dcgan
    echo "skipped: $left_out: pocl 6 ends the process while it compiles a kernel"
fi
if [ -e "$models/model.onnx" ]; then
    set -- "$@" "$models"
else
    for model in "$models"/*/; do
        [ "$(basename "$model")" = "$left_out" ] || set -- "$@" "$model"
    done
fi
"$gpuc" verify --target "$target" --timeout 600 --keep "$keep" "$@"
count=0
find "$keep" -name '*.spv' >"$keep/list"
while read -r module; do
    spirv-val --target-env vulkan1.1 "$module"
    count=$((count + 1))
done <"$keep/list"
[ "$kind" != vulkan ] || [ "$count" -gt 0 ] || { echo "no SPIR-V was kept"; exit 1; }
[ "$count" = 0 ] || echo "spirv-val: $count modules"
