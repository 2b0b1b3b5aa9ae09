# SPDX-License-Identifier: Apache-2.0
"""compile.py GPUC MODEL PACKAGE: `gpuc build` for vulkan beside numpy reading and folding the same weights, and what
the software drivers take for the kernels.

Each runs in a process of its own, three times; the quickest counts. Prints times and peak memory as tables. The time
of a driver is the processor's for a first run, whose kernels are in no cache, less that for a second one.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

REPEATS = 3


def fold(path):
    """Evaluates what depends on nothing but constants, on one thread, as numpy would. Returns bytes of weights."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    uses = {}
    for node in graph.node:
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    for out in graph.output:
        uses[out.name] = uses.get(out.name, 0) + 1

    def attributes(node):
        return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def truncated(a, b):
        return a / b if a.dtype.kind == "f" else np.where((a < 0) == (b < 0), abs(a) // abs(b), -(abs(a) // abs(b)))

    def reduce_sum(a, x, axes=None):
        axes = a.get("axes") if axes is None else axes.tolist()
        return np.sum(x, tuple(axes) if axes else None, keepdims=bool(a.get("keepdims", 1)))

    def split(a, x, sizes=None):
        sizes = a.get("split") if sizes is None else sizes.tolist()
        return np.split(x, np.cumsum(sizes)[:-1], a.get("axis", 0))

    def reshape(a, x, shape):
        dims = [x.shape[i] if d == 0 and not a.get("allowzero") else d for i, d in enumerate(shape.tolist())]
        return x.reshape(dims)

    operators = {
        "Constant": lambda a: numpy_helper.to_array(a["value"]),
        "Range": lambda a, start, stop, step: np.arange(start, stop, step, dtype=start.dtype),
        "Add": lambda a, x, y: x + y,
        "Sub": lambda a, x, y: x - y,
        "Mul": lambda a, x, y: x * y,
        "Div": lambda a, x, y: truncated(x, y),
        "Mod": lambda a, x, y: np.fmod(x, y) if a.get("fmod") else np.mod(x, y),
        "ReduceSum": reduce_sum,
        "Cast": lambda a, x: x.astype(onnx.helper.tensor_dtype_to_np_dtype(a["to"])),
        "Reshape": reshape,
        "Split": split,
    }
    weights = 0
    for node in graph.node:
        known = node.op_type in operators and all(name in values for name in node.input)
        if known:
            result = operators[node.op_type](attributes(node), *[values[name] for name in node.input])
            results = result if node.op_type == "Split" else [result]
            values.update(zip(node.output, results))
        else:
            weights += sum(values[name].nbytes for name in node.input if name in values)
        for name in node.input:
            uses[name] -= 1
            if uses[name] == 0:
                values.pop(name, None)
    return weights


def run(command, **more):
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **more})
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return time.perf_counter() - start, usage.ru_maxrss * 1024, out, usage.ru_utime + usage.ru_stime


def best(command):
    runs = [run(command) for _ in range(REPEATS)]
    return min(r[0] for r in runs), max(r[1] for r in runs), runs[0][2]


def drivers(gpuc, model, package):
    print("\n| target | kernels | first run, CPU s | second run, CPU s | compiling one kernel, CPU s | goal |")
    print("|---|---|---|---|---|---|")
    for target in ("opencl/pocl", "vulkan/llvmpipe"):
        run([gpuc, "build", model, "--target", target, "-o", package, "--json"])
        program = json.loads(run([gpuc, "inspect", package, "--json"])[2])["programs"][0]
        kernels = len(program["kernels"])
        command = [gpuc, "run", package, "--random", "1", "--json"]
        with tempfile.TemporaryDirectory() as cache:
            caches = {"XDG_CACHE_HOME": cache, "POCL_CACHE_DIR": cache, "MESA_SHADER_CACHE_DIR": cache}
            first, second = run(command, **caches)[3], run(command, **caches)[3]
        print(f"| {target} | {kernels} | {first:.2f} | {second:.2f} | {(first - second) / kernels:.3f} | 0.25 |")


def main():
    if sys.argv[1] == "--fold":
        start = time.perf_counter()
        weights = fold(sys.argv[2])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": time.perf_counter() - start, "weights": weights, "peak": peak}))
        return
    gpuc, model, package = sys.argv[1:4]
    build = best([gpuc, "build", model, "--target", "vulkan", "-o", package, "--json"])
    one = best([gpuc, "build", model, "--target", "vulkan", "-o", package, "--json", "--threads", "1"])
    folded = [json.loads(run([sys.executable, __file__, "--fold", model])[2]) for _ in range(REPEATS)]
    numpy_seconds = min(f["seconds"] for f in folded)
    weights = folded[0]["weights"]
    mib = 1 << 20
    print(f"weights of {os.path.basename(model)}: {weights / mib:.1f} MiB\n")
    print("| what | seconds | of numpy | peak memory | of the weights |")
    print("|---|---|---|---|---|")
    for what, (seconds, peak, *_) in (
        ("gpuc build --target vulkan", build),
        ("gpuc build --target vulkan --threads 1", one),
        ("numpy, one thread: read and fold", (numpy_seconds, max(f["peak"] for f in folded))),
    ):
        print(f"| {what} | {seconds:.2f} | {seconds / numpy_seconds:.1f}x | {peak / mib:.0f} MiB | {peak / weights:.1f}x |")

    drivers(gpuc, model, package)


main()
