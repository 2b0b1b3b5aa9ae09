#!/bin/sh
# bench/fit.sh [--only WORD] [--set NAME=VALUE]... [--verbose] [--zoo] [TARGET]... [-- MODEL...]
# Measures the constants of default schedules (src/target/constants.def) again, those that it says are FITTED, and prints
# each with the old and the new value, what the new one was between in three batches (of a size: which are as quick),
# and its unit. Targets: "c -mcpu=native" opencl/pocl vulkan/llvmpipe. With models, or --zoo for those of bench/models,
# it goes on to count the kernels whose schedule is another under the new values, and times these in turn with the old
# ones. --set takes values instead of measuring. Seconds are those of the processor on one thread.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

targets="" options="" zoo=no
quote() { printf "'%s'" "$1"; }
while [ $# -gt 0 ]; do
    case $1 in
    --only | --set) options="$options $1 $(quote "$2")"; shift ;;
    --verbose) options="$options $1" ;;
    --zoo) zoo=yes ;;
    --help) sed -n 's/^# //p' "$0" | head -n 6; exit 0 ;;
    --) shift; break ;;
    -*) echo "bench/fit.sh: no option $1" >&2; exit 2 ;;
    *) targets="$targets $(quote "$1")" ;;
    esac
    shift
done
[ $zoo = no ] || set -- "$@" bench/models/*.onnx
[ "$targets" ] || targets="'c -mcpu=native' opencl/pocl vulkan/llvmpipe"
build_preset release OFF gpuc-fit >&2
scripts/machine
eval "set_targets() { for target in $targets; do echo; build/release/bench/gpuc-fit $options \"\$target\" \"\$@\"; done; }"
set_targets "$@"
