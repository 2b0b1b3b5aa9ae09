#!/bin/sh
# bench/run.sh [--quick] [--pin] [--no-peers] [--tuned] [--ops[=WORD]] [--dense[=WORD]] [--nets[=WORD]] [--threads N] [TARGET]...
# Prints one table: operators beside STREAM and OpenBLAS, networks beside onnxruntime, with CLBlast, OpenVINO, ncnn, IREE, TVM
# and tinygrad (in a Python environment of its own, made once; what does not install is told, and left out). All that
# is compared is measured in turn, in the same way (docs/benchmarks): three rounds of fifteen samples, --quick: two of
# three. --pin puts the threads of pocl and llvmpipe onto a processor each, and says so in their rows; without it each
# program's threads are where it puts them by default. --tuned adds rows for what the logs in tuning/ have
# configurations for. --open[=WORD] prints instead what it costs to leave sizes open: operators with one size, or all,
# left to the run, beside the same with sizes pinned, the worst of each class first.
# --cliffs[=WORD] prints instead networks and kinds of work that nobody tuned for (bench/cliff_models), beside onnxruntime: takes
# --quick, --threads, --no-peers and TARGETs, and writes build/bench/cliffs.json.
# All samples go to build/bench/samples.json, a plot to build/bench/plot.png.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/peers.sh

peers=yes options='' cliffs=''
for word in "$@"; do
    shift
    case $word in
    --no-peers) peers=no && continue ;;
    --open | --open=*) peers=no ;;
    --cliffs) cliffs=--word= && continue ;;
    --cliffs=*) cliffs=--word=${word#*=} && continue ;;
    --tuned)
        for log in tuning/*.jsonl; do
            [ -e "$log" ] && options="$options --tuning-log '$log'"
        done
        continue
        ;;
    --help) sed -n 's/^# //p' "$0" | head -n 12; exit 0 ;;
    esac
    set -- "$@" "$word"
done

work=build/bench
mkdir -p $work
if [ -n "$cliffs" ]; then
    build_preset release OFF gpuc >&2
    if ! python=$(peers_python numpy onnx); then
        echo "--cliffs needs numpy and onnx, which could not be installed" >&2
        exit 1
    fi
    if [ $peers = yes ] && ! peers_python onnxruntime >/dev/null; then
        echo "no onnxruntime: it could not be installed, its column stays empty" >&2
        peers=no
    fi
    [ $peers = yes ] || options=--without-onnxruntime
    scripts/machine
    echo
    # shellcheck disable=SC2086
    exec "$python" bench/cliffs.py --work $work --json $work/cliffs.json $options "$cliffs" "$@" build/release/tools/gpuc/gpuc
fi
build_preset release OFF gpuc-bench >&2
add_peer() { # option, name, then the modules that it needs
    option=$1 name=$2
    shift 2
    if python=$(peers_python numpy "$@"); then
        options="$options $option '$python bench/peer.py $name'"
    else
        echo "no $name: it could not be installed, its rows stay away" >&2
    fi
}
if [ $peers = no ]; then
    options="$options --no-peers"
else
    add_peer --limit onnxruntime onnxruntime
    add_peer --peer openvino onnxruntime onnx openvino
    add_peer --peer ncnn onnxruntime onnx ncnn pnnx
    add_peer --peer ncnn-vulkan onnxruntime onnx ncnn pnnx
    add_peer --peer iree onnxruntime onnx iree
    add_peer --peer tvm onnxruntime onnx tvm
    add_peer --peer tinygrad onnxruntime onnx tinygrad
fi
scripts/machine
echo
eval "build/release/bench/gpuc-bench --work $work --json $work/samples.json $options \"\$@\""
if [ $peers = yes ] && python=$(peers_python matplotlib); then
    "$python" bench/plot.py $work/samples.json $work/plot.png
fi
