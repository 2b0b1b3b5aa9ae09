#!/bin/sh
# bench/bundle.sh [OUT.tar.gz]
# Packs what a machine without packages or network needs to test and measure gpuc on its GPU: the programs with the
# libraries that they need besides the C library's (drivers' loaders are found when it runs), the ONNX backend tests,
# networks as models and as packages. There, unpack it and call ./run.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
[ "${1:-}" = --help ] && { sed -n 's/^# //p' "$0" | head -n 4; exit 0; }

out=${1:-build/gpuc-bundle.tar.gz}
root=build/gpuc-bundle
build_preset bundle OFF gpuc gpuc-bench
rm -rf $root
mkdir -p $root/bin $root/lib $root/scripts $root/packages $root/tests/models $root/bench
for program in build/bundle/tools/gpuc/gpuc build/bundle/bench/gpuc-bench; do
    cp $program $root/bin
    ldd $program | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so/ { print $3 }'
done | sort -u | while read -r library; do cp -L "$library" $root/lib; done
for program in $root/bin/*; do
    LD_LIBRARY_PATH=$root/lib ldd "$program" | awk '/not found/ { print "bundle: no " $1; bad = 1 } END { exit bad }'
done

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
tar -C build -czf "$out.part" gpuc-bundle
mv "$out.part" "$out"
echo "== $out: $(du -h "$out" | cut -f1)"
