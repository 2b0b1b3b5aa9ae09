#!/bin/sh
# bench/bundle.sh [OUT.tar.xz]
# Packs what a machine without packages or network needs to test and measure gpuc on its GPU: the programs with the
# libraries that they need besides the C library's, the Vulkan and OpenCL loaders and the validation layer (the drivers are
# found when it runs), tests of operators, random schedules and random graphs, the ONNX backend tests, networks as models and
# as packages. There, unpack it and call ./run.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
[ "${1:-}" = --help ] && { sed -n 's/^# //p' "$0" | head -n 5; exit 0; }

out=${1:-build/gpuc-bundle.tar.xz}
root=build/gpuc-bundle
tests="codegen/test_codegen_kernels codegen/test_codegen_ops codegen/test_codegen_random codegen/test_codegen_shared graphs/test_graphs
topi/test_topi_attention topi/test_topi_einsum topi/test_topi_fourier topi/test_topi_gathers topi/test_topi_recurrent
topi/test_topi_reductions topi/test_topi_sort_random topi/test_topi_sorting topi/test_topi_tile_random topi/test_topi_winograd"
# shellcheck disable=SC2086
build_preset bundle OFF gpuc gpuc-bench gpuc-bench-runtime $(printf '%s\n' $tests | sed 's,.*/,,')
rm -rf $root
mkdir -p $root/bin $root/lib $root/scripts $root/packages $root/tests/models $root/bench
# shellcheck disable=SC2086
for program in build/bundle/tools/gpuc/gpuc build/bundle/bench/gpuc-bench build/bundle/bench/gpuc-bench-runtime \
    $(printf 'build/bundle/tests/%s\n' $tests); do
    cp $program $root/bin
    strip "$root/bin/${program##*/}"
    ldd $program | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so/ { print $3 }'
done | sort -u | while read -r library; do cp -L "$library" $root/lib; done
for program in $root/bin/*; do
    LD_LIBRARY_PATH=$root/lib ldd "$program" | awk '/not found/ { print "bundle: no " $1; bad = 1 } END { exit bad }'
done

for library in libvulkan.so.1 libOpenCL.so.1 libVkLayer_khronos_validation.so; do
    found=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
    [ "$found" ] || found=$(find /usr/lib -name "$library" 2>/dev/null | head -n 1)
    [ -z "$found" ] || cp -L "$found" $root/lib
done
mkdir -p $root/layers
sed 's,"library_path": *"[^"]*","library_path": "../lib/libVkLayer_khronos_validation.so",' \
    /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json >$root/layers/VkLayer_khronos_validation.json

echo "== models and tests"
cp -r bench/models $root/bench
find tests/models -mindepth 1 -maxdepth 1 -type d -exec cp -r {} $root/tests/models \;
data=${ONNX_TESTDATA:-$(dpkg -L libonnx-testdata | sed -n 's,/node/test_abs/model.onnx$,,p')}
mkdir -p $root/conformance
awk -F'\t' 'NR > 1 && $3 !~ /(^| )(If|Loop|Scan)( |$)/ { print $1 }' tests/conformance/tensor-tests-1.12.tsv |
    while read -r test; do
        mkdir -p "$root/conformance/$(dirname "$test")"
        cp -r "$data/$test" "$root/conformance/$test"
    done
cp bench/bundle_run.sh $root/run
cp scripts/machine $root/scripts

echo "== packages"
while read -r name shapes; do
    model=bench/models/$name.onnx
    [ -e $model ] || model=tests/models/$name/model.onnx
    $root/bin/gpuc build "$model" --target vulkan/desktop --target vulkan --target opencl --target c \
        -o "$root/packages/$name.gpuc" >/dev/null 2>$root/build.log || { cat $root/build.log >&2; exit 1; }
    echo "$name $shapes" | tee -a $root/packages/list
done <<EOF
resnet18
squeezenet1_1
mobilenet_v2
bert_tiny --shape input_ids=1,128 --shape attention_mask=1,128 --shape token_type_ids=1,128
lstm_text --shape tokens=1,128
tcn_audio --shape wave=1,1,16000
dcgan --shape z=1,100,1,1
EOF
rm -f $root/build.log
# The test programs hold the same objects: with a window that reaches across them the file is an eighth.
tar -C build -c gpuc-bundle | xz -T1 --lzma2=preset=3,dict=256MiB >"$out.part"
mv "$out.part" "$out"
echo "== $out: $(du -h "$out" | cut -f1)"
