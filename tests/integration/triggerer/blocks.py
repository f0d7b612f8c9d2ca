"""Trigger classes that keep the loop they run in, each in one way; also for the bench."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from torpor.triggers import BaseTrigger, TriggerEvent


class Blocks(BaseTrigger):
    """Sleeps as a program does that knows nothing of loops, again and again, `every` so many seconds."""

    shareable = False

    def __init__(self, seconds: float, every: float = 1.0, name: str = "", until: str = "") -> None:
        self.seconds = seconds
        self.every = every
        self.name = name
        self.until = until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        given = {"seconds": self.seconds, "every": self.every, "name": self.name, "until": self.until}
        return "blocks", given

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while not (self.until and Path(self.until).exists()):  # noqa: ASYNC240 - a local file
            time.sleep(self.seconds)  # noqa: ASYNC251 - that is the point
            await asyncio.sleep(self.every)
        yield TriggerEvent("fired")


class Spins(Blocks):
    """Computes instead."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while not (self.until and Path(self.until).exists()):  # noqa: ASYNC240 - a local file
            end = time.monotonic() + self.seconds
            while time.monotonic() < end:
                pass
            await asyncio.sleep(self.every)
        yield TriggerEvent("fired")
