"""`make bench-cli`: wall time of `torpor --help`, `get` and `list` on the cluster, as processes, against the goals.

The median of 20 starts. The namespace is that of KUBECONFIG's context, or of the first argument.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness import program
from benchmarks.harness.figures import Figure
from benchmarks.harness.usage import children_cpu

GOALS = {"--help": 0.35, "get @latest": 0.6, "list": 0.8}
STARTS = 20


def measured(arguments: list[str]) -> tuple[list[float], float]:
    """Wall seconds of each start in ascending order, and mean CPU seconds. The first start compiles modules."""
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, before = [], children_cpu()
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - began)
    return sorted(seconds), (children_cpu() - before) / STARTS


def main() -> int:
    """Measure, print and write. Returns 1 if a median exceeds its goal."""
    parser = program.parser(__doc__)
    parser.add_argument("namespace", nargs="?", help="instead of that of KUBECONFIG's context")
    given = parser.parse_args()
    executable = shutil.which("torpor", path=str(Path(sys.executable).parent)) or "torpor"
    namespace = ["-n", given.namespace] if given.namespace else []
    figures, exceeded = [], False
    for command, goal in GOALS.items():
        took, cpu = measured([executable, *command.split(), *(namespace if command != "--help" else [])])
        aside, median = f"fastest {took[0]:.3f} s, {cpu:.3f} s of CPU", statistics.median(took)
        what = f"torpor {command}, median of {STARTS}"
        figures.append(Figure(name=command, what=what, value=median, unit="s", goal=f"{goal:g} s", aside=aside))
        exceeded = exceeded or median > goal
    program.report(given, "cli", figures, load=os.getloadavg()[0], cores=os.cpu_count())
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
