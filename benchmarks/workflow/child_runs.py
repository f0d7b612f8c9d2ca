"""`python -m benchmarks.workflow.child_runs`: 1,000 runs that a mapped task starts, beside 1,000
that a client creates.

Each is a run of one step of the same WorkflowTemplate. The shipped operator and triggerer run as processes against a
real API server and scheduler; nodes, pods and workers are simulated. Prints a Markdown table and writes JSON.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace

from torpor_kubernetes.client.resources import TEMPLATES, Resource
from torpor_wire import constants

from benchmarks.harness import program
from benchmarks.harness.control_plane import NAMESPACE, open_plane
from benchmarks.harness.figures import Figure
from benchmarks.harness.metering import MeteredSpan, TaskCosts
from benchmarks.harness.processes import OPERATOR, TRIGGERER, Processes, running, start_operator, triggerer
from benchmarks.harness.runs import WatchedRuns, expanded, step, warm, watch_runs, workflow
from benchmarks.harness.waiting import Object

_CREATORS = 16
_TEMPLATE = "one"
_SERVERS = ("etcd", "kube-apiserver")
_CONTROL = (*_SERVERS, OPERATOR, TRIGGERER)
_GOAL = "1.1 times"
_QUOTAS = Resource(group="", version="v1", plural="resourcequotas", kind="ResourceQuota")


@asynccontextmanager
async def _torpor() -> AsyncIterator[tuple[Processes, WatchedRuns]]:
    """Operator and triggerer that have done a run of each kind."""
    async with open_plane() as plane, start_operator(plane) as processes, watch_runs(plane.api) as runs:
        waits = triggerer(plane)
        async with running(waits):
            await waits.member()
            spec: Object = {"workflow": {"image": "bench", "runtime": "Image", "tasks": [step("only")]}}
            spec["params"] = [{"name": "number", "type": "integer"}]
            await plane.api.delete(_QUOTAS, NAMESPACE, "torpor-templates")  # it is not counted yet
            await plane.api.create(TEMPLATES, NAMESPACE, _template(spec))
            await warm(runs)
            await warm_child(runs)
            yield replace(processes, children={**processes.children, TRIGGERER: waits}), runs


def _template(spec: Object) -> Object:
    metadata = {"name": _TEMPLATE, "namespace": NAMESPACE}
    return {"apiVersion": constants.API_VERSION, "kind": "WorkflowTemplate", "metadata": metadata, "spec": spec}


def _outer(count: int) -> Object:
    """A mapped task, each instance of which is a run. Its params read the index, so the items are no params."""
    call = {"templateRef": {"name": _TEMPLATE}, "params": {"number": "${mapping.index}"}}
    return expanded({"name": "each", "run": call}, count)


async def warm_child(runs: WatchedRuns) -> None:
    """A first run in a run."""
    await runs.create(workflow("warm-outer", {"tasks": [_outer(2)]}))
    await runs.end("warm-outer")


async def by_task(count: int) -> TaskCosts:
    """One run with a mapped task that starts the others."""
    async with _torpor() as (processes, runs):
        span = MeteredSpan.begin(processes)
        spec = {"tasks": [_outer(count)], "parallelism": count, "maxMapSize": count}
        await runs.create(workflow("outer", spec))
        wall = await runs.end("outer") - span.began
        return TaskCosts(name="by a task", tasks=count, wall=wall, cpu=span.cpu())


async def by_client(count: int) -> TaskCosts:
    """The same runs, created by a client."""
    async with _torpor() as (processes, runs):
        span, names = MeteredSpan.begin(processes), [f"run-{number}" for number in range(count)]
        limit = asyncio.Semaphore(_CREATORS)
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(_create(runs, limit, name))
        wall = await runs.end(*names) - span.began
        return TaskCosts(name="by a client", tasks=count, wall=wall, cpu=span.cpu())


async def _create(runs: WatchedRuns, limit: asyncio.Semaphore, name: str) -> None:
    async with limit:
        await runs.create(workflow(name, {"templateRef": {"name": _TEMPLATE}, "params": {"number": 1}}))


def figures(taken: Sequence[TaskCosts]) -> list[Figure]:
    """The costs of each, and their ratio."""
    rows = [figure for each in taken for figure in _costs(each)]
    if len(taken) == 2:
        client, task = taken
        ratio = task.each(*_CONTROL) / client.each(*_CONTROL)
        rows.append(Figure(name="ratio", what="CPU of a run by a task", value=ratio, unit="times", goal=_GOAL))
    return rows


def _costs(taken: TaskCosts) -> list[Figure]:
    name, what = taken.name.replace(" ", "_"), f"{taken.tasks:,} runs {taken.name}"
    parts = f"API server and etcd {taken.each(*_SERVERS):.1f}, operator {taken.each(OPERATOR):.1f}, "
    parts += f"triggerer {taken.each(TRIGGERER):.1f}"
    foreign = f"others used {taken.cpu['foreign']:.1f} s of the machine's CPU"
    return [
        Figure(name=name, what=what, value=taken.wall, unit="s", aside=foreign),
        Figure(
            name=f"{name}_cpu", what=f"CPU a run, {taken.name}", value=taken.each(*_CONTROL), unit="ms", aside=parts
        ),
    ]


def _shown(taken: TaskCosts) -> str:
    return f"{taken.wall:.1f} s, {taken.each(*_CONTROL):.1f} ms of CPU a run"


def main() -> int:
    """Measure, print and write. Returns 1 if a row could not be measured."""
    parser = program.parser(__doc__, "child-runs")
    parser.add_argument("--runs", type=int, default=1000, help="how many")
    given = parser.parse_args()
    kinds = {"by a client": by_client, "by a task": by_task}
    tried = [program.attempt_alone(name, kind(given.runs), _shown) for name, kind in kinds.items()]
    taken = [each for each in tried if each is not None]
    program.report(given, "child-runs", figures(taken), rows=[asdict(each) for each in taken])
    return 0 if len(taken) == len(kinds) else 1


if __name__ == "__main__":
    sys.exit(main())
