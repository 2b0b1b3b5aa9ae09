#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/first.py [--target T]... [--limit S] [--build-options OPTIONS] [--starts N] GPUC MODEL...

Builds each model for each target and runs it once with empty caches, as on the first start of a program. Prints a
table, the slowest first: seconds of the build, its processor seconds and its peak memory, the size of the kernels,
seconds of the first run and its processor seconds. A MODEL is a folder as in the ONNX backend tests, or NAME.onnx with
its inputs in NAME.npz. Processor seconds are what to compare on a machine that others use as well.

--starts N asks what a program waits for until the first launch: it starts gpuc-first (beside GPUC in the build: the
target of that name) with empty caches, and N times again. Milliseconds of the whole start, of compiling in the driver,
of the first launches, and of what is left: in time and in processor time. Of the later starts each number is the least.
"""
import argparse, os, re, shlex, signal, subprocess, sys, tempfile, time

TARGETS = ["c -mcpu=native", "opencl/pocl", "vulkan/llvmpipe"]


def measure(command, limit, env=None):
    """Seconds, processor seconds, peak MB and what went wrong."""
    with tempfile.TemporaryFile("w+") as err:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=err, stderr=err, env=env, start_new_session=True)
        late = False
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > limit and not late:
                os.killpg(child.pid, signal.SIGKILL)
                late = True
            time.sleep(0.002)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        err.seek(0)
        lines = err.read().strip().splitlines()
        wrong = "" if child.returncode == 0 else f"not ended after {limit} s" if late else (lines or ["failed"])[-1]
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, wrong


def files_of(model):
    """Name, path of the model, inputs and shapes to build with."""
    if os.path.isdir(model):
        return os.path.basename(model.rstrip("/")), f"{model}/model.onnx", f"{model}/test_data_set_0"
    stem = model[: -len(".onnx")]
    return os.path.basename(stem), model, f"{stem}.npz"


def device_of(target):
    kind = re.split("[ /]", target)[0]
    return {"c": "cpu"}.get(kind, kind)


def row(gpuc, model, target, limit, build_options):
    name, path, inputs = files_of(model)
    device = device_of(target)
    with tempfile.TemporaryDirectory() as work:
        package = f"{work}/model.gpuc"
        build = measure([gpuc, "build", path, "--target", target, "-o", package, *build_options], limit)
        if build[3]:
            return name, target, build, None
        env = os.environ | {"XDG_CACHE_HOME": f"{work}/cache", "POCL_CACHE_DIR": f"{work}/pocl"}
        os.mkdir(f"{work}/pocl")
        os.mkdir(f"{work}/cache")
        first = measure([gpuc, "run", package, "--device", device, "--inputs", inputs], limit, env)
        return name, target, build, first


def starts(gpuc, model, target, limit, count, build_options):
    """The first start, and the least of later ones: milliseconds by column; or what went wrong."""
    name, path, _ = files_of(model)
    device = device_of(target) + ":0"
    first = os.path.join(os.path.dirname(gpuc), "../../bench/gpuc-first")
    found = []
    with tempfile.TemporaryDirectory() as work:
        package = f"{work}/model.gpuc"
        wrong = measure([gpuc, "build", path, "--target", target, "-o", package, *build_options], limit)[3]
        env = os.environ | {"XDG_CACHE_HOME": f"{work}/cache", "POCL_CACHE_DIR": f"{work}/pocl"}
        for folder in "cache", "pocl", "own":
            os.mkdir(f"{work}/{folder}")
        for _ in range(0 if wrong else count + 1):
            run = subprocess.run([first, package, device, f"{work}/own"], env=env, capture_output=True, text=True, timeout=limit)
            line = next((l for l in run.stdout.splitlines() if l.startswith("start")), None)
            if not line:
                wrong = (run.stderr.splitlines() or ["failed"])[-1]
                break
            found.append([float(n) for n in re.findall(r"[0-9.]+", line)])
    return name, target, wrong, found[:1] + [[min(c) for c in zip(*found[1:])]] if len(found) > 1 else found


def print_starts(a):
    print(f"{'model':16} {'target':16} {'start':6} {'all ms':>9} {'compiling':>10} {'launches':>9} {'rest':>7} {'cpu ms':>7}")
    for model in a.models:
        for target in a.target or TARGETS:
            name, target, wrong, rows = starts(a.gpuc, model, target, a.limit, a.starts, shlex.split(a.build_options))
            for when, (whole, compiling, launches, rest, cpu) in zip(("first", "later"), rows):
                print(f"{name:16} {target:16} {when:6} {whole:9.0f} {compiling:10.0f} {launches:9.0f} {rest:7.0f} {cpu:7.0f}")
            if wrong:
                print(f"{name:16} {target:16} {wrong}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", action="append")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--build-options", default="")
    parser.add_argument("--starts", type=int, default=0)
    parser.add_argument("gpuc")
    parser.add_argument("models", nargs="+")
    a = parser.parse_args()
    if a.starts:
        print_starts(a)
        return
    rows = []
    for model in a.models:
        for target in a.target or TARGETS:
            rows.append(row(a.gpuc, model, target, a.limit, shlex.split(a.build_options)))
            print(f"{len(rows)} of {len(a.models) * len(a.target or TARGETS)}", end="\r", file=sys.stderr)
    rows.sort(key=lambda r: -max(r[2][1], r[3][1] if r[3] else a.limit))
    print(f"{'model':24} {'target':16} {'build s':>8} {'cpu s':>7} {'MB':>6} {'first s':>8} {'cpu s':>7} {'MB':>6}")
    for name, target, build, first in rows:
        line = f"{name:24} {target:16} {build[0]:8.1f} {build[1]:7.1f} {build[2]:6.0f}"
        if first:
            line += f" {first[0]:8.1f} {first[1]:7.1f} {first[2]:6.0f}"
        print(line, build[3] or first[3])


main()
