"""The trigger classes that the bench registers with the triggerers it starts."""

import asyncio
import atexit
import itertools
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

from torpor.triggers import BaseTrigger, TriggerEvent

LOOKS = "TORPOR_BENCH_LOOKS"
"""The environment variable that names the folder in which each process leaves how often `Counts` has looked."""

_looks = itertools.count()


class Sleeps(BaseTrigger):
    """One task that sleeps: the least that a trigger with a `run` can be."""

    def __init__(self, number: int) -> None:
        self.number = number

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Never."""
        await asyncio.sleep(1e6)
        yield TriggerEvent()


class Counts(BaseTrigger):
    """Looks again and again, as a poke does, and finds nothing."""

    def __init__(self, number: int, every: float = 10.0) -> None:
        self.number = number
        self.every = every

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Never."""
        while not self.last_look:
            next(_looks)
            await self.services.sleep(self.every)
        yield TriggerEvent()


class Blocks(BaseTrigger):
    """Holds the loop that it runs in, as a library does that was not made for it."""

    def __init__(self, seconds: float, number: int = 0) -> None:
        self.seconds = seconds
        self.number = number

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire after it."""
        time.sleep(self.seconds)  # noqa: ASYNC251 - what is measured
        yield TriggerEvent()


def _leave() -> None:
    folder = os.environ.get(LOOKS)
    if folder:
        (Path(folder) / str(os.getpid())).write_text(str(next(_looks)))


atexit.register(_leave)
