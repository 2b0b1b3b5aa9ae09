# SPDX-License-Identifier: Apache-2.0
"""plot.py SAMPLES.json PLOT.png: each workload's share of its limit's speed, by target, with what is wanted of it."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

with open(sys.argv[1]) as f:
    rows = [r for r in json.load(f)["rows"] if r.get("limit") and r["median_seconds"] > 0]
workloads = list(dict.fromkeys(r["workload"] for r in rows))
targets = list(dict.fromkeys(r["target"] for r in rows if r["device"]))
height = 0.8 / max(1, len(targets))
figure, axes = plt.subplots(figsize=(9, 1 + 0.42 * len(workloads)))
for k, target in enumerate(targets):
    own = [r for r in rows if r["target"] == target]
    at = [workloads.index(r["workload"]) + k * height for r in own]
    axes.barh(at, [100 * r["limit_seconds"] / r["median_seconds"] for r in own], height, label=target)
    axes.plot([100 * r["limit_best_seconds"] / r["best_seconds"] for r in own], at, "o", color="gray", markersize=2)
    wanted = [(y, 100 * r["goal"]) for y, r in zip(at, own) if r["goal"] > 0]
    axes.vlines([x for _, x in wanted], [y - height / 2 for y, _ in wanted], [y + height / 2 for y, _ in wanted],
                color="black", linewidth=1.5)
axes.set_yticks([i + 0.4 - height / 2 for i in range(len(workloads))], workloads)
axes.invert_yaxis()
limits = ", ".join(dict.fromkeys(r["limit"] for r in rows))
axes.set_xlabel(f"percent of the limit ({limits}): bars by medians, dots by bests; black: what is wanted")
axes.set_xlim(0, 200)
if rows:
    axes.legend(loc="lower right")
figure.tight_layout()
figure.savefig(sys.argv[2], dpi=100)
