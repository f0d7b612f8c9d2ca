"""A trigger in the thread that its class has to itself: real threads, real time."""

import asyncio
import io
import logging
import threading
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest
from torpor.triggers import BaseTrigger, TriggerEvent
from torpor_triggerer.isolation.trigger_proxy import TriggerProxy
from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model.outcome import Failed, Fired
from torpor_triggerer.usercode.registry import Registry, TriggerClass

from tests.support.trigger_services import backends, services
from tests.support.triggers.thread_triggers import replace_class, thread, until


class Noting(BaseTrigger):
    """Notes in which thread what is called."""

    shareable = False

    def __init__(self, notes: list[tuple[str, int]], does: str = "fires", **given: Any) -> None:
        self.notes = notes
        self.does = does
        self.note("__init__")
        if does == "refuses":
            raise ValueError("it makes no sense")

    def note(self, what: str) -> None:
        self.notes.append((what, threading.get_ident()))

    async def run(self) -> AsyncIterator[TriggerEvent]:
        self.note("run")
        self.last_look = "not yet"
        if self.does == "waits":
            try:
                await self.services.sleep(1e6)
            finally:
                await asyncio.sleep(0.1)
                self.note("ended")
        if self.does == "hangs":
            time.sleep(2)  # noqa: ASYNC251 - that is the point
        if self.does == "exits":
            raise SystemExit(3)
        if self.does == "speaks":
            logging.getLogger("a.library").warning("spoken")
        yield TriggerEvent({"by": self.does})

    async def cleanup(self) -> None:
        self.note("cleanup")

    async def on_kill(self) -> None:
        self.note("on_kill")


async def test_it_is_made_run_and_cleaned_up_in_its_thread() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        proxy = replace_class(apart, Noting, notes=notes)
        assert await proxy.outcome() == Fired(event='{"by":"fires"}')
        await proxy.cleanup()
        assert proxy.last_look == "not yet"
    assert [what for what, _ in notes] == ["__init__", "run", "cleanup"]
    assert len({where for _, where in notes}) == 1
    assert threading.get_ident() not in {where for _, where in notes}


async def test_it_fails_as_it_would_in_the_loop_of_all() -> None:
    async with thread() as apart:
        refused = await replace_class(apart, Noting, notes=[], does="refuses").outcome()
        exited = await replace_class(apart, Noting, notes=[], does="exits").outcome()
        after = await replace_class(apart, Noting, notes=[]).outcome()
    assert isinstance(refused, Failed)
    assert (refused.reason, refused.message) == (
        "TriggerInvalid",
        "trigger noting refuses its kwargs: ValueError: it makes no sense",
    )
    assert isinstance(exited, Failed)
    assert exited.message.startswith("SystemExit: 3")
    assert isinstance(after, Fired)


async def test_a_cancelled_caller_ends_the_run_before_on_kill_and_cleanup() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        proxy = replace_class(apart, Noting, notes=notes, does="waits")
        task = asyncio.create_task(proxy.outcome())
        await until(lambda: "run" in dict(notes))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await proxy.on_kill()
        await proxy.cleanup()
    assert task.cancelled()
    assert [what for what, _ in notes] == ["__init__", "run", "ended", "on_kill", "cleanup"]


async def test_what_never_ran_there_is_made_to_be_killed_and_not_to_be_cleaned_up() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        proxy = replace_class(apart, Noting, notes=notes)
        await proxy.cleanup()
        assert notes == []
        await proxy.on_kill()
    assert [what for what, _ in notes] == ["__init__", "on_kill"]


async def test_a_thread_that_hangs_does_not_block_a_cancelled_caller() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        proxy = replace_class(apart, Noting, notes=notes, does="hangs")
        task = asyncio.create_task(proxy.outcome())
        await until(lambda: "run" in dict(notes))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await proxy.cleanup()
        assert "cleanup" not in dict(notes)


async def test_it_runs_as_a_part_of_another() -> None:
    registry = Registry({"noting": cast("TriggerClass", Noting)})
    async with thread() as apart:
        registry.replace_class(
            "noting", lambda trigger_class: lambda **kwargs: TriggerProxy(apart, trigger_class, kwargs)
        )
        proxy = registry.make("noting", {"notes": []}, services(backends()))
        assert [event.payload async for event in proxy.run()] == [{"by": "fires"}]


async def test_its_lines_are_its_waits_there_too() -> None:
    trigger_log = TriggerLog()
    page = trigger_log.create(_Owner())
    handler = trigger_log.handler(io.StringIO())
    logging.getLogger().addHandler(handler)
    try:
        async with thread() as apart:
            with page.active():
                await replace_class(apart, Noting, notes=[], does="speaks").outcome()
    finally:
        logging.getLogger().removeHandler(handler)
    assert any(line.endswith("spoken") for line in page.lines)


class _Owner:
    tag = "[workflows/a a1 s0]"

    @property
    def log_fields(self) -> Mapping[str, str | int]:
        return {}


@pytest.mark.parametrize(
    ("kwargs", "interval"),
    [({"interval": "5s"}, 5.0), ({"poke_interval": 7}, 7.0), ({"interval": "soon"}, None), ({}, 5.0)],
)
async def test_the_interval_is_known_without_an_instance(kwargs: dict[str, Any], interval: float | None) -> None:
    async with thread() as apart:
        proxy = replace_class(apart, Noting, notes=[], **kwargs)
        assert (proxy.interval, proxy.shareable) == (interval, False)
