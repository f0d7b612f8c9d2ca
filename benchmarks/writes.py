"""`python -m benchmarks.writes`: API writes per python task, by kind, and the bytes of a TaskRun with its history.

The writes come from `apiserver_request_total` before and after a fan-out, without Events, Leases and the coalesced
Workflow status. The cluster's own writes for any pod (binding, kubelet status, token) are shown separately.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torpor_demo import images
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import constants

from benchmarks.harness.api_writes import WriteKind, read_writes
from benchmarks.harness.cluster import bench_cluster

_LEFT_OUT = frozenset({"events", "leases", "workflows/status"})
_OURS = frozenset({"taskruns", "taskruns/status", "workflows", "pods"})
_SETTLE = 10.0


class TaskRunBytes(NamedTuple):
    """Mean bytes of a finished TaskRun as compact JSON without managedFields, and of its history."""

    taskrun: float
    history: float


def main() -> None:
    """Measure and print a table, then JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=50)
    tasks: int = parser.parse_args().tasks
    sys.stdout.write(text(tasks, *asyncio.run(_measure(tasks))))


def text(tasks: int, counted: Counter[WriteKind], stored: TaskRunBytes) -> str:
    """Format the figures as a table, and on the last line as JSON."""
    ours = {kind: count for kind, count in counted.items() if kind.resource in _OURS}
    others = {kind: count for kind, count in counted.items() if kind not in ours}
    total = sum(ours.values())
    figures = {str(kind): count / tasks for kind, count in sorted(counted.items())}
    lines = [
        f"API writes of a run of {tasks} python tasks",
        _row("WRITE", "TOTAL", "PER TASK"),
        *_rows(ours, tasks),
        _row("in all", str(total), f"{total / tasks:.2f}"),
        "the cluster's own, for any pod:",
        *_rows(others, tasks),
        f"a finished TaskRun has {stored.taskrun:.0f} bytes, {stored.history:.0f} of them history",
        json.dumps(
            {
                "bench": "writes",
                "tasks": tasks,
                "per_task": total / tasks,
                "writes": figures,
                "taskrun_bytes": round(stored.taskrun),
                "history_bytes": round(stored.history),
            }
        ),
    ]
    return "\n".join(lines) + "\n"


def _rows(counted: Mapping[WriteKind, int], tasks: int) -> list[str]:
    return [_row(str(kind), str(count), f"{count / tasks:.2f}") for kind, count in sorted(counted.items())]


def _row(words: str, total: str, each: str) -> str:
    return f"  {words:<36}{total:>7}{each:>10}"


def size_of(taskruns: Sequence[dict[str, Any]]) -> TaskRunBytes:
    """Mean bytes of TaskRuns."""
    bodies = [
        body | {"metadata": {key: value for key, value in body["metadata"].items() if key != "managedFields"}}
        for body in taskruns
    ]
    histories = [body["status"].get("history", []) for body in taskruns]
    return TaskRunBytes(*(sum(map(_compact, values)) / len(taskruns) for values in (bodies, histories)))


def _compact(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":")).encode())


async def _measure(tasks: int) -> tuple[Counter[WriteKind], TaskRunBytes]:
    async with bench_cluster(list(images.ALL)) as on:
        await asyncio.sleep(_SETTLE)
        before = await read_writes(on.api, _LEFT_OUT)
        found = await on.run(
            {
                "image": images.CENSUS.name,
                "runtime": "Image",
                "tasks": [
                    {
                        "name": "it",
                        "python": "census.tasks:sections",
                        "expand": [{"name": "largest", "over": list(range(tasks))}],
                    }
                ],
            }
        )
        # The kubelet's last words on the pods come after the run's end.
        await asyncio.sleep(_SETTLE)
        after = await read_writes(on.api, _LEFT_OUT)
        selector = f"{constants.LABEL_WORKFLOW}={found.metadata.name}"
        runs = (await on.api.list(TASKRUNS, found.metadata.namespace, label_selector=selector)).items
        await on.remove(found)
    return after - before, size_of(runs)


if __name__ == "__main__":
    main()
