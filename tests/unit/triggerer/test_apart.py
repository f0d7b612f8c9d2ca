"""A class that has a thread of its own: real threads, real time, what is lent carried there."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from torpor.triggers import BaseTrigger, TriggerEvent
from torpor_triggerer.apart import Apart
from torpor_triggerer.journal import Journal
from torpor_triggerer.lent import Lent
from torpor_triggerer.outcome import Failed, Fired
from torpor_triggerer.registry import Registry, TriggerClass
from torpor_triggerer.standin import StandIn

from tests.lending import lent, sources

KEY = ("noting", "key")


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


class Borrowing(BaseTrigger):
    """Uses all that it is lent, and says who answered."""

    def __init__(self) -> None:
        pass

    async def run(self) -> AsyncIterator[TriggerEvent]:
        services = self.services
        here = threading.get_ident()
        await services.sleep(0.01)
        value = await services.evaluate("1 + event", {"event": 1})
        other = await services.in_thread(threading.get_ident)
        async with services.shared(KEY, object, _closed) as client:
            yield TriggerEvent([value, other not in {here, threading.main_thread().ident}, str(id(client))])


class Known(BaseTrigger):
    """Knows its moment."""

    def __init__(self) -> None:
        pass

    def due(self) -> float:
        return time.time() + 0.2

    def payload(self) -> int:
        return threading.get_ident()


class Many(BaseTrigger):
    """Is asked for with others."""

    source = "one"

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    async def poll_many(cls, waits: list["Many"], services: Any) -> list[TriggerEvent]:
        return [TriggerEvent([one.number, threading.get_ident()]) for one in waits]


async def _closed(_: object) -> None:
    pass


@asynccontextmanager
async def thread() -> AsyncIterator[Apart]:
    made = Apart("noting", asyncio.get_running_loop(), lambda _: None, lambda _: "")
    try:
        yield made
    finally:
        made.stop()
        await until(made.loop.is_closed)


def stand_in(apart: Apart, made_by: Any, given: Lent | None = None, **kwargs: Any) -> StandIn:
    made = StandIn(apart, made_by, kwargs)
    made.bind(given or lent())
    return made


async def until(holds: Any) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - a list that another thread writes
            await asyncio.sleep(0.01)


async def test_it_is_made_run_and_cleaned_up_in_its_thread() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        made = stand_in(apart, Noting, notes=notes)
        assert await made.outcome() == Fired(event='{"by":"fires"}')
        await made.cleanup()
        assert made.last_look == "not yet"
    assert [what for what, _ in notes] == ["__init__", "run", "cleanup"]
    assert len({where for _, where in notes}) == 1
    assert threading.get_ident() not in {where for _, where in notes}


async def test_it_fails_as_it_would_in_the_loop_of_all() -> None:
    async with thread() as apart:
        refused = await stand_in(apart, Noting, notes=[], does="refuses").outcome()
        exited = await stand_in(apart, Noting, notes=[], does="exits").outcome()
        after = await stand_in(apart, Noting, notes=[]).outcome()
    assert isinstance(refused, Failed)
    assert (refused.reason, refused.message) == (
        "TriggerInvalid",
        "trigger noting refuses its kwargs: ValueError: it makes no sense",
    )
    assert isinstance(exited, Failed)
    assert exited.message.startswith("SystemExit: 3")
    assert isinstance(after, Fired)


async def test_who_gives_up_on_it_ends_it_there_and_its_end_is_told_after_that() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        made = stand_in(apart, Noting, notes=notes, does="waits")
        task = asyncio.create_task(made.outcome())
        await until(lambda: "run" in dict(notes))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await made.on_kill()
        await made.cleanup()
    assert task.cancelled()
    assert [what for what, _ in notes] == ["__init__", "run", "ended", "on_kill", "cleanup"]


async def test_what_never_ran_there_is_made_to_be_killed_and_not_to_be_cleaned_up() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        made = stand_in(apart, Noting, notes=notes)
        await made.cleanup()
        assert notes == []
        await made.on_kill()
    assert [what for what, _ in notes] == ["__init__", "on_kill"]


async def test_a_thread_that_hangs_keeps_nobody_who_gives_up() -> None:
    notes: list[tuple[str, int]] = []
    async with thread() as apart:
        made = stand_in(apart, Noting, notes=notes, does="hangs")
        task = asyncio.create_task(made.outcome())
        await until(lambda: "run" in dict(notes))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await made.cleanup()
        assert "cleanup" not in dict(notes)


async def test_what_is_lent_works_there_and_a_client_is_the_threads_own() -> None:
    async with thread() as apart:
        home = lent()
        async with home.shared(KEY, object, _closed) as client:
            found = await stand_in(apart, Borrowing, home).outcome()
            assert isinstance(found, Fired)
            assert found.event.startswith("[2,true,")
            assert str(id(client)) not in found.event


class Changing:
    """Stands in for the API server's versions of an object; notes when they are no longer wanted."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.threads: set[int] = set()

    async def versions(self, *_: object, **__: object) -> AsyncIterator[Mapping[str, Any]]:
        try:
            for number in range(10_000):
                self.threads.add(threading.get_ident())
                await asyncio.sleep(0.01)
                yield {"number": number}
        finally:
            await asyncio.sleep(0.05)
            self.notes.append("closed")


async def test_versions_of_an_object_come_one_by_one_and_end_with_who_wanted_them() -> None:
    from torpor_triggerer.afar import Afar  # noqa: PLC0415

    changing = Changing()
    async with thread() as apart:
        afar = Afar(changing, apart)  # type: ignore[arg-type]

        async def three() -> list[int]:
            found = []
            async for version in afar.versions("v1", "Pod", "p"):
                found.append(version["number"])
                if len(found) == 3:
                    break
            return found

        assert await apart.call(three()) == [0, 1, 2]
        await until(lambda: changing.notes == ["closed"])
        raised: list[BaseException] = []
        endless = asyncio.create_task(apart.call(_all(afar, raised)))
        await until(lambda: len(changing.threads) == 1)
        await asyncio.sleep(0.05)
        endless.cancel()
        await until(lambda: changing.notes == ["closed", "closed"] and raised != [])
        assert isinstance(raised[0], asyncio.CancelledError)
    assert changing.threads == {threading.get_ident()}


async def _all(afar: Any, raised: list[BaseException]) -> None:
    try:
        async for _ in afar.versions("v1", "Pod", "p"):
            pass
    except BaseException as error:
        raised.append(error)
        raise


async def test_a_moment_is_waited_for_and_its_payload_made_there() -> None:
    async with thread() as apart:
        found = await stand_in(apart, Known).outcome()
    assert isinstance(found, Fired)
    assert found.event != str(threading.get_ident())


async def test_waits_on_one_source_are_asked_for_there() -> None:
    async with thread() as apart:
        found = await asyncio.gather(*(stand_in(apart, Many, number=number).outcome() for number in range(3)))
    assert {type(one) for one in found} == {Fired}
    assert str(threading.get_ident()) not in "".join(one.event for one in found if isinstance(one, Fired))


async def test_it_runs_as_a_part_of_another() -> None:
    registry = Registry({"noting": cast("TriggerClass", Noting)})
    async with thread() as apart:
        registry.stand_in("noting", lambda found: lambda **kwargs: StandIn(apart, found, kwargs))
        made = registry.make("noting", {"notes": []}, lent(sources()))
        assert [event.payload async for event in made.run()] == [{"by": "fires"}]


async def test_its_lines_are_its_waits_there_too() -> None:
    journal = Journal()
    page = journal.page(_Owner())
    handler = journal.handler(__import__("io").StringIO())
    logging.getLogger().addHandler(handler)
    try:
        async with thread() as apart:
            with page.speaking():
                await stand_in(apart, Noting, notes=[], does="speaks").outcome()
    finally:
        logging.getLogger().removeHandler(handler)
    assert any(line.endswith("spoken") for line in page.lines)


class _Owner:
    tag = "[workflows/a a1 s0]"


@pytest.mark.parametrize(
    ("kwargs", "interval"),
    [({"interval": "5s"}, 5.0), ({"poke_interval": 7}, 7.0), ({"interval": "soon"}, None), ({}, 5.0)],
)
async def test_it_says_how_often_it_looks_without_being_made(kwargs: dict[str, Any], interval: float | None) -> None:
    async with thread() as apart:
        made = stand_in(apart, Noting, notes=[], **kwargs)
        assert (made.interval, made.shareable) == (interval, False)
