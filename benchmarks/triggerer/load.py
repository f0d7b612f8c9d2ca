"""Failover, waits that are shared, a trigger that blocks, and waits that come and go."""

import asyncio
import itertools
import signal
import tempfile
import time
from pathlib import Path

from torpor_kubernetes.client.resources import PODS

from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure, quantile
from benchmarks.triggerer import classes, waits
from benchmarks.triggerer.observer import observing
from benchmarks.triggerer.replicas import divided, open_replicas
from benchmarks.triggerer.waits import TriggererBench, WaitSpec

_RATE = 10.0
_BLOCK_AHEAD = 4.0
_BETWEEN = 1.0
_MARGIN = 10.0
"""By then what the first block has held up is over."""
_FIRED, _DELETED = 500, 100
_CHURN_AHEAD = 0.5
_WARM = 0.3
"""The share of the time after which caches and heaps are as large as the load makes them."""
_DUPLICATES = 0.4
_EVERY = 10.0
_WINDOW = 20.0


async def failover(on: TriggererBench) -> list[Figure]:
    """Two replicas, and kill -9 of the one that runs more."""
    count = on.sizes.few
    await on.waits.add(waits.sleeping(count))
    async with open_replicas(on.plane) as each:
        both = await each.start(), await each.start()
        held = await divided(both, count)
        await asyncio.gather(*(replica.settled() for replica in both))
        killed, other = both if held[0] >= held[1] else both[::-1]
        began = time.monotonic()
        await killed.end(signal.SIGKILL)
        seconds = await other.runs(count) - began
    await on.waits.clear()
    return [
        Figure(
            name=f"failover_{count}",
            what=f"kill -9 of one of two, until the other runs all {count:,}",
            value=seconds,
            unit="s",
            goal="20 s",
            aside=f"{max(held):,} had to move",
        )
    ]


async def blocked(on: TriggererBench) -> list[Figure]:
    """One that blocks for long, twice; healthy ones are due ten times a second all the while."""
    seconds = on.sizes.block
    async with open_replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start("--trigger", "blocks=tests.integration.triggerer.blocks:Blocks")
        await replica.member()
        begin = time.time() + _BLOCK_AHEAD
        specs = waits.timers(list(waits.evenly(begin, _RATE, 2 * (seconds + _BETWEEN))))
        due = waits.due(specs, await on.waits.add(specs, live=True))
        await asyncio.sleep(begin - time.time())
        kwargs = {"seconds": seconds, "every": _BETWEEN, "name": "bench"}
        await on.waits.add([WaitSpec(class_name="blocks", kwargs=kwargs)], live=True)
        await observer.reach(len(due))
        late = list(zip(due.values(), observer.late(due), strict=True))
    await on.waits.clear()
    first = [by for at, by in late if at < begin + seconds]
    second = [by for at, by in late if at >= begin + seconds + _MARGIN]
    return [
        _late("blocked_first", f"healthy waits while another blocks for {seconds:.0f} s, the first time", first),
        _late("blocked_again", "the same when it blocks again", second),
    ]


def _late(name: str, what: str, late: list[float]) -> Figure:
    return Figure(
        name=name,
        what=f"{what}: late at most",
        value=max(late),
        unit="s",
        aside=f"p50 {quantile(late, 0.5):.3f} s, p99 {quantile(late, 0.99):.3f} s",
    )


async def churn(on: TriggererBench) -> list[Figure]:
    """Five of six fire, the sixth is deleted while it waits."""
    held: list[tuple[float, int, float]] = []
    async with open_replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start()
        await replica.member()
        began = time.monotonic()
        for fired in itertools.count(_FIRED, _FIRED):
            moment = time.time() + _CHURN_AHEAD
            taskruns = await on.waits.add(
                [*waits.timers(waits.at_once(moment, _FIRED)), *waits.sleeping(_DELETED)], live=True
            )
            await observer.reach(fired)
            await on.waits.remove(list(taskruns), live=True)
            held.append((time.monotonic() - began, len(held) + 1, replica.usage().rss))
            if held[-1][0] >= on.sizes.churn:
                break
    await on.waits.clear()
    warm, end = next(each for each in held if each[0] >= _WARM * on.sizes.churn), held[-1]
    count = end[1] * (_FIRED + _DELETED)
    return [
        Figure(
            name="churn_growth",
            what=f"{count:,} waits made, fired and deleted: RSS grown after the first {_WARM:.0%} of them",
            value=end[2] - warm[2],
            unit="KiB",
            goal="none",
            aside=f"{count / end[0]:.0f} waits a second; {warm[2] / 1024:.1f} and {end[2] / 1024:.1f} MiB",
        )
    ]


async def shared(on: TriggererBench) -> list[Figure]:
    """Pokes are counted by the class itself."""
    count, distinct = on.sizes.many, round(on.sizes.many * (1 - _DUPLICATES))
    await on.waits.add(waits.counting(count, distinct, every=_EVERY))
    with tempfile.TemporaryDirectory(prefix="torpor-bench-") as folder:
        async with open_replicas(on.plane) as each:
            both = [await each.start(**{classes.LOOKS: folder}) for _ in range(2)]
            await divided(both, count)
            await asyncio.sleep(_EVERY)
            before = classes.looks(Path(folder))
            await asyncio.sleep(_WINDOW)
            looks = classes.looks(Path(folder)) - before
            used = [replica.usage() for replica in both]
        pods = len((await on.plane.api.list(PODS, NAMESPACE)).items)
    await on.waits.clear()
    alone = count * _WINDOW / _EVERY
    what = f"{count:,} waits, {_DUPLICATES:.0%} of them duplicates, 2 replicas"
    rss = " and ".join(f"{each.rss / 1024:.0f}" for each in used)
    return [
        Figure(
            name="shared_memory",
            what=f"{what}: PSS of both",
            value=sum(each.pss for each in used) / 1024,
            unit="MiB",
            aside=f"RSS {rss} MiB; {pods} task pods",
        ),
        Figure(
            name="pokes_saved",
            what=f"{what}: pokes spared",
            value=100 * (1 - looks / alone),
            unit="%",
            aside=f"{looks / _WINDOW:,.0f} a second in place of {alone / _WINDOW:,.0f}",
        ),
    ]
