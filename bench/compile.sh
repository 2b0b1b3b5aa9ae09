#!/bin/sh
# bench/compile.sh [MODEL.onnx]
# Times `gpuc build` of a network (resnet50) for vulkan beside numpy, which reads the same file and folds the same
# weights on one thread, and prints the peak memory of both; then what the software drivers take to compile its kernels.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/peers.sh
[ "${1:-}" = --help ] && { sed -n 's/^# //p' "$0" | head -n 3; exit 0; }

mkdir -p build/bench
build_preset release OFF gpuc >&2
python=$(peers_python numpy onnx)
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec "$python" bench/compile.py build/release/tools/gpuc/gpuc "${1:-bench/models/resnet50.onnx}" build/bench/compile.gpuc
