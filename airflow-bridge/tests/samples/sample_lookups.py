"""Trigger classes that look up connections and variables, for tests."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk import BaseHook, Connection, Variable
from airflow.triggers.base import BaseTrigger, TriggerEvent
from sample_backend import SECONDS_MAX, WaitingBackend

log = logging.getLogger(__name__)


class LookupTrigger(BaseTrigger):
    """Looks up a connection on the event loop, as much code of providers does, and shows what it must not show."""

    def __init__(self, conn_id: str = "web", variable: str = "") -> None:
        super().__init__()
        self.conn_id = conn_id
        self.variable = variable

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "sample_lookups.LookupTrigger", {"conn_id": self.conn_id, "variable": self.variable}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            connection = await self.connection()
            text = Variable.get(self.variable) if self.variable else ""
        except Exception as error:  # noqa: BLE001 - as triggers of providers do
            yield TriggerEvent({"status": "error", "message": f"{type(error).__name__}: {error}"})
            return
        log.info("the password is %s", connection.password)
        yield TriggerEvent({"host": connection.host, "password": connection.password, "text": text})

    async def connection(self) -> Any:
        return Connection.get(self.conn_id)


class AwaitingLookupTrigger(LookupTrigger):
    """Awaits the connection."""

    async def connection(self) -> Any:
        return await BaseHook.aget_connection(self.conn_id)


class GroupedLookupTrigger(LookupTrigger):
    """Looks up the connection in a group of tasks."""

    async def connection(self) -> Any:
        async def look_up() -> Any:
            return Connection.get(self.conn_id)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(look_up())
        return task.result()


class ConstructedLookupTrigger(LookupTrigger):
    """Looks up the connection in its constructor."""

    def __init__(self, conn_id: str = "web") -> None:
        super().__init__(conn_id)
        self.found = Connection.get(conn_id)


class ManyLookupsTrigger(LookupTrigger):
    """Looks up more connections than a wait may."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        for number in range(1_000):
            Connection.get(f"web_{number}")
        yield TriggerEvent("done")


class ReleasingTrigger(LookupTrigger):
    """Lets the waiting backend answer, once another wait has asked it."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        assert await asyncio.to_thread(WaitingBackend.entered.wait, SECONDS_MAX)
        WaitingBackend.released.set()
        yield TriggerEvent("released")
