"""Failovers with all waits in etcd: of the leading operator, and of a triggerer."""

import signal
import time
from dataclasses import replace

from benchmarks.harness.figures import Figure
from benchmarks.harness.metering import MeteredSpan
from benchmarks.harness.processes import ChildProcess
from benchmarks.harness.runs import WatchedRuns
from benchmarks.harness.usage import Peaks, peaks
from benchmarks.harness.waiting import until
from benchmarks.scale.system import ScaleSystem, start_operators
from benchmarks.workflow.small_runs import watch_small_runs

_LIMIT = 300.0
_LOOK = 0.05
_SERVERS = {"kube-apiserver": "API server", "etcd": "etcd"}
_MEMORY = "peak memory (RSS, with child processes)"


_EVERYTHING = str(10**9)


async def both(on: ScaleSystem, runs: WatchedRuns, way: str) -> list[Figure]:
    """The failover of operators that list everything again (`lists`), or read only what has changed (`changes`)."""
    await on.end_operators()
    on.flags = ("--relist-limit", _EVERYTHING if way == "lists" else "0")
    await start_operators(on)
    await on.calm()
    return [replace(figure, name=f"{way}_{figure.name}") for figure in await operator(on, runs, f"after-{way}")]


async def operator(on: ScaleSystem, runs: WatchedRuns, new: str = "after-failover") -> list[Figure]:
    """SIGKILL of the leader and a new Workflow of this name; then a new process in its place."""
    killed = await on.leader()
    (other,) = [operator for operator in on.operators.values() if operator is not killed]
    async with watch_small_runs(runs) as small, peaks({**on.plane.servers, other.name: other.pid}) as highest:
        _sample(on, other, signal.SIGUSR1)
        began = time.monotonic()
        await on.end_operator(killed.name, signal.SIGKILL)
        await small.start(new)
        await on.leader(without=killed.name)
        led, span = time.monotonic(), MeteredSpan.begin(on)
        await until(lambda: new in small.started, _LIMIT, every=_LOOK)
        started = small.started[new]
        to_pod = span.cpu()
        await on.calm()
        cpu = span.cpu()
        _sample(on, other, signal.SIGUSR2)
    await runs.end(new)
    what = "after the Lease, until its caches are up to date and the pod of a new Workflow exists"
    return [
        Figure(
            name="failover", what="SIGKILL of the leader to the pod of a new Workflow", value=started - began, unit="s"
        ),
        Figure(name="failover_lease", what="the same until the other has the Lease", value=led - began, unit="s"),
        Figure(
            name="failover_list",
            what=what,
            value=started - led,
            unit="s",
            aside=f"other processes used {to_pod['foreign'] / (started - led):.1f} cores",
        ),
        *_cpu("failover", "failover", {other.name: "the operator", **_SERVERS}, to_pod, cpu),
        *_peaks("failover", "failover", {other.name: "operator", **_SERVERS}, highest),
        *await _replaced(on, killed.name),
    ]


async def _replaced(on: ScaleSystem, identity: str) -> list[Figure]:
    """A new process lists all objects, and is the standby."""
    span = MeteredSpan.begin(on)
    operator = await on.start_operator(identity)
    async with peaks({**on.plane.servers, identity: operator.pid}) as highest:
        await until(operator.healthy, _LIMIT)
        await on.calm()
    now = on.cpu()
    cpu = {name: now[name] - span.before[name] for name in _SERVERS}
    cpu[identity] = now[identity]
    return [
        *_cpu("start", "start of a standby", {identity: "the operator", **_SERVERS}, cpu, cpu),
        *_peaks("start", "start of a standby", {identity: "operator", **_SERVERS}, highest),
    ]


def _sample(on: ScaleSystem, process: ChildProcess, sign: signal.Signals) -> None:
    """Begin or end the samples of its stack."""
    if on.profile:
        process.send(sign)


async def triggerer(on: ScaleSystem) -> list[Figure]:
    """SIGKILL of one of two, until the other runs all waits."""
    count = await on.running_triggers()
    name, killed = next(iter(on.triggerers.items()))
    ((other_name, other),) = [each for each in on.triggerers.items() if each[0] != name]
    moved = await killed.running()
    before, span = other.usage(), MeteredSpan.begin(on)
    async with peaks({other_name: other.pid, **on.plane.servers}) as highest:
        await killed.end(signal.SIGKILL)
        del on.triggerers[name]
        seconds = await other.runs(count) - span.began
        await on.calm()
    after = other.usage()
    server = on.cpu()["kube-apiserver"] - span.before["kube-apiserver"]
    return [
        Figure(
            name="triggerer_failover",
            what=f"SIGKILL of one of two triggerers, until the other runs all {count:,} waits",
            value=seconds,
            unit="s",
            aside=f"{moved:,} moved; CPU {after.cpu - before.cpu:.1f} s, of the API server {server:.1f} s",
        ),
        Figure(
            name="triggerer_memory",
            what=f"peak memory (RSS) of the triggerer that runs {count:,} timers",
            value=highest.mib()[other_name],
            unit="MiB",
            aside=f"{after.rss / 1024:.0f} MiB afterwards, {before.rss / 1024:.0f} MiB with its share before",
        ),
    ]


def _cpu(name: str, what: str, shown: dict[str, str], first: dict[str, float], whole: dict[str, float]) -> list[Figure]:
    return [
        Figure(
            name=f"{name}_cpu_{_word(each)}",
            what=f"{what}: CPU of {words}",
            value=whole[each],
            unit="s",
            aside=f"{first[each]:.1f} s until the pod" if first is not whole else "",
        )
        for each, words in shown.items()
    ]


def _peaks(name: str, what: str, shown: dict[str, str], highest: Peaks) -> list[Figure]:
    mib = highest.mib()
    return [
        Figure(name=f"{name}_peak_{_word(each)}", what=f"{what}: {_MEMORY}, {words}", value=mib[each], unit="MiB")
        for each, words in shown.items()
    ]


def _word(name: str) -> str:
    return "operator" if name.startswith("operator") else name
