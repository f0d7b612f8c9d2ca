"""What everything uses while nothing happens: processor time, memory, and writes."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping

from benchmarks.harness import usage
from benchmarks.harness.api_writes import WriteKind, read_writes
from benchmarks.harness.figures import Figure
from benchmarks.harness.metering import MeteredSpan
from benchmarks.scale.system import ScaleSystem

_OURS = frozenset({"taskruns", "taskruns/status", "workflows", "workflows/status", "events"})
_KIB = 1024
_WORDS = {"kube-apiserver": "API server", "kube-controller-manager": "controllers", "etcd": "etcd"}
_NAMES = ("leader", "standby", "triggerer-a", "triggerer-b", "kube-apiserver", "kube-controller-manager", "etcd")
_WITHOUT_SLOPE = ("triggerer-a", "triggerer-b")


async def memory(on: ScaleSystem) -> dict[str, float]:
    """PSS in bytes by name, of children too, without the operators' CEL processes, which do not grow."""
    leader = await on.leader()
    pids = dict(on.plane.servers) | {name: process.pid for name, process in on.triggerers.items()}
    for name, process in on.operators.items():
        pids["leader" if name == leader.name else "standby"] = process.pid
    return {name: usage.own_pss(pid) for name, pid in pids.items()}


async def at_rest(on: ScaleSystem, empty: Mapping[str, float]) -> list[Figure]:
    """Over some time. `empty`: the memory before any of the waits."""
    leader = await on.leader()
    before, span = await _written(on), MeteredSpan.begin(on)
    await asyncio.sleep(on.sizes.rest)
    cpu, seconds = span.cpu(), time.monotonic() - span.began
    writes = await _written(on) - before
    cpu = {"leader" if name == leader.name else name: used for name, used in cpu.items()}
    cpu = {"standby" if name in on.operators else name: used for name, used in cpu.items()}
    held = await memory(on)
    return [
        *(_used(name, 1000 * cpu[name] / seconds, cpu["foreign"] / seconds) for name in _NAMES),
        *(_held(name, held[name], empty[name], on.sizes.all_waits) for name in _NAMES),
        *(_empty(name, empty[name]) for name in _NAMES),
        Figure(
            name="rest_writes",
            what=f"writes of TaskRuns, Workflows and Events within {seconds:.0f} s at rest",
            value=sum(writes.values()),
            unit="writes",
            aside=", ".join(f"{kind} {count}" for kind, count in writes.items()),
        ),
    ]


async def _written(on: ScaleSystem) -> Counter[WriteKind]:
    writes = await read_writes(on.plane.api)
    return Counter({kind: count for kind, count in writes.items() if kind.resource in _OURS})


def _used(name: str, value: float, foreign: float) -> Figure:
    aside = f"other processes used {foreign:.1f} cores" if name == _NAMES[0] else ""
    return Figure(name=f"rest_{name}", what=f"CPU at rest, {_shown(name)}", value=value, unit="ms/s", aside=aside)


def _empty(name: str, value: float) -> Figure:
    return Figure(
        name=f"empty_{name}", what=f"the same without waits, {_shown(name)}", value=value / _KIB**2, unit="MiB"
    )


def _held(name: str, value: float, empty: float, count: int) -> Figure:
    slope = f"{(value - empty) / count / _KIB:.2f} KiB more for each TaskRun" if name not in _WITHOUT_SLOPE else ""
    return Figure(
        name=f"pss_{name}",
        what=f"memory at rest (PSS), {_shown(name)}",
        value=value / _KIB**2,
        unit="MiB",
        aside=slope,
    )


def _shown(name: str) -> str:
    return _WORDS.get(name, f"operator, {name}" if name in {"leader", "standby"} else name)
