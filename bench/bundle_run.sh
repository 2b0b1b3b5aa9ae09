#!/bin/sh
# run [--quick] [DEVICE]...: tests gpuc on the devices of this machine (vulkan:0, opencl:0, ...; all GPUs if none is
# named, software drivers too), then measures it. Results go to results/, a summary to the terminal. --quick: a tenth of the
# ONNX tests, three samples of each measurement in two rounds, not fifteen in three; --tests: no measurements. The exit code is
# 1 if a test failed.
set -eu
cd "$(dirname "$0")"
quick=
measure=yes
devices=
for word in "$@"; do
    case $word in
    --quick) quick=--quick ;;
    --tests) measure=no ;;
    --help) sed -n 's/^# //p' "$0" | head -n 4; exit 0 ;;
    *) devices="$devices $word" ;;
    esac
done
mkdir -p results
LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
VK_LAYER_PATH=$PWD/layers
export LD_LIBRARY_PATH VK_LAYER_PATH
bin/gpuc devices | tee results/devices.txt
if [ -z "$devices" ]; then
    devices=$(bin/gpuc devices --json | tr '\n' ' ' | sed 's/{"kind"/\n{"kind"/g' |
        sed -n 's/.*"kind": "\(vulkan\|opencl\)", *"index": *\([0-9]*\).*"available": true.*/\1:\2/p')
fi
[ -n "$devices" ] || { echo "no device can run" >&2; exit 1; }
{ sh scripts/machine 2>/dev/null || uname -a; } >results/machine.txt

# Programs with the number of cases and the first seed, where they have such; each must end within ten minutes.
programs="test_codegen_kernels test_codegen_ops test_codegen_shared test_codegen_random:6:1 test_codegen_random:6:101 test_codegen_random:6:201
test_graphs:40:1 test_graphs:40:101 test_graphs:40:201 test_topi_attention test_topi_einsum:20:1 test_topi_fourier:6:1 test_topi_gathers:40:1
test_topi_recurrent test_topi_reductions test_topi_sort_random:40:1 test_topi_sorting test_topi_tile_random:80:1 test_topi_winograd"

code=0
for device in $devices; do
    name=$(printf %s "$device" | tr : _)
    target="${device%:*} -from_device=${device#*:}"
    if [ "${device#*:}" = 0 ]; then # they open the first device of the kind
        echo "== $device: operators, random schedules, random graphs"
        printf '%s\n' $programs | xargs -P "$(nproc)" -I '{}' sh -c '
            word={} && program=${word%%:*} && arguments=$(printf %s "$word" | cut -s -d : -f 2- | tr : " ")
            timeout 600 "bin/$program" "$0" $arguments >"results/$1.$word.log" 2>&1 && exit
            echo "failed ($?): $program \"$0\" $arguments (results/$1.$word.log)"' "$target" "$name" >"results/$name.tests" || true
        cat "results/$name.tests"
        [ ! -s "results/$name.tests" ] || code=1
    fi
    echo "== $device: the ONNX backend tests and networks"
    find conformance tests/models -name model.onnx | sed 's,/model.onnx$,,' | sort |
        awk -v quick="$quick" '!quick || NR % 10 == 0' |
        xargs bin/gpuc verify --json --target "$target" --device "$device" >"results/$name.json" \
            2>"results/$name.log" || code=1
    printf '%s passed, %s failed (results/%s.json)\n' "$(grep -c '"status": "passed"' "results/$name.json")" \
        "$(grep -c '"status": "failed"' "results/$name.json")" "$name"
    [ $measure = yes ] || continue
    echo "== $device: packages"
    while read -r model shapes; do
        result=results/$name.$model
        # shellcheck disable=SC2086
        if bin/gpuc bench --json --device "$device" $shapes "packages/$model.gpuc" >"$result.json" 2>"$result.log"; then
            sed -n 's/.*"median_seconds": \([0-9.e-]*\).*/\1/p' "$result.json" |
                awk -v model="$model" 'NR == 1 { printf "%-24s %.3f ms\n", model, $1 * 1000 }'
        else
            printf '%-24s failed: %s\n' "$model" "$(tail -n 1 "$result.log")"
            code=1
        fi
    done <packages/list
    echo "== $device: operators and networks"
    bin/gpuc-bench --no-peers $quick --work results --json "results/$name.samples.json" "$target" |
        tee "results/$name.bench.md"
done
[ $measure = no ] || { bin/gpuc-bench-runtime 2>&1 || true; } | tee results/runtime.txt
exit $code
