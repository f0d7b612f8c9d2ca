"""The rows of the table: figures from the measurements, goals, and figures of Argo and Tekton.

Argo Workflows 4.1.2 and Tekton 1.15 are quoted at their best tuning, with kwok pods, on two shared cores.
"""

from collections.abc import Mapping, Sequence

from benchmarks.harness.figures import Figure, quantile
from benchmarks.harness.metering import TaskCosts
from benchmarks.harness.processes import KUBELET, OPERATOR, WORKER

HEAD = "Argo 4.1.2, Tekton 1.15 (quoted)"
BESIDE: Mapping[str, str] = {
    "floor": "8.2 s, 16 ms (kwok)",
    "fan_100": "2.1 s (10.1 untuned), 4.3 s",
    "fan_1000": "18.4 s (60.7 untuned), 51.8 s",
    "fan_10000": "3,000: 85.5 s",
    "fan_1000_floors": "2.2, 6.3",
    "chain_step": "1.01 s (10.0 untuned), 0.12 s",
    "many": "6.0 s (52.1 untuned), 7.9 s",
    "fan_1000_machine": "34 ms, 99 ms",
    "fan_100_operator": "4.5 ms, 12 ms",
    "fan_1000_operator": "4.2 ms, 16.4 ms",
    "fan_10000_operator": "3,000: 15.5 ms",
    "workflow_10000": "1,000: 433 kB, 200 kB",
    "memory_10000": "1,000: 67 kB, 109 kB",
}
_SERVERS = ("etcd", "kube-apiserver")
_MS, _KB = "ms", "kB"


def floor(taken: TaskCosts) -> list[Figure]:
    """Bare pods."""
    pods = f"{taken.tasks:,} bare pods by a plain client: the floor"
    return [Figure(name="floor", what=pods, value=taken.wall, unit="s", aside=f"{taken.each():.1f} ms of CPU a pod")]


def fan_out(taken: TaskCosts, bare: TaskCosts | None) -> list[Figure]:
    """One mapped task; `bare` is the floor, of any size."""
    count, many = taken.tasks, f"{taken.tasks:,}"
    rate = f"{count / taken.wall:.0f} a second; others used {taken.cpu['foreign']:.1f} s of the machine's CPU"
    goal = "1.5 s" if count == 100 else ""
    figures = [
        Figure(name=f"fan_{count}", what=f"fan-out of {many}", value=taken.wall, unit="s", goal=goal, aside=rate)
    ]
    if bare is not None:
        floors = taken.wall / bare.wall * bare.tasks / count
        goal = "2.1" if count == 1000 else ""
        figures.append(Figure(name=f"fan_{count}_floors", what="the same", value=floors, unit="floors", goal=goal))
    return [*figures, *_costs(taken), *_sizes(taken), *_beside(taken)]


def chain(taken: TaskCosts) -> list[Figure]:
    """One step after the other."""
    each = taken.wall / taken.tasks
    return [
        Figure(name="chain_step", what=f"a step of a chain of {taken.tasks}", value=each, unit="s", goal="0.1 s"),
        _cost("chain_operator", "operator's CPU a step of it", taken.each(OPERATOR)),
    ]


def many(taken: TaskCosts) -> list[Figure]:
    """Many runs."""
    return [
        Figure(
            name="many", what=f"{taken.tasks} workflows of one step at once", value=taken.wall, unit="s", goal="5.5 s"
        ),
        _cost("many_operator", "operator's CPU a workflow", taken.each(OPERATOR)),
    ]


def _costs(taken: TaskCosts) -> list[Figure]:
    count = taken.tasks
    nodes = f"kubelet {taken.each(KUBELET):.1f}, worker {taken.each(WORKER):.1f}"
    servers = f"API server and etcd {taken.each(*_SERVERS):.1f}"
    return [
        _cost(f"fan_{count}_operator", f"operator's CPU a task, {count:,}", taken.each(OPERATOR), goal="10 ms, flat"),
        _cost(f"fan_{count}_machine", f"CPU of all a task, {count:,}", taken.each(), aside=f"{servers}, {nodes}"),
    ]


def _sizes(taken: TaskCosts) -> list[Figure]:
    count, sizes = taken.tasks, taken.sizes
    return [
        Figure(
            name=f"workflow_{count}",
            what=f"the Workflow in etcd, {count:,} instances",
            value=sizes["workflow"] / 1000,
            unit=_KB,
            goal="16 kB" if count == 10_000 else "",
        ),
        Figure(
            name=f"memory_{count}",
            what=f"operator's memory a TaskRun, {count:,}",
            value=sizes["memory"] / 1000,
            unit=_KB,
            goal="15 kB" if count == 10_000 else "",
            aside="PSS at the end less that before",
        ),
    ]


def _beside(taken: TaskCosts) -> list[Figure]:
    words = {"to_pods": "until its pod is there", "to_ends": "until its end"}
    delays = {"to_pods": taken.to_pods, "to_ends": taken.to_ends}
    return [_late(taken.tasks, name, words[name], values) for name, values in delays.items() if values]


def _late(count: int, name: str, words: str, values: Mapping[str, tuple[float, ...]]) -> Figure:
    beside, alone = values["beside"], values["alone"]
    return Figure(
        name=f"beside_{count}_{name}",
        what=f"another workflow of one step, asked for during the {count:,}, {words}",
        value=quantile(beside, 0.5),
        unit="s (p50)",
        aside=f"p99 {quantile(beside, 0.99):.2f} s, {len(beside)} of them; with nothing else p50 "
        f"{quantile(alone, 0.5):.3f} s",
    )


def _cost(name: str, what: str, value: float, *, goal: str = "", aside: str = "") -> Figure:
    return Figure(name=name, what=what, value=value, unit=_MS, goal=goal, aside=aside)


def figures(
    floors: Sequence[TaskCosts], fans: Sequence[TaskCosts], chains: Sequence[TaskCosts], several: Sequence[TaskCosts]
) -> list[Figure]:
    """Every row of what was measured."""
    bare = floors[0] if floors else None
    figures = floor(bare) if bare is not None else []
    figures += [figure for taken in fans for figure in fan_out(taken, bare)]
    figures += [figure for taken in chains for figure in chain(taken)]
    return figures + [figure for taken in several for figure in many(taken)]


def shown(taken: TaskCosts) -> str:
    """One measurement as progress."""
    return f"{taken.wall:.2f} s, {taken.each():.1f} ms of CPU each"
