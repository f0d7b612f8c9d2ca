"""How soon the triggers of a replica that was killed run in the other."""

import asyncio
import signal
import time
from collections.abc import Sequence

from benchmarks.triggerer import environment
from benchmarks.triggerer.environment import Environment
from benchmarks.triggerer.figures import Figure
from benchmarks.triggerer.replica import Replica, replicas

_LIMIT = 120.0
_LOOK = 0.1


async def failover(on: Environment) -> list[Figure]:
    """Two replicas, and kill -9 of the one that runs more."""
    count = on.sizes.few
    await on.waits.add(environment.sleeping(count))
    async with replicas(on.plane) as each:
        both = await each.start(), await each.start()
        held = await divided(both, count)
        await asyncio.gather(*(one.settled() for one in both))
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


async def divided(both: Sequence[Replica], count: int) -> list[int]:
    """Return once each has its share; how many that is."""
    async with asyncio.timeout(_LIMIT):
        while True:
            held = [await one.running() for one in both]
            if sum(held) == count and all(held):
                return held
            await asyncio.sleep(_LOOK)
