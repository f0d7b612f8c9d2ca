"""What is lent to triggers that run in a thread of their own: real threads, real time."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import replace
from typing import Any, cast

import pytest
from torpor.triggers import BaseTrigger, TriggerEvent
from torpor.triggers.services import EndedWorkflows
from torpor.triggers.support.metering import ByteMeter
from torpor_triggerer.isolation.services_proxy import ServicesProxy
from torpor_triggerer.model.outcome import Fired
from torpor_triggerer.services.trigger_services import TriggerServices

from tests.support.trigger_services import services
from tests.support.triggers.thread_triggers import replace_class, thread, until

KEY = ("noting", "key")


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


class BatchedTrigger(BaseTrigger):
    """Is asked for with others."""

    source = "one"

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    async def poll_many(cls, waits: list["BatchedTrigger"], services: Any) -> list[TriggerEvent]:
        return [TriggerEvent([wait.number, threading.get_ident()]) for wait in waits]


async def _closed(_: object) -> None:
    pass


async def test_what_is_lent_works_there_and_a_client_is_the_threads_own() -> None:
    async with thread() as apart:
        home = services()
        async with home.shared(KEY, object, _closed) as client:
            outcome = await replace_class(apart, Borrowing, home).outcome()
            assert isinstance(outcome, Fired)
            assert outcome.event.startswith("[2,true,")
            assert str(id(client)) not in outcome.event


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

    async def ends(self, labels: Mapping[str, str], *, again: float) -> AsyncIterator[EndedWorkflows]:
        async for version in self.versions():
            yield EndedWorkflows([{**version, "labels": labels}], is_later=again > 1)


async def test_a_client_of_a_thread_serves_one_account_of_one_namespace() -> None:
    async with thread() as apart:

        async def clients() -> int:
            owners = (("a", "x"), ("a", "y"), ("b", "x"), ("a", "x"))
            borrowed = [
                ServicesProxy(replace(services(), namespace=name, account=account), apart) for name, account in owners
            ]
            async with AsyncExitStack() as stack:
                shared = [services.shared(KEY, object, _closed) for services in borrowed]
                return len({id(await stack.enter_async_context(client)) for client in shared})

        assert await apart.call(clients()) == 3


class Places:
    """Lends one place, once the gate is open; cancelling comes too late to keep it from being taken."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()
        self.log: list[str] = []

    def answering(self) -> "Places":
        return self

    async def __aenter__(self) -> None:
        self.asked.set()
        with suppress(asyncio.CancelledError):
            await self.gate.wait()
        self.log.append("taken")

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def connect(self, *_: object, **__: object) -> "Places":
        await self.__aenter__()
        return self

    def close(self) -> None:
        self.log.append("given back")


@pytest.mark.parametrize("what", ["a place", "a connection"])
async def test_a_resource_granted_after_cancellation_is_released(what: str) -> None:
    async with thread() as apart:
        places = Places()
        services = ServicesProxy(cast("TriggerServices", places), apart)

        async def look() -> None:
            if what == "a connection":
                await services.connect("example.org", 1, seconds=1.0, meter=ByteMeter(1))
            async with services.answering():
                pass

        looking = asyncio.create_task(apart.call(look()))
        await places.asked.wait()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        places.gate.set()
        await until(lambda: places.log == ["taken", "given back"])


async def test_versions_of_an_object_arrive_one_by_one_until_the_caller_stops() -> None:
    changing = Changing()
    async with thread() as apart:
        afar = ServicesProxy(changing, apart)  # type: ignore[arg-type]

        async def three() -> list[int]:
            numbers = []
            async for version in afar.versions("v1", "Pod", "p"):
                numbers.append(version["number"])
                if len(numbers) == 3:
                    break
            return numbers

        assert await apart.call(three()) == [0, 1, 2]
        await until(lambda: changing.notes == ["closed"])
        raised: list[BaseException] = []
        seen = set(changing.threads)
        changing.threads.clear()
        endless = asyncio.create_task(apart.call(_all(afar, raised)))
        await until(lambda: changing.threads == seen)
        endless.cancel()
        await until(lambda: changing.notes == ["closed", "closed"] and raised != [])
        assert isinstance(raised[0], asyncio.CancelledError)
    assert changing.threads == {threading.get_ident()}


async def test_ends_of_workflows_arrive_list_by_list_until_the_caller_stops() -> None:
    changing = Changing()
    async with thread() as apart:
        afar = ServicesProxy(changing, apart)  # type: ignore[arg-type]

        async def two() -> list[EndedWorkflows]:
            lists = []
            async with aclosing(afar.ends({"team": "data"}, again=2.0)) as ends:
                async for ended in ends:
                    lists.append(ended)
                    if len(lists) == 2:
                        break
            return lists

        lists = await apart.call(two())
        assert lists == [EndedWorkflows([{"number": number, "labels": {"team": "data"}}], True) for number in (0, 1)]
        await until(lambda: changing.notes == ["closed"])
    assert changing.threads == {threading.get_ident()}


async def _all(afar: Any, raised: list[BaseException]) -> None:
    try:
        async for _ in afar.versions("v1", "Pod", "p"):
            pass
    except BaseException as error:
        raised.append(error)
        raise


async def test_a_timer_trigger_makes_its_payload_in_its_own_thread() -> None:
    async with thread() as apart:
        outcome = await replace_class(apart, Known).outcome()
    assert isinstance(outcome, Fired)
    assert outcome.event != str(threading.get_ident())


async def test_waits_on_one_source_are_asked_for_there() -> None:
    async with thread() as apart:
        outcomes = await asyncio.gather(
            *(replace_class(apart, BatchedTrigger, number=number).outcome() for number in range(3))
        )
    assert {type(outcome) for outcome in outcomes} == {Fired}
    assert str(threading.get_ident()) not in "".join(
        outcome.event for outcome in outcomes if isinstance(outcome, Fired)
    )
