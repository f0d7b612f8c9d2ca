"""`python -m benchmarks.workflow.operators`: what a second operator costs and gains, for the same load.

The load is a fan-out in each of two namespaces. It runs with one operator, with a standby beside it, and with two
installations of which each serves one of the namespaces. A standby watches all objects and writes none, so its CPU is
what each replica would use for the objects of the others if replicas shared the Workflows of all namespaces by a hash.
"""

import argparse
import asyncio
import statistics
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum

from torpor_demo.install import SYSTEM, prepare
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES

from benchmarks.harness import processes, program, runs, usage
from benchmarks.harness.control_plane import API_SERVER, NAMESPACE, ControlPlane, open_plane
from benchmarks.harness.figures import Figure
from benchmarks.harness.metering import MeteredSpan, TaskCosts
from benchmarks.harness.processes import OPERATOR, ChildProcess, Processes
from benchmarks.harness.runs import WatchedRuns
from benchmarks.harness.waiting import until
from benchmarks.workflow import loads, rows
from benchmarks.workflow.loads import TaskForm

_SECOND = "operator-2"
_NAMESPACES = (NAMESPACE, f"{NAMESPACE}-2")
_HOMES = (SYSTEM, f"{SYSTEM}-2")
_LIMIT = 120.0
_SETTLE = 2.0


class Arrangement(StrEnum):
    """Which operators run."""

    ONE = "one"
    STANDBY = "standby"
    INSTALLATIONS = "installations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The cost of the load with one arrangement, and the memory (PSS) of each operator in MiB."""

    costs: TaskCosts
    memory: Sequence[float]


def main() -> int:
    """Measure, print and write. Returns 1 if a measurement failed."""
    parser = program.parser(__doc__, "operators")
    parser.add_argument("--tasks", type=int, default=500, help="tasks of each of the two fan-outs")
    parser.add_argument("--rounds", type=int, default=2, help="measurements of each arrangement, in turns")
    parser.add_argument("--form", choices=list(TaskForm), default=TaskForm.CONTAINER, help="what the tasks run")
    given = parser.parse_args()
    measured: dict[Arrangement, list[Measurement]] = {arrangement: [] for arrangement in Arrangement}
    for number in range(given.rounds):
        for arrangement, taken in measured.items():
            each = program.attempt_alone(
                f"round {number + 1}, {arrangement}", _measure(arrangement, given), lambda one: rows.shown(one.costs)
            )
            taken.extend([] if each is None else [each])
    if not all(measured.values()):
        return 1
    figures = [figure for arrangement, taken in measured.items() for figure in _figures(arrangement, taken)]
    rows_taken = [asdict(each) for taken in measured.values() for each in taken]
    program.report(given, "operators", figures, form=given.form, rows=rows_taken)
    return 0


async def _measure(arrangement: Arrangement, given: argparse.Namespace) -> Measurement:
    form = TaskForm(given.form)
    async with (
        _torpor(arrangement) as (system, operators),
        runs.watch_runs(system.plane.api) as seen,
    ):
        await _fan_out(seen, "warm", 8, form)
        await asyncio.sleep(_SETTLE)
        span = MeteredSpan.begin(system)
        wall = await _fan_out(seen, "fan", given.tasks, form) - span.began
        costs = TaskCosts(name=arrangement, tasks=2 * given.tasks, wall=wall, cpu=span.cpu())
        return Measurement(costs=costs, memory=[usage.own_pss(each.pid) / 2**20 for each in operators])


async def _fan_out(seen: WatchedRuns, name: str, count: int, form: TaskForm) -> float:
    """Run a fan-out in each of the namespaces at once. Returns when the last one has ended (monotonic)."""
    load = loads.fan_out(count, form)
    spec = {"image": "bench", "runtime": "Image", "tasks": load.runs["fan"], **load.spec}
    bodies = [runs.workflow(f"{name}-{number}", spec, namespace) for number, namespace in enumerate(_NAMESPACES)]
    await asyncio.gather(*map(seen.create, bodies))
    return await seen.end(*(body["metadata"]["name"] for body in bodies))


@asynccontextmanager
async def _torpor(arrangement: Arrangement) -> AsyncIterator[tuple[Processes, list[ChildProcess]]]:
    async with open_plane() as plane, processes.start_nodes(plane) as nodes:
        await asyncio.to_thread(_prepare, plane)
        operators = _operators(plane, arrangement)
        async with processes.running(*operators):
            homes = _HOMES if arrangement is Arrangement.INSTALLATIONS else _HOMES[:1]
            for home in homes:
                await until(lambda home=home: _is_held(plane.api, home), _LIMIT)  # type: ignore[misc]
            await asyncio.gather(*(each.ready() for each in operators))
            children = {**nodes.children, **{each.name: each for each in operators}}
            yield Processes(plane=plane, children=children), operators


def _prepare(plane: ControlPlane) -> None:
    prepare(plane.admin, _NAMESPACES[1])
    plane.admin.run("create", "namespace", _HOMES[1])
    account = f"--serviceaccount={SYSTEM}:torpor-operator"
    # The roles of a second installation name its own ServiceAccount. The policies name the one of the first.
    plane.admin.run("create", "clusterrolebinding", "bench-operators", "--clusterrole=cluster-admin", account)


def _operators(plane: ControlPlane, arrangement: Arrangement) -> list[ChildProcess]:
    if arrangement is Arrangement.ONE:
        return [processes.operator(plane)]
    if arrangement is Arrangement.STANDBY:
        return [processes.operator(plane, name=name) for name in (OPERATOR, _SECOND)]
    return [
        processes.operator(plane, "--namespace", home, "--namespaces", namespace, name=name)
        for name, home, namespace in zip((OPERATOR, _SECOND), _HOMES, _NAMESPACES, strict=True)
    ]


async def _is_held(api: Api, home: str) -> bool:
    leases = (await api.list(LEASES, home)).items
    return any(
        lease["metadata"]["name"] == "torpor-operator" and lease["spec"].get("holderIdentity") for lease in leases
    )


def _figures(arrangement: Arrangement, taken: Sequence[Measurement]) -> list[Figure]:
    operators = _medians(
        [each.costs.each(name) for name in (OPERATOR, _SECOND) if name in each.costs.cpu] for each in taken
    )
    memory = _medians(each.memory for each in taken)
    server = statistics.median(each.costs.each(API_SERVER) for each in taken)
    wall = statistics.median(each.costs.wall for each in taken)
    what = {"one": "one operator", "standby": "a leader and a standby", "installations": "two installations"}
    return [
        Figure(
            name=f"{arrangement}_operators",
            what=f"{what[arrangement]}: CPU of the operators a task",
            value=sum(operators),
            unit="ms",
            aside=f"{_listed(operators, 2)}; memory {_listed(memory, 0)} MiB",
        ),
        Figure(name=f"{arrangement}_server", what="API server", value=server, unit="ms"),
        Figure(name=f"{arrangement}_wall", what="both fan-outs", value=wall, unit="s"),
    ]


def _medians(measurements: Iterable[Sequence[float]]) -> list[float]:
    """The median of the largest value of each measurement, then of the second: the leader is the one that uses more."""
    ranked = [sorted(each, reverse=True) for each in measurements]
    return [statistics.median(values) for values in zip(*ranked, strict=True)]


def _listed(values: Sequence[float], digits: int) -> str:
    return " and ".join(f"{value:.{digits}f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
