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

from torpor_cli.local_run import stored_run
from torpor_wire import times

from benchmarks.harness.usage import children_cpu

ROOT = Path(__file__).resolve().parents[1]
CENSUS = ROOT / "examples/census.yaml"
GOALS = {"census: first code": 3.0, "census: whole": 10.0}
TASKS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
_FAN = {
    "apiVersion": "torpor.dev/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "fan"},
    "spec": {
        "image": "python:3.12-slim",
        "parallelism": 1_000,
        "tasks": [{"name": "one", "python": "fan_task:one", "expand": [{"name": "number", "over": []}]}],
    },
}


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
    return PlayedRun(began, wall, children_cpu() - cpu, list(stored_run.read(folder / "run").taskruns))


def moments(taskrun: Mapping[str, Any], state: str) -> list[float]:
    """Return when a TaskRun entered a state, in seconds since the epoch."""
    history = taskrun["status"].get("history") or ()
    return [times.epoch(one["at"]) for one in history if one["state"] == state]


def waited(taskruns: Iterable[Mapping[str, Any]]) -> float:
    """Return the seconds between a deferral and the transition after it, over all TaskRuns."""
    total = 0.0
    for taskrun in taskruns:
        history = taskrun["status"].get("history") or ()
        for one, following in pairwise(history):
            if one["state"] == "Deferred":
                total += times.epoch(following["at"]) - times.epoch(one["at"])
    return total


def census(folder: Path) -> dict[str, float]:
    """Play the census twice, since the first start compiles modules, and return the figures of the second."""
    for number in range(2):
        (folder / str(number)).mkdir()
        played = play(CENSUS, folder / str(number))
    first = min(moment for one in played.taskruns for moment in moments(one, "Running"))
    before = [one for one in played.taskruns if one["spec"]["task"] == "clock"]
    return {
        "census: first code": first - played.began - waited(before),
        "census: whole": played.wall - waited(played.taskruns),
        "census: CPU": played.cpu,
    }


def fan(folder: Path) -> dict[str, float]:
    """Play a task that is mapped over 1,000 items, and return its rate, and the memory of the command."""
    body = json.loads(json.dumps(_FAN))
    body["spec"]["tasks"][0]["expand"][0]["over"] = list(range(TASKS))
    (folder / "fan.yaml").write_text(json.dumps(body))
    (folder / "fan_task.py").write_text("def one(number):\n    return number\n")
    played = play(folder / "fan.yaml", folder)
    first = min(moment for one in played.taskruns for moment in moments(one, "Running"))
    ended = max(moment for one in played.taskruns for moment in moments(one, "Succeeded"))
    return {
        f"{TASKS} tasks: seconds": ended - first,
        f"{TASKS} tasks: per second": TASKS / (ended - first),
        f"{TASKS} tasks: CPU per task, ms": 1_000 * played.cpu / TASKS,
        f"{TASKS} tasks: memory, MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_000,
    }


def main() -> int:
    """Print the figures; 1 if one exceeds its goal."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("census", "fan"):
            (Path(scratch) / name).mkdir()
        found = census(Path(scratch) / "census") | fan(Path(scratch) / "fan")
    rows = {name: round(value, 2) for name, value in found.items()}
    print(json.dumps({"load": round(load, 1), "cores": os.cpu_count(), "figures": rows, "goals": GOALS}, indent=2))
    return int(any(found[name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
