"""Trigger classes of the e2e tests: one that works, and four that do not. They run in a triggerer of a pool apart."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from torpor.triggers import BaseTrigger, TriggerEvent


class Works(BaseTrigger):
    def __init__(self, word: str) -> None:
        self.word = word

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        return "works", {"word": self.word}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent({"said": self.word})


class Ends(BaseTrigger):
    events: tuple[TriggerEvent, ...] = ()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        for event in self.events:
            yield event


class Raises(Ends):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        for event in self.events:
            yield event
        raise ConnectionError("the tide table is not there")


class TooLarge(BaseTrigger):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent("x" * 2_000_000)


class NotJson(BaseTrigger):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent({"made", "of", "sets"})
