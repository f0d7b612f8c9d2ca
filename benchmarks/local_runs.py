"""`make bench-run`: `torpor run` as a process: seconds to the first code of the census, its whole, and 1,000 tasks.

The census example waits: 5 s before its first task, and 8 s in the middle. Both are subtracted. The times of tasks are
those of `status.history`; the claim of a pod enters Running just before user code.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from torpor_cli.local_run.play import read_run
from torpor_wire import times

from benchmarks.harness import program
from benchmarks.harness.figures import Figure
from benchmarks.harness.usage import children_cpu
from tests.support.manifests import manifest

ROOT = Path(__file__).resolve().parents[1]
CENSUS = ROOT / "examples/census.yaml"
GOALS = {"census_first_code": 3.0, "census_whole": 10.0}
_FAN = manifest(
    "Workflow",
    "fan",
    {
        "image": "python:3.12-slim",
        "parallelism": 1_000,
        "tasks": [{"name": "one", "python": "fan_task:one", "expand": [{"name": "number", "over": []}]}],
    },
)


class PlayedRun(NamedTuple):
    """A run: when it began, wall and CPU seconds of its processes, and its TaskRuns."""

    began: float
    wall: float
    cpu: float
    taskruns: list[Mapping[str, Any]]


def play(file: Path, folder: Path, *options: str) -> PlayedRun:
    """Play a file in a folder of its own. Raises CalledProcessError if the run fails."""
    command = [sys.executable, "-m", "torpor_cli", "run", str(file), "--folder", str(folder / "run"), *options]
    cpu, began, start = children_cpu(), time.time(), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    return PlayedRun(began, wall, children_cpu() - cpu, list(read_run(folder / "run").taskruns))


def moments(taskrun: Mapping[str, Any], state: str) -> list[float]:
    """Return when a TaskRun entered a state, in seconds since the epoch."""
    history = taskrun["status"].get("history") or ()
    return [times.epoch(entry["at"]) for entry in history if entry["state"] == state]


def waited(taskruns: Iterable[Mapping[str, Any]]) -> float:
    """Return the seconds between a deferral and the transition after it, over all TaskRuns."""
    total = 0.0
    for taskrun in taskruns:
        history = taskrun["status"].get("history") or ()
        for entry, following in pairwise(history):
            if entry["state"] == "Deferred":
                total += times.epoch(following["at"]) - times.epoch(entry["at"])
    return total


def census(folder: Path) -> list[Figure]:
    """Play the census twice, since the first start compiles modules, and return the figures of the second."""
    for number in range(2):
        (folder / str(number)).mkdir()
        played = play(CENSUS, folder / str(number))
    first = min(moment for taskrun in played.taskruns for moment in moments(taskrun, "Running"))
    before = [taskrun for taskrun in played.taskruns if taskrun["spec"]["task"] == "clock"]
    return [
        _figure("census_first_code", "the census: first code", first - played.began - waited(before), "s"),
        _figure("census_whole", "the census: whole", played.wall - waited(played.taskruns), "s"),
        _figure("census_cpu", "the census: CPU", played.cpu, "s"),
    ]


def fan(folder: Path, tasks: int) -> list[Figure]:
    """Play a task that is mapped over 1,000 items, and return its rate, and the memory of the command."""
    body = json.loads(json.dumps(_FAN))
    body["spec"]["tasks"][0]["expand"][0]["over"] = list(range(tasks))
    (folder / "fan.yaml").write_text(json.dumps(body))
    (folder / "fan_task.py").write_text("def one(number):\n    return number\n")
    played = play(folder / "fan.yaml", folder)
    first = min(moment for taskrun in played.taskruns for moment in moments(taskrun, "Running"))
    ended = max(moment for taskrun in played.taskruns for moment in moments(taskrun, "Succeeded"))
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_000
    return [
        _figure("fan_seconds", f"{tasks:,} mapped tasks", ended - first, "s"),
        _figure("fan_rate", "the same, tasks a second", tasks / (ended - first), "/s"),
        _figure("fan_cpu", "CPU of a task", 1_000 * played.cpu / tasks, "ms"),
        _figure("fan_memory", "memory of the command", memory, "MB"),
    ]


def _figure(name: str, what: str, value: float, unit: str) -> Figure:
    return Figure(name=name, what=what, value=value, unit=unit, goal=f"{GOALS[name]:g} s" if name in GOALS else "")


def main() -> int:
    """Measure, print and write. Returns 1 if a figure exceeds its goal."""
    parser = program.parser(__doc__)
    parser.add_argument("tasks", nargs="?", type=int, default=1_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("census", "fan"):
            (Path(scratch) / name).mkdir()
        figures = census(Path(scratch) / "census") + fan(Path(scratch) / "fan", given.tasks)
    program.report(given, "run", figures, load=os.getloadavg()[0], cores=os.cpu_count())
    return int(any(figure.value > GOALS[figure.name] for figure in figures if figure.name in GOALS))


if __name__ == "__main__":
    sys.exit(main())
