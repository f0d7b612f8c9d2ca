"""The trigger classes that the bench registers with the triggerers it starts."""

import asyncio
import mmap
import os
import struct
from collections.abc import AsyncIterator
from pathlib import Path

from torpor.triggers import BaseTrigger, TriggerEvent

LOOKS = "TORPOR_BENCH_LOOKS"
"""The environment variable for the folder in which each process counts how often `CountingTrigger` has looked."""

_COUNT = struct.Struct("q")


class SleepingTrigger(BaseTrigger):
    """One task that sleeps: the least that a trigger with a `run` can be."""

    def __init__(self, number: int) -> None:
        self.number = number

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Never."""
        await asyncio.sleep(1e6)
        yield TriggerEvent()


class PollingTrigger(BaseTrigger):
    """Polls once an hour, as a trigger without a `run` of its own does, and finds nothing."""

    interval = 3600.0

    def __init__(self, number: int) -> None:
        self.number = number

    async def poll(self) -> None:
        """Never."""


class CountingTrigger(BaseTrigger):
    """Looks again and again, as a poke does, and finds nothing."""

    shareable = True

    def __init__(self, number: int, every: float) -> None:
        self.number = number
        self.every = every

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Never."""
        while not self.last_look:
            _count()
            await self.services.sleep(self.every)
        yield TriggerEvent()


def looks(folder: Path) -> int:
    """How often all processes have looked."""
    return sum(_COUNT.unpack(file.read_bytes())[0] for file in folder.iterdir())


def _counter() -> mmap.mmap | None:
    """Memory that is a file: it can be read from outside while the loop is busy, and costs no write."""
    folder = os.environ.get(LOOKS)
    if folder is None:
        return None
    path = Path(folder) / str(os.getpid())
    path.write_bytes(_COUNT.pack(0))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), _COUNT.size)


_looks = _counter()


def _count() -> None:
    if _looks is not None:
        _COUNT.pack_into(_looks, 0, _COUNT.unpack_from(_looks)[0] + 1)
