"""`python -m benchmarks.writes`: API writes per python task, by kind, and the bytes of a TaskRun with its history.

The writes come from `apiserver_request_total` before and after a fan-out, without Events, Leases and the coalesced
Workflow status. The cluster's own writes for any pod (binding, kubelet status, token) are shown separately.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torpor_demo import images
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import constants

from benchmarks.harness import program
from benchmarks.harness.api_writes import WriteKind, read_writes
from benchmarks.harness.cluster import bench_cluster
from benchmarks.harness.figures import Figure

_LEFT_OUT = frozenset({"events", "leases", "workflows/status"})
_OURS = frozenset({"taskruns", "taskruns/status", "workflows", "pods"})
_SETTLE = 10.0


class TaskRunBytes(NamedTuple):
    """Mean bytes of a finished TaskRun as compact JSON without managedFields, and of its history."""

    taskrun: float
    history: float


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--tasks", type=int, default=50)
    given = parser.parse_args()
    counted, stored = asyncio.run(_measure(given.tasks))
    program.report(given, "writes", figures(given.tasks, counted, stored), tasks=given.tasks)


def figures(tasks: int, counted: Mapping[WriteKind, int], stored: TaskRunBytes) -> list[Figure]:
    """Torpor's writes per task, then the cluster's own for any pod, then bytes."""
    torpor = {kind: count for kind, count in counted.items() if kind.resource in _OURS}
    others = {kind: count for kind, count in counted.items() if kind not in torpor}
    per_task = sum(torpor.values()) / tasks
    return [
        *(_figure(f"{kind}", f"{kind}, per task", count / tasks) for kind, count in sorted(torpor.items())),
        _figure("per_task", f"API writes per task, of {tasks} python tasks", per_task),
        *(_figure(f"{kind}", f"the cluster's own: {kind}, per task", n / tasks) for kind, n in sorted(others.items())),
        Figure(name="taskrun_bytes", what="a finished TaskRun", value=round(stored.taskrun), unit="bytes"),
        Figure(name="history_bytes", what="its history", value=round(stored.history), unit="bytes"),
    ]


def _figure(name: str, what: str, value: float) -> Figure:
    return Figure(name=name, what=what, value=value, unit="writes")


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
        workflow = await on.run(
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
        selector = f"{constants.LABEL_WORKFLOW}={workflow.metadata.name}"
        runs = (await on.api.list(TASKRUNS, workflow.metadata.namespace, label_selector=selector)).items
        await on.remove(workflow)
    return after - before, size_of(runs)


if __name__ == "__main__":
    main()
