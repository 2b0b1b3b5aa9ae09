# SPDX-License-Identifier: Apache-2.0
"""peer.py PEER MODEL THREADS FROM WORK VARIANTS TYPE:SHAPE...: another program, run for gpuc-bench.

PEER is one of those below. Input i of variant v is FROM/input.V.I.bin, raw elements; WORK is a folder for files of this
peer. Prints "name TEXT" when it is ready. Then "run COUNT" on its input makes so many runs, each of the next variant,
and prints "seconds S..."; "write" writes what the last run of each variant gave to WORK/output.V.bin as raw float32, and
prints "done". Prints "error TEXT" and ends if something fails.

A run is given arrays that lie in the host's memory, as the program's interface takes them, and ends with the output
there. All compute in float32, with what the program does by default but for what is set here.
"""
import os
import resource
import subprocess
import sys
import time

import numpy as np


def fixed(job):
    """A file with the same network, its sizes fixed and its constants computed."""
    import onnx
    import onnxruntime as ort

    path = os.path.join(job.work, "fixed.onnx")
    options = session_options(job)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = path
    ort.InferenceSession(job.model, options, providers=["CPUExecutionProvider"])
    model = onnx.load(path)
    used = {node.domain for node in model.graph.node}
    for domain in [d for d in model.opset_import if d.domain not in used]:
        model.opset_import.remove(domain)
    onnx.save(model, path)
    return path


def session_options(job):
    import onnxruntime as ort

    options = ort.SessionOptions()
    inputs = ort.InferenceSession(job.model, providers=["CPUExecutionProvider"]).get_inputs()
    for i, array in zip(inputs, job.inputs[0]):
        for name, size in zip(i.shape, array.shape):
            if isinstance(name, str):
                options.add_free_dimension_override_by_name(name, size)
    return options


def call(*command):
    """Runs a program, whose last line tells why if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(done.stdout)
    if done.returncode:
        last = (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
        how = f"was ended by signal {-done.returncode}" if done.returncode < 0 else f"returned {done.returncode}"
        raise RuntimeError(f"{os.path.basename(command[0])} {how}: {last}")


def onnxruntime(job):
    import onnxruntime as ort

    options = session_options(job)
    options.intra_op_num_threads = job.threads
    session = ort.InferenceSession(job.model, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    feeds = [dict(zip(names, arrays)) for arrays in job.inputs]
    return f"onnxruntime {ort.__version__}", lambda v: session.run(None, feeds[v])[0]


def openvino(job):
    import openvino as ov

    core = ov.Core()
    model = core.read_model(fixed(job))
    model.reshape({i: list(a.shape) for i, a in enumerate(job.inputs[0])})
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": job.threads, "PERFORMANCE_HINT": "LATENCY",
                                                "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    feeds = [dict(enumerate(arrays)) for arrays in job.inputs]

    def run(v):
        return np.array(request.infer(feeds[v], share_inputs=True, share_outputs=True)[0])

    return f"OpenVINO {ov.__version__.split('-')[0]}", run


def ncnn_net(job, vulkan):
    import importlib.util

    import ncnn

    stem = os.path.join(job.work, "ncnn")
    pnnx = os.path.join(importlib.util.find_spec("pnnx").submodule_search_locations[0], "pnnx")
    kinds = {"float32": "f32", "int64": "i64", "int32": "i32"}
    shapes = ",".join(f"[{','.join(map(str, a.shape))}]{kinds[str(a.dtype)]}" for a in job.inputs[0])
    call(pnnx, fixed(job), f"inputshape={shapes}", "fp16=0", f"ncnnparam={stem}.param", f"ncnnbin={stem}.bin",
         f"ncnnpy={stem}.py", f"pnnxparam={stem}.p", f"pnnxbin={stem}.b", f"pnnxpy={stem}.pnnx.py",
         f"pnnxonnx={stem}.onnx")
    net = ncnn.Net()
    net.opt.num_threads = job.threads
    net.opt.use_vulkan_compute = vulkan
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, name, False)
    if net.load_param(stem + ".param") or net.load_model(stem + ".bin"):
        raise RuntimeError("ncnn cannot load what pnnx made of it")
    ins, out = net.input_names(), net.output_names()[0]
    arrays = [[a[0].astype(np.int32) if a.dtype == np.int64 else a[0] for a in v] for v in job.inputs]
    feeds = [[ncnn.Mat(np.ascontiguousarray(a)) for a in v] for v in arrays]

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


def iree(job):
    import iree.compiler
    import iree.compiler.version
    import iree.runtime

    stem = os.path.join(job.work, "iree")
    call(sys.executable, "-m", "iree.compiler.tools.import_onnx", fixed(job), "--opset-version", "17", "-o", stem + ".mlir")
    code = iree.compiler.tools.compile_file(stem + ".mlir", input_type="onnx", target_backends=["llvm-cpu"], extra_args=[
        "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3",
        "--iree-preprocessing-pass-pipeline=builtin.module(iree-preprocessing-convert-conv-to-channels-last)"])
    iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={job.threads}")
    context = iree.runtime.SystemContext(config=iree.runtime.Config("local-task"))
    module = iree.runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(module)
    entry = [n for n in module.function_names if not n.startswith("__") and not n.endswith("$async")][0]
    main = context.modules[module.name][entry]

    def run(v):
        out = main(*job.inputs[v])
        return (out[0] if isinstance(out, (list, tuple)) else out).to_host()

    return f"IREE {iree.compiler.version.VERSION}, cpu", run


def tvm(job):
    os.environ["TVM_NUM_THREADS"] = str(job.threads)
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    model = onnx.load(fixed(job))
    names = [i.name for i in model.graph.input]
    module = from_onnx(model, {n: list(a.shape) for n, a in zip(names, job.inputs[0])}, keep_params_in_input=False)
    cpu = tvm.get_global_func("target.llvm_get_system_cpu", allow_missing=True)
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu()} if cpu else "llvm")
    vm = relax.VirtualMachine(tvm.compile(module, target), tvm.cpu())
    feeds = [[tvm.runtime.tensor(a) for a in arrays] for arrays in job.inputs]

    def run(v):
        out = vm["main"](*feeds[v])
        return (out[0] if isinstance(out, (list, tuple)) or hasattr(out, "__len__") else out).numpy()

    return f"TVM {tvm.__version__}, cpu, not tuned", run


def tinygrad(job):
    os.environ.update(DEV="CPU", NUM_CPU_THREADS=str(job.threads))
    import importlib.metadata

    from tinygrad import Tensor, TinyJit
    from tinygrad.nn.onnx import OnnxRunner

    runner = OnnxRunner(fixed(job))
    names = list(runner.graph_inputs)
    step = TinyJit(lambda **inputs: next(iter(runner(inputs).values())).realize())
    feeds = [{n: Tensor(a).realize() for n, a in zip(names, arrays)} for arrays in job.inputs]
    return f"tinygrad {importlib.metadata.version('tinygrad')}, cpu", lambda v: step(**feeds[v]).numpy()


class Job:
    def __init__(self, model, threads, source, work, variants, *shapes):
        self.model, self.work, self.source = model, work, source
        self.threads, self.variants = int(threads), int(variants)
        self.inputs = [[self.read(v, i, s) for i, s in enumerate(shapes)] for v in range(self.variants)]

    def read(self, variant, i, shape):
        dtype, dims = shape.split(":")
        data = np.fromfile(os.path.join(self.source, f"input.{variant}.{i}.bin"), dtype)
        return data.reshape([int(d) for d in dims.split("x")])


PEERS = {"onnxruntime": onnxruntime, "openvino": openvino, "ncnn": ncnn, "ncnn-vulkan": ncnn_vulkan, "iree": iree,
         "tvm": tvm, "tinygrad": tinygrad}


def serve(answer):
    job = Job(*sys.argv[2:])
    name, run = PEERS[sys.argv[1]](job)
    outputs = [run(v) for v in range(job.variants)]
    answer(f"name {name}")
    runs = 0
    for line in sys.stdin:
        word, *count = line.split()
        if word == "run":
            seconds = []
            for _ in range(int(count[0])):
                v = runs % job.variants
                start = time.perf_counter()
                out = run(v)
                seconds.append(time.perf_counter() - start)
                outputs[v] = out
                runs += 1
            answer("seconds " + " ".join(f"{s:.9f}" for s in seconds))
        else:
            for v, out in enumerate(outputs):
                np.ascontiguousarray(out, np.float32).tofile(os.path.join(job.work, f"output.{v}.bin"))
            answer("done")


def main():
    """What libraries print goes where errors go."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(text):
        channel.write(text + "\n")
        channel.flush()

    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    resource.setrlimit(resource.RLIMIT_DATA, (half, half))
    try:
        serve(answer)
    except Exception as e:
        import traceback

        traceback.print_exc()
        lines = str(e).strip().splitlines() or ["no reason is given"]
        answer(f"error {type(e).__name__}: {lines[0]}")
        sys.exit(1)


main()
