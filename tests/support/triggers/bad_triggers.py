"""Triggers that misbehave, each in the one way that its kwarg `does` says."""

import asyncio
import copy
import json
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from torpor import TaskSkipped
from torpor.triggers import BaseTrigger, TaskFailedEvent, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent
from torpor.triggers.services import Services

Log = list[tuple[str, str]]
spoken = logging.getLogger("a.library")


class AirflowsEvent:
    """As Airflow's events that end a task: the payload is only the state's name."""

    def __init__(self, state: str, xcoms: dict[str, Any] | None = None) -> None:
        self.payload = state
        self.xcoms = xcoms


class AirflowSkipException(Exception):  # noqa: N818 - Airflow's name
    """As Airflow's, by its name."""


def airflows(name: str, state: str, xcoms: dict[str, Any] | None = None) -> Any:
    return type(name, (AirflowsEvent,), {})(state, xcoms)


RAISED: dict[str, BaseException] = {
    "says much and raises": LookupError("no such row"),
    "raises": LookupError("no such row"),
    "raises when it is cancelled": LookupError("its connection cannot be closed"),
    "raises and cleans up slowly": LookupError("no such row"),
    "exits": SystemExit(3),
    "cancels itself": asyncio.CancelledError(),
    "raises a skip": TaskSkipped("no file today"),
    "raises Airflow's skip": AirflowSkipException("no file today"),
}
YIELDED: dict[str, Any] = {
    "cleans up slowly": TriggerEvent(1),
    "fires": TriggerEvent({"b": 1, "a": 1.0, "none": None}),
    "fires when it is cancelled": TriggerEvent("late"),
    "fires in a minute": TriggerEvent("now"),
    "yields 3 kB": TriggerEvent("x" * 3 * 1024),
    "yields 16 kB": TriggerEvent({"rows": ("x" * 8 * 1024, "y" * 8 * 1024), "at": datetime(2026, 1, 1, tzinfo=UTC)}),
    "yields 5 kB": TriggerEvent("x" * 5 * 1024),
    "yields 2 MB": TriggerEvent("x" * 2 * 1024 * 1024),
    "yields an error of 1 MB": TriggerEvent({"status": "error", "message": "x" * 1024 * 1024}),
    "yields an object": TriggerEvent(object()),
    "yields no event": {"payload": 1},
    "ends well": TaskSuccessEvent({"rows": 3}),
    "ends well with values of many types": TaskSuccessEvent(
        {"at": datetime(2026, 1, 1, tzinfo=UTC), "seen": {"b", "a"}}
    ),
    "ends well with 16 kB": TaskSuccessEvent({"rows": ["x" * 16 * 1024]}),
    "ends failed": TaskFailedEvent("the job was killed"),
    "ends skipped": TaskSkippedEvent("no file today"),
    "ends skipped by 2 MB": TaskSkippedEvent("x" * 2 * 1024 * 1024),
    "ends well as Airflow": airflows("TaskSuccessEvent", "success", {"return_value": {"rows": 3}, "other": 1}),
    "ends well as Airflow, with several xcoms": airflows("TaskSuccessEvent", "success", {"rows": 3, "other": 1}),
    "ends well as Airflow, without xcoms": airflows("TaskSuccessEvent", "success"),
    "ends failed as Airflow": airflows("TaskFailedEvent", "failed"),
    "ends skipped as Airflow": airflows("TaskSkippedEvent", "skipped"),
    "yields a moment": TriggerEvent({"at": datetime(2026, 1, 1, tzinfo=UTC)}),
    "yields values of many types": TriggerEvent({"rows": (1, 2), "sum": Decimal("1.10"), "seen": {"b", "a"}}),
    "yields data that looks like a type": TriggerEvent({"__type": "set", "__var": [1]}),
}


class Odd(BaseTrigger):
    """Does as its one kwarg says, and notes what is called."""

    def __init__(self, log: Log, does: str = "waits", name: str = "", **given: Any) -> None:
        self.given = given
        self._log = log
        self._does = does
        self._name = name
        self.shareable = does != "is its own"
        if does == "looks absurdly seldom":
            self.interval = 10**400
        if does == "exits at once":
            raise SystemExit(3)
        if does == "refuses what it was given":
            raise ValueError(f"it is no good: {given}, {json.dumps(given)}")
        if does == "is refused":
            raise ValueError("`does` makes no sense")

    def bind(self, services: Services) -> None:
        super().bind(services)
        if self._does == "refuses when it is bound":
            raise ValueError("not here")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        self._log.append(("run", self._name))
        await self._begin()
        if self._does in {"says much and raises", "says much and ends", "says much"}:
            for number in range(30):
                spoken.info("line %d of %s %s", number, self._name, "x" * 150)
        if self._does == "looks and shows what it was given":
            self.last_look = f"it is not {self.given}: {json.dumps(self.given)}"
            await self.services.sleep(1000)
        if self._does in {"shows what it was given and fires", "shows often what it was given and fires"}:
            spoken.info("given %s", json.dumps(self.given))
            yield TriggerEvent({"echo": [self.given] * 9 if "often" in self._does else self.given})
        if self._does == "shows what it was given and raises":
            spoken.info("given %r and %s", self.given, self.given)
            raise LookupError(f"not good: {json.dumps(self.given)}")
        if self._does in RAISED:
            raise copy.copy(RAISED[self._does])
        if self._does in {"ends", "says much and ends"}:
            return
        if self._does in YIELDED:
            yield YIELDED[self._does]
            self._log.append(("asked for a second event", self._name))
        if self._does == "ignores its cancellation":
            await self._stubborn()
            return
        await self.services.sleep(1e9)

    async def _begin(self) -> None:
        if self._does == "fires in a minute":
            await self.services.sleep(60)
        if self._does == "cancels its own task":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        if self._does.endswith("when it is cancelled"):
            with suppress(asyncio.CancelledError):
                await self.services.sleep(1e9)

    async def _stubborn(self) -> None:
        while "released" not in {what for what, _ in self._log}:
            try:
                await self.services.sleep(1)
            except asyncio.CancelledError:
                self._log.append(("ignored", self._name))

    async def cleanup(self) -> None:
        self._log.append(("cleanup", self._name))
        if self._does == "fails to clean up":
            raise RuntimeError("no")
        if self._does.endswith("cleans up slowly"):
            await self.services.sleep(8)

    async def on_kill(self) -> None:
        self._log.append(("on_kill", self._name))
        if self._does == "hangs in on_kill":
            await self.services.sleep(1e9)
        if self._does == "is cancelled in on_kill":
            raise asyncio.CancelledError


class OddClock(Odd):
    """Knows its moment, so that it never runs."""

    def due(self) -> float:
        return float("nan") if self._does == "is due at no moment" else self.services.now() + 20.0

    def payload(self) -> str:
        return "now"
