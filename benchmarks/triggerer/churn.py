"""Whether memory grows while waits come, fire and go as fast as they can: a day's worth in minutes."""

import itertools
import time

from benchmarks.triggerer import environment
from benchmarks.triggerer.environment import Environment
from benchmarks.triggerer.figures import Figure
from benchmarks.triggerer.observer import observing
from benchmarks.triggerer.replica import replicas

_FIRED, _DELETED = 500, 100
_AHEAD = 0.5
_WARM = 0.3
"""The share of the time after which caches and heaps are as large as the load makes them."""


async def churn(on: Environment) -> list[Figure]:
    """Five of six fire, the sixth is deleted while it waits."""
    held: list[tuple[float, int, float]] = []
    async with replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start()
        await replica.member()
        began = time.monotonic()
        for fired in itertools.count(_FIRED, _FIRED):
            moment = time.time() + _AHEAD
            made = await on.waits.add(
                [*environment.timers(environment.at_once(moment, _FIRED)), *environment.sleeping(_DELETED)], live=True
            )
            await observer.reach(fired)
            await on.waits.remove(list(made), live=True)
            held.append((time.monotonic() - began, len(held) + 1, replica.usage().rss))
            if held[-1][0] >= on.sizes.churn:
                break
    await on.waits.clear()
    warm, end = next(one for one in held if one[0] >= _WARM * on.sizes.churn), held[-1]
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
