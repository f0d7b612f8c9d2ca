"""`make bench-cli`: wall time of `torpor --help`, `get` and `list` on the cluster, as processes, against the goals.

The median of 20 starts. The namespace is that of KUBECONFIG's context, or of the first argument.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness.usage import children_cpu

GOALS = {"--help": 0.35, "get @latest": 0.6, "list": 0.8}
STARTS = 20


def measured(arguments: list[str]) -> tuple[list[float], float]:
    """Wall seconds of each start in ascending order, and mean CPU seconds. The first start compiles modules."""
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found, before = [], children_cpu()
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found.append(time.perf_counter() - began)
    return sorted(found), (children_cpu() - before) / STARTS


def main() -> int:
    """Print a line for each command; 1 if a median exceeds its goal."""
    program = shutil.which("torpor", path=str(Path(sys.executable).parent)) or "torpor"
    namespace = ["-n", sys.argv[1]] if len(sys.argv) > 1 else []
    rows = {}
    for command, goal in GOALS.items():
        took, cpu = measured([program, *command.split(), *(namespace if command != "--help" else [])])
        figures = {"median": statistics.median(took), "least": took[0], "cpu": cpu, "goal": goal}
        rows[command] = {name: round(value, 3) for name, value in figures.items()}
    load = os.getloadavg()[0]
    print(json.dumps({"starts": STARTS, "load": round(load, 1), "cores": os.cpu_count(), "seconds": rows}, indent=2))
    return int(any(row["median"] > row["goal"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
