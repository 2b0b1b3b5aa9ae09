#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/cliffs.py [--quick] [--threads N] [--json FILE] [--work FOLDER] [--without-onnxruntime] [--word WORD] [TARGET]... GPUC

Builds each model of bench/cliff_models (those whose name or kind contains WORD) for each target, runs it once with empty caches,
compares it with onnxruntime, and times all in turn. Prints a table, a row as soon as a model is done, and what was
missed. Interrupted, it ends with what there is. See docs/benchmarks.
"""
import argparse
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

sys.dont_write_bytecode = True
from cliff_models import MODELS, Net  # noqa: E402

TARGETS = ["c -mcpu=native", "opencl/pocl", "vulkan/llvmpipe"]
# Of the time of onnxruntime, or of `c`, so many at most; rows below the second number of milliseconds have no goal.
GOALS = {"c": ("onnxruntime", 1 / .9, 0), "opencl": ("c", 2.5, 1), "vulkan": ("c", 12, 1)}
BUILD_GOAL, FIRST_GOAL = 6, 10  # seconds
LIMIT = 120  # seconds that a build or a run may take
NOISY = 1.5  # of the min sample, a median above this


def kind_of(target):
    return re.split("[ /]", target)[0]


# ---- onnxruntime, in a process of its own ----


def serve(pipe, path, feeds, threads):
    """Answers with (seconds of each run, outputs); or with a text, if something fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        while True:
            count, seconds = pipe.recv(), []
            for _ in range(count):
                start = time.perf_counter()
                outputs = session.run(None, feeds)
                seconds.append(time.perf_counter() - start)
            pipe.send((seconds, outputs))
    except EOFError:
        pass
    except Exception as e:
        pipe.send(str(e).strip().split("\n")[0])


class Peer:
    name = "onnxruntime"

    def __init__(self, path, feeds, threads):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, path, feeds, threads), daemon=True)
        self.process.start()
        other.close()
        self.samples, self.outputs = [], None

    def run(self, count):
        """Seconds of each run."""
        self.pipe.send(count)
        if not self.pipe.poll(LIMIT):
            raise RuntimeError(f"no answer for {LIMIT} s")
        try:
            answer = self.pipe.recv()
        except EOFError:
            self.process.join(5)
            raise RuntimeError(f"it ended with code {self.process.exitcode}")
        if isinstance(answer, str):
            raise RuntimeError(answer)
        self.outputs = answer[1]
        return answer[0]

    def turn(self, count):
        seconds = self.run(count)
        self.samples.append((statistics.median(seconds), min(seconds)))

    def close(self):
        self.process.kill()
        self.process.join()


# ---- gpuc ----


def call(command, env=None):
    """What it printed, and its seconds: of the clock or of processors, whichever are fewer, as others may use these as well.
    Raises with its last line."""
    def now():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return np.array([time.perf_counter(), used.ru_utime + used.ru_stime])
    start = now()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=env,
                             start_new_session=True)
    try:
        out, err = child.communicate(timeout=LIMIT)
    except BaseException as e:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        if isinstance(e, subprocess.TimeoutExpired):
            raise RuntimeError(f"`gpuc {command[1]}` had not ended after {LIMIT} s")
        raise
    if child.returncode:
        last = (err.strip().split("\n") or [""])[-1]
        raise RuntimeError(f"`gpuc {command[1]}` " + (last or f"returned {child.returncode}"))
    return out, float(min(now() - start))


class Ours:
    """The model on a target: built, run once with empty caches, and then as often as wanted."""

    def __init__(self, a, target, stem):
        self.name, self.kind = target, kind_of(target)
        self.samples, self.wrong, self.build, self.first, self.outputs, self.worst = [], "", None, None, None, None
        self.folder = tempfile.mkdtemp(dir=a.work)
        self.package, count = self.folder + "/model.gpuc", str(a.threads)
        self.env = os.environ | {"XDG_CACHE_HOME": self.folder + "/cache", "POCL_CACHE_DIR": self.folder + "/pocl",
                                 "POCL_MAX_PTHREAD_COUNT": count, "LP_NUM_THREADS": count}
        self.env.pop("POCL_AFFINITY", None)
        os.mkdir(self.folder + "/cache")
        os.mkdir(self.folder + "/pocl")
        self.command = [a.gpuc, "run", self.package, "--device", {"c": "cpu"}.get(self.kind, self.kind), "--inputs",
                        stem + ".npz",
                        "--threads", count, "--json"]
        self.build_command = [a.gpuc, "build", stem + ".onnx", "--target", target, "-o", self.package]

    def prepare(self, names):
        self.build = call(self.build_command)[1]
        self.first = call(self.command + ["--output", self.folder + "/out"], self.env)[1]
        self.outputs = [np.load(f"{self.folder}/out/output_{i}.npy") for i in range(names)]

    def run(self, count):
        return json.loads(call(self.command + ["--repeat", str(count)], self.env)[0])["seconds"]

    def turn(self, count):
        seconds = self.run(count)
        self.samples.append((seconds["median"], seconds["min"]))

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- A model ----


def difference(got, want):
    """The worst, as a share of the largest element; infinite where a shape, a type, a NaN or an infinity differs."""
    worst = 0.0
    for g, w in zip(got, want):
        if g.shape != w.shape or g.dtype != w.dtype:
            return float("inf")
        if not w.size:
            continue
        x, y = g.astype(np.float64), w.astype(np.float64)
        finite = np.isfinite(y)
        if not np.array_equal(np.isfinite(x), finite) or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            return float("inf")
        worst = max(worst, float(np.max(np.abs(x - y), initial=0, where=finite) / max(1e-30,
                np.max(np.abs(y), initial=0, where=finite))))
    return worst


class Row:
    def __init__(self, name, kind):
        self.name, self.kind, self.peer, self.ours, self.tolerance = name, kind, None, [], 0.0
        self.peer_wrong = ""

    @property
    def runners(self):
        return ([self.peer] if self.peer and not self.peer_wrong else []) + [t for t in self.ours if not t.wrong]

    def attempt(self, runner, act):
        """None if it failed, which the row tells."""
        try:
            return act()
        except (RuntimeError, OSError, ValueError, KeyError) as e:
            if runner is self.peer:
                self.peer_wrong = str(e)
            else:
                runner.wrong = str(e)
            print(f"{self.name}: {runner.name}: {e}", file=sys.stderr)
            return None

    def time_of(self, runner):
        """Milliseconds of the attempt with the min median, and of the min sample of all."""
        return min(s[0] for s in runner.samples) * 1e3, min(s[1] for s in runner.samples) * 1e3

    def noisy(self, runner):
        """Whether its best median is far above the min sample of that attempt."""
        return bool(runner.samples) and all(m > NOISY * l for m, l in [min(runner.samples)])

    def base_of(self, runner):
        """What the runner's time is compared with, or None."""
        want = GOALS[runner.kind][0]
        found = self.peer if want == "onnxruntime" else next((t for t in self.ours if t.kind == want), None)
        return found if found and found.samples and not (found is self.peer and self.peer_wrong) else None

    def ratio(self, runner):
        """Of the medians; of the min samples, where one of the medians is noisy."""
        base = self.base_of(runner)
        if not base or not runner.samples:
            return None
        which = self.noisy(runner) or self.noisy(base)
        return self.time_of(runner)[which] / self.time_of(base)[which]

    def missed(self):
        """(what, by which factor, text) of each goal."""
        found = []
        for t in self.ours:
            if t.wrong:
                found.append((t.kind, float("inf"), f"{t.name}: {t.wrong}"))
                continue
            ratio, (base, limit, floor) = self.ratio(t), GOALS[t.kind]
            if ratio and ratio > limit and self.time_of(t)[self.noisy(t)] >= floor:
                speed = f"{1 / ratio:.2f} of {base}'s speed" if t.kind == "c" else f"{ratio:.1f} times {base}"
                found.append((t.kind, ratio / limit, f"{t.kind} {speed}"))
            if t.build and t.build > BUILD_GOAL:
                found.append(("build", t.build / BUILD_GOAL, f"{t.kind} build {t.build:.1f} s"))
            if t.first and t.first > FIRST_GOAL:
                found.append(("first run", t.first / FIRST_GOAL, f"{t.kind} first run {t.first:.1f} s"))
            if t.worst is not None and not t.worst <= self.tolerance:
                found.append(("difference", float("inf"), f"{t.kind} differs by {t.worst:.2g}"))
        return found

    def close(self):
        for r in ([self.peer] if self.peer else []) + self.ours:
            r.close()


def write_model(name, build, folder):
    net, stem = Net(name), os.path.join(folder, name)
    build(net)
    onnx.save(net.proto(), stem + ".onnx")
    np.savez(stem + ".npz", **net.feeds)
    return net, stem


def prepare(row, a, stem, net):
    if a.onnxruntime:
        row.peer = Peer(stem + ".onnx", net.feeds, a.threads)
        row.attempt(row.peer, lambda: row.peer.run(1))
    for target in a.targets:
        t = Ours(a, target, stem)
        row.ours.append(t)
        row.attempt(t, lambda: t.prepare(len(net.outputs)))
    row.tolerance = net.tolerance
    want = row.peer.outputs if row.peer and not row.peer_wrong else next((t.outputs for t in row.ours if t.outputs), None)
    for t in row.ours:
        t.worst = difference(t.outputs, want) if t.outputs and want else None
        t.outputs = None


def measure(row, a):
    """Rounds in which all have a turn; more of them while something is noisy, as long as there are seconds for it."""
    counts = {}
    for r in row.runners:
        seconds = row.attempt(r, lambda: r.run(3))
        if seconds:
            fastest = seconds["min"] if isinstance(seconds, dict) else min(seconds)
            counts[r] = int(min(max(a.seconds / fastest, 5), 200))
    done = 0
    while done < a.rounds or (done < 2 * a.rounds and a.spare > 0 and any(map(row.noisy, row.runners))):
        start = time.perf_counter()
        for r in list(row.runners):
            row.attempt(r, lambda: r.turn(counts[r]))
        a.spare -= time.perf_counter() - start if done >= a.rounds else 0
        done += 1


# ---- The table ----


def cell(row, runner):
    if not runner.samples:
        return "-"
    median, least = row.time_of(runner)
    digits = 3 if least < 1 else 2 if least < 10 else 1
    return f"{'~' if row.noisy(runner) else ''}{median:.{digits}f} ({least:.{digits}f})"


def print_header(a):
    names = ["model", "onnxruntime"]
    for t in map(kind_of, a.targets):
        base, limit, _ = GOALS[t]
        names += [t, f"of its speed ({1 / limit:.1f})" if t == "c" else f"times {base} ({limit:g})", "build, first run"]
    names += ["worst difference", "missed"]
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|", flush=True)


def print_row(row):
    cells = [row.name, row.peer_wrong.replace("|", "/")[:90] if row.peer_wrong else cell(row, row.peer) if row.peer else ""]
    for t in row.ours:
        ratio = row.ratio(t)
        cells += [cell(row, t), "" if ratio is None else f"{1 / ratio:.2f}" if t.kind == "c" else f"{ratio:.1f}",
                  " ".join(f"{s:.1f}" for s in (t.build, t.first) if s is not None)]
    worst = [t.worst for t in row.ours if t.worst is not None]
    cells += [f"{max(worst):.1g}" if worst else "", "; ".join(text.replace("|", "/")[:160] for _, _, text in row.missed())]
    print("| " + " | ".join(cells) + " |", flush=True)


def print_summary(rows, a):
    print(f"\n{len(rows)} models; medians of the rows:\n")
    for kind in map(kind_of, a.targets):
        ratios = [r for row in rows for t in row.ours if t.kind == kind and not t.wrong and (r := row.ratio(t))]
        base, limit, _ = GOALS[kind]
        if ratios:
            middle = statistics.median(ratios)
            print(f"- {kind}: {1 / middle:.2f} of {base}'s speed, the lowest {1 / max(ratios):.2f}" if kind == "c"
                  else f"- {kind}: {middle:.1f} times {base}, the highest {max(ratios):.1f}")
    print("\n| goal | missed by | of them by more than 1.5 times |\n|---|---|---|")
    found = [(what, by) for row in rows for what, by, _ in row.missed()]
    for what in list(map(kind_of, a.targets)) + ["build", "first run", "difference"]:
        by = [b for w, b in found if w == what]
        print(f"| {what} | {len(by)} | {sum(b > 1.5 for b in by)} |")
    sys.stdout.flush()


def described(row):
    def times(r):
        return {"rounds": [{"median": m, "min": l} for m, l in r.samples]}

    def number(x):  # JSON has no infinity
        return "inf" if x == float("inf") else x
    return {"model": row.name, "kind": row.kind, "tolerance": row.tolerance,
            "onnxruntime": times(row.peer) | {"wrong": row.peer_wrong} if row.peer else None,
            "targets": [{"target": t.name, "build": t.build, "first": t.first, "difference": number(t.worst), "wrong": t.wrong}
                        | times(t) for t in row.ours],
            "missed": [text for _, _, text in row.missed()]}


def write_json(path, rows, a):
    """The whole file or none of it."""
    if path:
        with open(path + ".part", "w") as f:
            json.dump({"threads": a.threads, "rounds": a.rounds, "rows": rows}, f, indent=1)
        os.replace(path + ".part", path)


def options():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--work")
    parser.add_argument("--word", default="")
    parser.add_argument("--without-onnxruntime", dest="onnxruntime", action="store_false")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("gpuc")
    a = parser.parse_args()
    a.targets = a.targets or TARGETS
    for t in a.targets:
        if kind_of(t) not in GOALS:
            parser.error(f"target {t}: this table has goals for {', '.join(GOALS)}")
    a.gpuc = os.path.abspath(a.gpuc)
    a.rounds, a.seconds, a.spare = (2, .1, 0) if a.quick else (3, .25, 300)
    return a


def stopped(number, frame):
    raise KeyboardInterrupt


def main():
    a, rows, saved = options(), [], []
    chosen = {n: m for n, m in MODELS.items() if a.word in n or a.word in m[0]}
    if not chosen:
        sys.exit(f"cliffs.py: no model or kind has {a.word} in its name; there are {', '.join(MODELS)}")
    signal.signal(signal.SIGTERM, stopped)
    interrupted = False
    print_header(a)
    with tempfile.TemporaryDirectory(dir=a.work) as a.work:
        try:
            for name, (kind, build) in chosen.items():
                row = Row(name, kind)
                try:
                    net, stem = write_model(name, build, a.work)
                    prepare(row, a, stem, net)
                    measure(row, a)
                finally:
                    row.close()
                os.remove(stem + ".onnx")
                os.remove(stem + ".npz")
                rows.append(row)
                saved.append(described(row))
                print_row(row)
                write_json(a.json, saved, a)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        print(f"\nInterrupted: {len(rows)} of {len(chosen)} models.")
    print_summary(rows, a)
    sys.exit(130 if interrupted else 0)


if __name__ == "__main__":
    main()
