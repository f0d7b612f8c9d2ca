"""Trigger classes that look up connections and variables, for tests."""

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
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


class AskingAgainTrigger(LookupTrigger):
    """Catches the error of each lookup, and asks again at once."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        errors = []
        for _ in range(2):
            try:
                Connection.get(self.conn_id)
            except Exception as error:  # noqa: BLE001 - as triggers of providers do
                errors.append(str(error))
        yield TriggerEvent({"equal": errors[0] == errors[1], "message": errors[0]})


class ForgivingLookupsTrigger(LookupTrigger):
    """Looks up more connections than a wait may, and catches each error."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        for number in range(1_000):
            with suppress(Exception):
                Connection.get(f"web_{number}")
        yield TriggerEvent("done")


class ExecutorLookupTrigger(LookupTrigger):
    """Looks up the connection in a thread of an executor, which has no context."""

    async def connection(self) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, Connection.get, self.conn_id)


class EarlyLookupTrigger(LookupTrigger):
    """Looks up the connection in a thread of its constructor, with the context."""

    def __init__(self, conn_id: str = "web") -> None:
        super().__init__(conn_id)
        with ThreadPoolExecutor(1) as threads:
            self.password = threads.submit(copy_context().run, Connection.get, conn_id).result().password

    async def run(self) -> AsyncIterator[TriggerEvent]:
        log.info("the password is %s", self.password)
        yield TriggerEvent({"password": self.password})


class FieldsTrigger(LookupTrigger):
    """Shows fields of the JSON of a connection and of a variable."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        extra = Connection.get(self.conn_id).extra_dejson
        settings = Variable.get(self.variable, deserialize_json=True)
        yield TriggerEvent({"extra": extra, "settings": settings})


class ReleasingTrigger(LookupTrigger):
    """Lets the waiting backend answer, once another wait has asked it."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        assert await asyncio.to_thread(WaitingBackend.entered.wait, SECONDS_MAX)
        WaitingBackend.released.set()
        yield TriggerEvent("released")
