"""How late healthy waits are while a trigger of another's blocks the loop, the first time and once it is known."""

import asyncio
import time

from benchmarks.triggerer import environment
from benchmarks.triggerer.environment import Environment
from benchmarks.triggerer.figures import Figure, quantile
from benchmarks.triggerer.observer import observing
from benchmarks.triggerer.replica import replicas
from benchmarks.triggerer.waits import WaitSpec

_RATE = 10.0
_AHEAD = 4.0
_BETWEEN = 1.0
_MARGIN = 10.0
"""By then what the first block has held up is over."""


async def blocked(on: Environment) -> list[Figure]:
    """One that blocks for long, twice; healthy ones are due ten times a second all the while."""
    seconds = on.sizes.block
    async with replicas(on.plane) as each, observing(on.plane) as observer:
        replica = await each.start("--trigger", "blocks=tests.integration.triggerer.blocks:Blocks")
        await replica.member()
        begin = time.time() + _AHEAD
        asked = environment.timers(list(environment.evenly(begin, _RATE, 2 * (seconds + _BETWEEN))))
        due = environment.due(asked, await on.waits.add(asked, live=True))
        await asyncio.sleep(begin - time.time())
        kwargs = {"seconds": seconds, "every": _BETWEEN, "name": "bench"}
        await on.waits.add([WaitSpec(class_name="blocks", kwargs=kwargs)], live=True)
        await observer.reach(len(due))
        late = list(zip(due.values(), observer.late(due), strict=True))
    await on.waits.clear()
    first = [by for at, by in late if at < begin + seconds]
    second = [by for at, by in late if at >= begin + seconds + _MARGIN]
    return [
        _figure("blocked_first", f"healthy waits while another blocks for {seconds:.0f} s, the first time", first),
        _figure("blocked_again", "the same when it blocks again", second),
    ]


def _figure(name: str, what: str, late: list[float]) -> Figure:
    return Figure(
        name=name,
        what=f"{what}: late at most",
        value=max(late),
        unit="s",
        aside=f"p50 {quantile(late, 0.5):.3f} s, p99 {quantile(late, 0.99):.3f} s",
    )
