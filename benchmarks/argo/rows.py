"""The table and the JSON of the bench: both systems, row by row, with the floor of the same sitting. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.argo.scenarios import CHAIN, ArgoScenario
from benchmarks.harness.figures import markdown
from benchmarks.harness.metering import TaskCosts

TORPOR, FOREIGN = "Torpor", "foreign"
_HEAD = ("what", "system", "wall", "floors", "CPU ms per task")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "its controller": ("operator", "workflow-controller"),
    "API server and etcd": ("kube-apiserver", "etcd"),
    "scheduler and controllers": ("kube-scheduler", "kube-controller-manager"),
    "kubelet and worker": ("kubelet", "worker"),
    "client": ("client",),
}
_NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgoRow:
    """A system at a scenario."""

    scenario: ArgoScenario
    system: str
    taken: TaskCosts

    def floors(self, floor: TaskCosts) -> float:
        """Its wall time in those of as many bare pods."""
        return self.taken.wall / floor.wall * floor.tasks / self.taken.tasks


def table(floor: TaskCosts, rows: Sequence[ArgoRow]) -> str:
    """Markdown. Processor time is in milliseconds a task, in whole and by process.

    The last column is what others used of the machine meanwhile, on average: beside them a wall time says little.
    """
    heads = (*_HEAD, *_PARTS, "cores of others")
    bare = (f"{floor.tasks:,} bare pods", "none", f"{floor.wall:.2f} s", "1.00", *_costs(floor))
    return markdown(heads, [bare, *(_line(row, floor) for row in rows)])


def body(floor: TaskCosts, rows: Sequence[ArgoRow]) -> dict[str, Any]:
    """JSON for programs: what was measured, and what follows from it."""
    return {"floor": asdict(floor), "rows": [_written(row, floor) for row in rows]}


def _line(row: ArgoRow, floor: TaskCosts) -> tuple[str, ...]:
    taken = row.taken
    step = f" ({taken.wall / taken.tasks:.3f} s per step)" if row.scenario.kind == CHAIN else ""
    # A chain has one pod at a time, so a floor of pods in parallel says nothing about it.
    floors = _NONE if step else f"{row.floors(floor):.2f}"
    return row.scenario.name, row.system, f"{taken.wall:.2f} s{step}", floors, *_costs(taken)


def _costs(taken: TaskCosts) -> tuple[str, ...]:
    parts = tuple(_cost(taken, names) for names in _PARTS.values())
    if FOREIGN not in taken.cpu:
        return (_NONE, *parts, _NONE)
    return (f"{taken.each():.1f}", *parts, f"{taken.cpu[FOREIGN] / taken.wall:.1f}")


def _cost(taken: TaskCosts, names: Sequence[str]) -> str:
    known = [name for name in names if name in taken.cpu]
    return f"{taken.each(*known):.1f}" if known else _NONE


def _written(row: ArgoRow, floor: TaskCosts) -> dict[str, Any]:
    each = {part: _number(row.taken, names) for part, names in _PARTS.items()}
    return {
        "scenario": asdict(row.scenario),
        "system": row.system,
        "floors": row.floors(floor),
        "ms_per_task": each,
        "taken": asdict(row.taken),
    }


def _number(taken: TaskCosts, names: Sequence[str]) -> float | None:
    known = [name for name in names if name in taken.cpu]
    return taken.each(*known) if known else None
