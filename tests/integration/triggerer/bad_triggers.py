"""Trigger classes that a triggerer is started with by tests: they misbehave, each in one way."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from torpor.triggers import BaseTrigger, TriggerEvent


class Raises(BaseTrigger):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        raise LookupError("no such row")
        yield TriggerEvent()  # type: ignore[unreachable]


class Ends(BaseTrigger):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        if self.last_look:
            yield TriggerEvent()


class TooMuch(BaseTrigger):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent("x" * 2 * 1024 * 1024)


class Killed(BaseTrigger):
    """Notes in files when it is killed, and when it is cleaned up."""

    def __init__(self, note: str) -> None:
        self.note = note

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(1e6)
        yield TriggerEvent()

    async def on_kill(self) -> None:
        Path(self.note).write_text("killed")  # noqa: ASYNC240 - one word

    async def cleanup(self) -> None:
        with Path(f"{self.note}.cleanup").open("a") as file:  # noqa: ASYNC230 - one word
            file.write("cleaned up\n")


class Appears(BaseTrigger):
    """Fires when a file is there, and says which process saw it."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while not Path(self.path).exists():  # noqa: ASYNC110, ASYNC240 - a local file
            await asyncio.sleep(0.05)
        yield TriggerEvent(os.getpid())


class Shows(BaseTrigger):
    """Shows what it was given wherever it can, once a file is there."""

    def __init__(self, given: Any, then: str, path: str) -> None:
        self.given = given
        self.then = then
        self.path = path

    async def run(self) -> AsyncIterator[TriggerEvent]:
        logging.getLogger("a.library").info("given %s, %r, %s", self.given, self.given, json.dumps(self.given))
        self.last_look = f"not yet {json.dumps(self.given)}"
        while not Path(self.path).exists():  # noqa: ASYNC240 - a local file
            await self.services.sleep(0.2)
        if self.then == "raises":
            raise LookupError(f"no good: {self.given}")
        yield TriggerEvent({"echo": self.given})


class Foreign:
    """As Airflow's: no base class of ours, no `bind`, nothing lent."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "pkg.Foreign", {"seconds": self.seconds}

    async def run(self) -> AsyncIterator[Any]:
        await asyncio.sleep(self.seconds)
        yield TriggerEvent({"slept": self.seconds})
