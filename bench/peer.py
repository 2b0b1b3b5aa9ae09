# SPDX-License-Identifier: Apache-2.0
"""peer.py PEER MODEL THREADS REPEATS BUDGET WORK VARIANTS TYPE:SHAPE...: times another program for gpuc-bench.

PEER is onnxruntime, ncnn, ncnn-vulkan or tvm. Input i of variant v is WORK/input.V.I.bin, raw elements; each run takes
the next variant. Prints "name TEXT" and one line "sample SECONDS" per run, of at most REPEATS runs or BUDGET seconds;
the first output of each variant goes to WORK/output.V.bin as raw float32.
"""
import os
import shutil
import subprocess
import sys
import time

import numpy as np


def folded(model, work):
    """A file with the same network, its constants computed."""
    import onnxruntime as ort

    path = os.path.join(work, "folded.onnx")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = path
    ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return path


def onnxruntime(job):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = job.threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(job.model, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    feeds = [dict(zip(names, arrays)) for arrays in job.inputs]
    return f"onnxruntime {ort.__version__}", lambda v: session.run(None, feeds[v])[0]


def ncnn_net(job, vulkan):
    import ncnn

    stem = os.path.join(job.work, "ncnn")
    model = shutil.copy(job.model, stem + ".in.onnx")  # pnnx writes beside it
    pnnx = os.path.join(os.path.dirname(sys.executable), "pnnx")
    shapes = ",".join("[" + ",".join(map(str, a.shape)) + "]" for a in job.inputs[0])
    kinds = "".join({"float32": "f32", "int64": "i64"}[str(a.dtype)] for a in job.inputs[0])
    subprocess.run([pnnx, model, f"inputshape={shapes}" if kinds == "f32" else f"inputshape={shapes}{kinds}", "fp16=0",
                    f"ncnnparam={stem}.param", f"ncnnbin={stem}.bin", f"ncnnpy={stem}.py", f"pnnxparam={stem}.p",
                    f"pnnxbin={stem}.b", f"pnnxpy={stem}.pnnx.py", f"pnnxonnx={stem}.onnx"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    net = ncnn.Net()
    net.opt.num_threads = job.threads
    net.opt.use_vulkan_compute = vulkan
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        if hasattr(net.opt, name):
            setattr(net.opt, name, False)
    if net.load_param(stem + ".param") or net.load_model(stem + ".bin"):
        raise RuntimeError("ncnn cannot load it")
    ins, out = net.input_names(), net.output_names()[0]
    feeds = [[ncnn.Mat(np.ascontiguousarray(a[0])) for a in arrays] for arrays in job.inputs]

    def run(v):
        ex = net.create_extractor()
        for name, mat in zip(ins, feeds[v]):
            ex.input(name, mat)
        code, result = ex.extract(out)
        if code:
            raise RuntimeError(f"ncnn returned {code}")
        return np.array(result)

    return f"ncnn {ncnn.__version__}{', vulkan' if vulkan else ', cpu'}", run


def ncnn(job):
    return ncnn_net(job, False)


def ncnn_vulkan(job):
    import ncnn

    if ncnn.get_gpu_count() == 0:
        raise RuntimeError("ncnn finds no Vulkan device")
    return ncnn_net(job, True)


def tvm(job):
    os.environ.setdefault("TVM_NUM_THREADS", str(job.threads))
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    model = onnx.load(folded(job.model, job.work))
    names = [i.name for i in model.graph.input]
    module = from_onnx(model, {n: list(a.shape) for n, a in zip(names, job.inputs[0])}, keep_params_in_input=False)
    cpu = tvm.get_global_func("target.llvm_get_system_cpu", allow_missing=True)
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu()} if cpu else "llvm")
    device = tvm.cpu()
    vm = relax.VirtualMachine(tvm.compile(module, target), device)
    feeds = [[tvm.runtime.tensor(a) for a in arrays] for arrays in job.inputs]

    def run(v):
        out = vm["main"](*feeds[v])
        return (out[0] if isinstance(out, (list, tuple)) or hasattr(out, "__len__") else out).numpy()

    return f"TVM {tvm.__version__}, cpu, not tuned", run


class Job:
    def __init__(self, model, threads, repeats, budget, work, variants, *shapes):
        self.model, self.work = model, work
        self.threads, self.repeats, self.variants = int(threads), int(repeats), int(variants)
        self.budget = float(budget)
        self.inputs = [[self.read(v, i, s) for i, s in enumerate(shapes)] for v in range(self.variants)]

    def read(self, variant, i, shape):
        dtype, dims = shape.split(":")
        data = np.fromfile(os.path.join(self.work, f"input.{variant}.{i}.bin"), dtype)
        return data.reshape([int(d) for d in dims.split("x")])


PEERS = {"onnxruntime": onnxruntime, "ncnn": ncnn, "ncnn-vulkan": ncnn_vulkan, "tvm": tvm}


def main():
    job = Job(*sys.argv[2:])
    name, run = PEERS[sys.argv[1]](job)
    for v in range(job.variants):
        np.ascontiguousarray(run(v), np.float32).tofile(os.path.join(job.work, f"output.{v}.bin"))
    print(f"name {name}")
    begin = time.perf_counter()
    for i in range(job.repeats):
        start = time.perf_counter()
        run(i % job.variants)
        print(f"sample {time.perf_counter() - start:.9f}")
        if i >= 2 and time.perf_counter() - begin > job.budget:
            break


main()
