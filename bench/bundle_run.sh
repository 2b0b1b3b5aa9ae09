#!/bin/sh
# run [--quick] [DEVICE]...: tests gpuc on the devices of this machine (vulkan:0, opencl:0, ...; all GPUs if none is
# named, software drivers too), then measures it. Results go to results/, a summary to the terminal. --quick: a tenth of the
# tests, three samples of each measurement in two rounds, not fifteen in three. The exit code is 1 if a test failed.
set -eu
cd "$(dirname "$0")"
quick=
devices=
for word in "$@"; do
    case $word in
    --quick) quick=--quick ;;
    --help) sed -n 's/^# //p' "$0" | head -n 3; exit 0 ;;
    *) devices="$devices $word" ;;
    esac
done
mkdir -p results
bin/gpuc devices | tee results/devices.txt
if [ -z "$devices" ]; then
    devices=$(bin/gpuc devices --json | tr '\n' ' ' | sed 's/{"kind"/\n{"kind"/g' |
        sed -n 's/.*"kind": "\(vulkan\|opencl\)", *"index": *\([0-9]*\).*"available": true.*/\1:\2/p')
fi
[ -n "$devices" ] || { echo "no device can run" >&2; exit 1; }
{ sh scripts/machine 2>/dev/null || uname -a; } >results/machine.txt

code=0
for device in $devices; do
    name=$(printf %s "$device" | tr : _)
    target="${device%:*} -from_device=${device#*:}"
    echo "== $device: the ONNX backend tests and networks"
    find conformance tests/models -name model.onnx | sed 's,/model.onnx$,,' | sort |
        awk -v quick="$quick" '!quick || NR % 10 == 0' |
        xargs bin/gpuc verify --json --target "$target" --device "$device" >"results/$name.json" \
            2>"results/$name.log" || code=1
    printf '%s passed, %s failed (results/%s.json)\n' "$(grep -c '"status": "passed"' "results/$name.json")" \
        "$(grep -c '"status": "failed"' "results/$name.json")" "$name"
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
exit $code
