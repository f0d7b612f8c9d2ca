"""Twenty thousand waits with many duplicates: the memory of two replicas, and how many polls they save."""

import asyncio
import tempfile
from pathlib import Path

from torpor_kubernetes.client.resources import PODS

from benchmarks.triggerer import classes, environment
from benchmarks.triggerer.environment import Environment
from benchmarks.triggerer.figures import Figure
from benchmarks.triggerer.moves import divided
from benchmarks.triggerer.plane import NAMESPACE
from benchmarks.triggerer.replica import replicas

_DUPLICATES = 0.4
_EVERY = 10.0
_WINDOW = 20.0


async def shared(on: Environment) -> list[Figure]:
    """Pokes are counted by the class itself."""
    count, distinct = on.sizes.many, round(on.sizes.many * (1 - _DUPLICATES))
    await on.waits.add(environment.counting(count, distinct, every=_EVERY))
    with tempfile.TemporaryDirectory(prefix="torpor-bench-") as folder:
        async with replicas(on.plane) as each:
            both = [await each.start(**{classes.LOOKS: folder}) for _ in range(2)]
            await divided(both, count)
            await asyncio.sleep(_EVERY)
            before = classes.looks(Path(folder))
            await asyncio.sleep(_WINDOW)
            looks = classes.looks(Path(folder)) - before
            used = [one.usage() for one in both]
        pods = len((await on.plane.api.list(PODS, NAMESPACE)).items)
    await on.waits.clear()
    alone = count * _WINDOW / _EVERY
    what = f"{count:,} waits, {_DUPLICATES:.0%} of them duplicates, 2 replicas"
    rss = " and ".join(f"{one.rss / 1024:.0f}" for one in used)
    return [
        Figure(
            name="shared_memory",
            what=f"{what}: PSS of both",
            value=sum(one.pss for one in used) / 1024,
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
