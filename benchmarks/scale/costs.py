"""The processor time of a task, of a wait, and of the beginning of a large Workflow, by process."""

import time
from collections.abc import Mapping
from typing import Any

from benchmarks.harness.control_plane import API_SERVER, ETCD
from benchmarks.harness.figures import Figure
from benchmarks.harness.metering import MeteredSpan
from benchmarks.harness.runs import WatchedRuns, mapped
from benchmarks.harness.waiting import Object
from benchmarks.scale import workload
from benchmarks.scale.system import ScaleSystem

_LEADER, _STANDBY = "leader", "standby"
_PARTS: Mapping[str, tuple[str, ...]] = {
    "api_server": (API_SERVER,),
    "etcd": (ETCD,),
    "operator": (_LEADER,),
    "standby": (_STANDBY,),
    "triggerer": ("triggerer-a", "triggerer-b"),
    "controllers": ("kube-controller-manager", "kube-scheduler"),
    "nodes": ("kubelet", "worker"),
}
_WORDS = {
    "api_server": "API server",
    "etcd": "etcd",
    "operator": "the leading operator",
    "standby": "the standby",
    "triggerer": "both triggerers",
    "controllers": "scheduler and controllers",
    "nodes": "simulated kubelet and worker",
}
_TASK = ("api_server", "etcd", "operator", "standby", "controllers", "nodes")
_WAIT = ("api_server", "etcd", "operator", "standby", "triggerer", "controllers")


async def tasks(on: ScaleSystem, runs: WatchedRuns, name: str, where: str) -> list[Figure]:
    """Of a fan-out of python tasks with pods; it is removed afterwards."""
    count = on.sizes.tasks
    span = MeteredSpan.begin(on)
    await runs.start(name, [mapped(count)], **_limits(count))
    wall = await runs.end(name) - span.began
    figures = _figures(name, f"a task of a fan-out of {count:,} {where}", count, await _cpu(on, span), wall, _TASK)
    await workload.removed(on, name)
    return figures


async def fires(on: ScaleSystem, runs: WatchedRuns) -> list[Figure]:
    """Of waits from their creation to the end of the Workflow; it is removed afterwards."""
    count, duration = on.sizes.fires, on.sizes.duration
    span = MeteredSpan.begin(on)
    await _start(runs, "wait", workload.firing(count, duration))
    wall = await runs.end("wait") - span.began
    what = f"a wait of {count:,} that fire after {duration}, from creation to success"
    figures = _figures("wait", what, count, await _cpu(on, span), wall, _WAIT)
    await workload.removed(on, "wait")
    return figures


async def large(on: ScaleSystem, runs: WatchedRuns) -> list[Figure]:
    """Of the instances of the large Workflow, until all of them wait."""
    count = on.sizes.instances
    span = MeteredSpan.begin(on)
    await _start(runs, workload.LARGE, workload.waiting(count))
    await workload.deferred(on, workload.LARGE, count)
    wall = time.monotonic() - span.began
    what = f"an instance of one Workflow of {count:,}, until it waits"
    return _figures("large", what, count, await _cpu(on, span), wall, _WAIT)


async def _cpu(on: ScaleSystem, span: MeteredSpan) -> dict[str, float]:
    """Seconds by name; the operators by their part now."""
    cpu, leader = span.cpu(), await on.leader()
    parts = {name: _LEADER if name == leader.name else _STANDBY for name in on.operators}
    return {parts.get(name, name): used for name, used in cpu.items()}


async def _start(runs: WatchedRuns, name: str, wanted: tuple[Object, Mapping[str, Any]]) -> float:
    task, limits = wanted
    return await runs.start(name, [task], **limits)


def _limits(count: int) -> dict[str, int]:
    return {"parallelism": count, "maxMapSize": count}


def _figures(  # noqa: PLR0913, PLR0917 - the words and the numbers of a row
    name: str, what: str, count: int, cpu: Mapping[str, float], wall: float, parts: tuple[str, ...]
) -> list[Figure]:
    aside = f"{wall:.0f} s, {count / wall:.0f} a second; other processes used {cpu['foreign'] / wall:.1f} cores"
    return [
        Figure(
            name=f"{name}_{part}",
            what=f"CPU of {_WORDS[part]}: {what}",
            value=1000 * sum(cpu.get(each, 0.0) for each in _PARTS[part]) / count,
            unit="ms",
            aside=aside if part == parts[0] else "",
        )
        for part in parts
    ]
