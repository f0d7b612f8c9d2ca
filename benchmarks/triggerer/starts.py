"""The time from the start of the process until all waits run, their memory and lists, and the cost of idle waits."""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.harness.figures import Figure
from benchmarks.harness.usage import ProcessUsage
from benchmarks.triggerer import waits
from benchmarks.triggerer.replicas import open_replicas
from benchmarks.triggerer.waits import TriggererBench, WaitSpec

_MINUTE = 60.0
_ONE_PAGE = 400
"""Waits of which a list is one request: the API server counts requests."""
_SETTLE = 5.0
"""Seconds after which both replicas know each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    count: int
    seconds: float
    usage: ProcessUsage


async def tasks(on: TriggererBench) -> list[Figure]:
    """Triggers that have a task each."""
    few, many = await _both(on, waits.sleeping)
    return [
        *_seconds(few, goal="5 s"),
        *_seconds(many, goal="15 s"),
        *_memory("trigger", few, many, goal="4 KiB"),
        *(
            Figure(
                name=f"pss_{start.count}",
                what=f"PSS of all its processes, running {start.count:,} triggers",
                value=start.usage.pss / 1024,
                unit="MiB",
            )
            for start in (few, many)
        ),
    ]


async def timers(on: TriggererBench) -> list[Figure]:
    """Waits for a moment, which have none."""
    few, many = await _both(on, lambda count: waits.timers(waits.far(count)))
    return [
        *_seconds(few, kind="timers"),
        *_seconds(many, kind="timers"),
        *_memory("timer", few, many, goal="1 KiB"),
    ]


async def polls(on: TriggererBench) -> list[Figure]:
    """Triggers that have a task only while they poll."""
    few, many = await _both(on, waits.polling)
    return _memory("polling trigger", few, many, goal="2 KiB")


async def lists(on: TriggererBench) -> list[Figure]:
    """How often two replicas that start at once list the TaskRuns."""
    await on.waits.add(waits.sleeping(_ONE_PAGE))
    async with open_replicas(on.plane) as each:
        before = await waits.count_lists(on.plane)
        both = [await each.start(), await each.start()]
        for replica in both:
            await replica.member()
        await asyncio.sleep(_SETTLE)
        for replica in both:
            await replica.settled()
        count = await waits.count_lists(on.plane) - before
    await on.waits.clear()
    return [Figure(name="lists", what="lists of TaskRuns, two replicas that start at once", value=count, unit="lists")]


async def idle(on: TriggererBench) -> list[Figure]:
    """What so many triggers that do nothing cost."""
    await on.waits.add(waits.sleeping(on.sizes.few))
    async with open_replicas(on.plane) as each:
        replica = await each.start()
        await replica.runs(on.sizes.few)
        await replica.settled()
        before = replica.cpu()
        await asyncio.sleep(on.sizes.idle)
        spent = replica.cpu() - before
    await on.waits.clear()
    return [
        Figure(
            name=f"idle_cpu_{on.sizes.few}",
            what=f"idle with {on.sizes.few:,} triggers, processor time a minute",
            value=spent * _MINUTE / on.sizes.idle,
            unit="s",
            goal="1 s",
        )
    ]


async def _both(on: TriggererBench, specs: Callable[[int], Sequence[WaitSpec]]) -> tuple[_Start, _Start]:
    few = await _start(on, specs(on.sizes.few))
    many = await _start(on, specs(on.sizes.many - on.sizes.few))
    await on.waits.clear()
    return few, many


async def _start(on: TriggererBench, more: Sequence[WaitSpec]) -> _Start:
    await on.waits.add(more)
    count = len(on.waits.names)
    async with open_replicas(on.plane) as each:
        began = time.monotonic()
        replica = await each.start()
        all_run = await replica.runs(count)
        await replica.settled()
        used = replica.usage()
        await replica.end(signal.SIGTERM)
    return _Start(count=count, seconds=all_run - began, usage=used)


def _seconds(start: _Start, *, kind: str = "triggers", goal: str = "") -> list[Figure]:
    return [
        Figure(
            name=f"start_{kind}_{start.count}",
            what=f"process start to {start.count:,} {kind} running",
            value=start.seconds,
            unit="s",
            goal=goal,
            aside=f"{start.usage.cpu:.1f} s of processor time with what followed",
        )
    ]


def _memory(kind: str, few: _Start, many: _Start, *, goal: str) -> list[Figure]:
    slope = (many.usage.rss - few.usage.rss) / (many.count - few.count)
    return [
        Figure(
            name=f"rss_slope_{kind.replace(' ', '_')}",
            what=f"RSS a {kind}, slope from {few.count:,} to {many.count:,}",
            value=slope,
            unit="KiB",
            goal=goal,
            aside=f"{few.usage.rss / 1024:.0f} and {many.usage.rss / 1024:.0f} MiB",
        )
    ]
