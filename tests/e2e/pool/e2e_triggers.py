"""Trigger classes of the e2e tests: two that work, and four that do not. They run in a triggerer of a pool apart."""

import hashlib
import logging
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


class Measures(BaseTrigger):
    """Gives the hash of its word in the event, and the word itself in the log and the event."""

    def __init__(self, word: str) -> None:
        self.word = word

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        return "measures", {"encrypted__word": self.word}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        logging.getLogger(__name__).info("the word is %s", self.word)
        yield TriggerEvent({"said": self.word, "sha256": hashlib.sha256(self.word.encode()).hexdigest()})


class EmitsEvents(BaseTrigger):
    events: tuple[TriggerEvent, ...] = ()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        for event in self.events:
            yield event


class RaisesAfterEvents(EmitsEvents):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        for event in self.events:
            yield event
        raise ConnectionError("the tide table is not there")


class LargeEvent(BaseTrigger):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent("x" * 2_000_000)


class NotJson(BaseTrigger):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent({"made of": object()})
