#!/bin/sh
# bench/run.sh [--quick] [--no-peers] [--threads N] [TARGET]...
# Prints one table: add, sgemm and resnet18 on each preset and bare target, beside STREAM, OpenBLAS and onnxruntime
# (in a Python environment of its own, made once). All samples go to build/bench/samples.json.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/peers.sh

peers=yes
for word in "$@"; do
    case $word in
    --no-peers) peers=no ;;
    --help) sed -n 's/^# //p' "$0" | head -n 3; exit 0 ;;
    esac
done

work=build/bench
mkdir -p $work
build_preset release gpuc-bench >&2
if [ $peers = yes ]; then
    python=$(peers_python numpy onnxruntime) || { echo "no onnxruntime: its column stays empty" >&2; python=; }
fi
scripts/machine
echo
exec build/release/bench/gpuc-bench --model bench/models/resnet18.onnx --work $work --json $work/samples.json \
    ${python:+--peer "$python bench/onnxruntime_peer.py"} "$@"
