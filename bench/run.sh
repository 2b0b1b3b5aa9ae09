#!/bin/sh
# bench/run.sh [--quick] [--no-peers] [--tuned] [--ops[=WORD]] [--dense[=WORD]] [--nets[=WORD]] [--threads N] [TARGET]...
# Prints one table: operators beside STREAM and OpenBLAS, networks beside onnxruntime, with CLBlast, ncnn and TVM (in a
# Python environment of its own, made once; what does not install is left out). --tuned adds rows for what the logs in
# tuning/ have configurations for. --open[=WORD] prints instead what it costs to leave sizes open: operators with one
# size, or all, left to the run, beside the same with sizes pinned, the worst of each class first.
# All samples go to build/bench/samples.json, a plot to build/bench/plot.png.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/peers.sh

peers=yes options=
for word in "$@"; do
    shift
    case $word in
    --no-peers) peers=no ;;
    --open | --open=*) peers=no ;;
    --tuned)
        for log in tuning/*.jsonl; do
            [ -e "$log" ] && options="$options --tuning-log '$log'"
        done
        continue
        ;;
    --help) sed -n 's/^# //p' "$0" | head -n 8; exit 0 ;;
    esac
    set -- "$@" "$word"
done

work=build/bench
mkdir -p $work
build_preset release gpuc-bench >&2
add_peer() { # name, then the modules that it needs
    name=$1
    shift
    if python=$(peers_python numpy onnxruntime "$@"); then
        options="$options --peer '$python bench/peer.py $name'"
    else
        echo "no $name: its rows stay away" >&2
    fi
}
if [ $peers = yes ]; then
    add_peer onnxruntime
    add_peer ncnn ncnn
    add_peer ncnn-vulkan ncnn
    add_peer tvm onnx tvm
fi
scripts/machine
echo
eval "build/release/bench/gpuc-bench --work $work --json $work/samples.json $options \"\$@\""
if [ $peers = yes ] && python=$(peers_python matplotlib); then
    "$python" bench/plot.py $work/samples.json $work/plot.png
fi
