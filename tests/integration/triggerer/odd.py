"""Trigger classes that a triggerer is started with by tests: they misbehave, each in one way."""

import asyncio
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
    """Notes in a file when it is killed."""

    def __init__(self, note: str) -> None:
        self.note = note

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(1e6)
        yield TriggerEvent()

    async def on_kill(self) -> None:
        Path(self.note).write_text("killed")  # noqa: ASYNC240 - one word


class Foreign:
    """As Airflow's: no base class of ours, no `bind`, nothing lent."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "pkg.Foreign", {"seconds": self.seconds}

    async def run(self) -> AsyncIterator[Any]:
        await asyncio.sleep(self.seconds)
        yield TriggerEvent({"slept": self.seconds})
