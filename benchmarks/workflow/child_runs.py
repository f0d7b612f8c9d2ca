"""`python -m benchmarks.workflow.child_runs`: 1,000 runs that a mapped task starts, beside 1,000
that a client creates.

Each is a run of one step of the same WorkflowTemplate. The shipped operator and triggerer run as processes against a
real API server and scheduler; nodes, pods and workers are simulated. Prints a Markdown table and writes JSON.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
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
from benchmarks.profile import report, run
from benchmarks.profile.cost import Cost

_CREATORS = 16
_TEMPLATE = "one"
_SERVERS = ("etcd", "kube-apiserver")
_CONTROL = (*_SERVERS, OPERATOR, TRIGGERER)
_GOAL = "1.1 times"
_QUOTAS = Resource(group="", version="v1", plural="resourcequotas", kind="ResourceQuota")


@asynccontextmanager
async def _torpor(*, profiled: bool = False) -> AsyncIterator[tuple[Processes, WatchedRuns]]:
    """Operator and triggerer that have done a run of each kind."""
    async with open_plane(profiled=profiled) as plane:
        samples = plane.state / run.STACKS if profiled else None
        async with start_operator(plane, samples=samples) as processes, watch_runs(plane.api) as runs:
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


async def start_by_task(runs: WatchedRuns, count: int) -> None:
    """One run with a mapped task that starts the others."""
    spec = {"tasks": [_outer(count)], "parallelism": count, "maxMapSize": count}
    await runs.create(workflow("outer", spec))
    await runs.end("outer")


async def start_by_client(runs: WatchedRuns, count: int) -> None:
    """The same runs, created by a client."""
    names = [f"run-{number}" for number in range(count)]
    limit = asyncio.Semaphore(_CREATORS)
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(_create(runs, limit, name))
    await runs.end(*names)


_KINDS: Mapping[str, Callable[[WatchedRuns, int], Awaitable[None]]] = {
    "client": start_by_client,
    "task": start_by_task,
}


async def measured(kind: str, count: int) -> TaskCosts:
    """What the runs cost."""
    async with _torpor() as (processes, runs):
        span = MeteredSpan.begin(processes)
        await _KINDS[kind](runs, count)
        return TaskCosts(name=f"by a {kind}", tasks=count, wall=time.monotonic() - span.began, cpu=span.cpu())


async def profiled(kind: str, count: int) -> Cost:
    """What the runs cost, with the profiles."""
    async with _torpor(profiled=True) as (processes, runs):
        return await run.measure(processes, count, lambda: _KINDS[kind](runs, count))


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
    parser.add_argument("--profile", choices=_KINDS, help="print the cost of a run that one of these starts instead")
    given = parser.parse_args()
    if given.profile:
        report.show_profile(f"{given.runs:,} runs by a {given.profile}", profiled(given.profile, given.runs))
        return 0
    tried = [program.attempt_alone(f"by a {kind}", measured(kind, given.runs), _shown) for kind in _KINDS]
    taken = [each for each in tried if each is not None]
    program.report(given, "child-runs", figures(taken), rows=[asdict(each) for each in taken])
    return 0 if len(taken) == len(_KINDS) else 1


if __name__ == "__main__":
    sys.exit(main())
