"""A reflector catches up beside its watch, against the in-memory API server in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torpor_kubernetes.cache.reflector import CATCH_UP_WATCHES, Reflector
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS

from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle

OBJECTS = 700
FULL_LIST = 2
"""The requests for a list of so many objects."""


def body(name: str, namespace: str = "ns") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "status": {"state": "Deferred"}}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def fake(clock: VirtualClock) -> FakeApi:
    server = FakeApi(clock)
    for number in range(OBJECTS):
        server.put(TASKRUNS, body(f"t{number}"))
    return server


@asynccontextmanager
async def running(
    fake: FakeApi, clock: VirtualClock, namespaces: Sequence[str] = (), notices: list[object] | None = None
) -> AsyncIterator[Reflector[dict[str, Any]]]:
    reflector: Reflector[dict[str, Any]] = Reflector(
        Api(fake, clock, jitter=lambda: 0.5),
        TASKRUNS,
        dict,
        on_change=lambda notice: None if notices is None else notices.append(notice),
        jitter=lambda: 1.0,
        namespaces=namespaces,
    )
    task = asyncio.create_task(reflector.run())
    await settle()
    try:
        yield reflector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def lists(fake: FakeApi) -> int:
    """The requests that have read a page of a list."""
    return sum(request.method == "GET" and "fieldSelector" not in request.query for request in fake.requests)


def change_all_ways(fake: FakeApi) -> None:
    """Delete an object, create one, and create one that is deleted."""
    fake.remove(TASKRUNS, "ns", "t0")
    fake.put(TASKRUNS, body("came and went"))
    fake.remove(TASKRUNS, "ns", "came and went")
    fake.put(TASKRUNS, body("comes"))


async def silence(fake: FakeApi, clock: VirtualClock) -> None:
    """End the main watch, which is not opened again within a minute."""
    fake.inject(Fault(method="WATCH", status=429, retry_after=60))
    fake.end_watches()
    await clock.advance(1)
    assert fake.watches == 0


def names(reflector: Reflector[dict[str, Any]]) -> set[str]:
    return {item["metadata"]["name"] for item in reflector.store.values()}


async def test_it_takes_in_what_its_watch_does_not_show_and_lists_nothing(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock) as reflector:
        await silence(fake, clock)
        change_all_ways(fake)
        catching_up = asyncio.create_task(reflector.catch_up())
        await clock.advance(3)
        await catching_up
        assert names(reflector) == {"comes", *(f"t{number}" for number in range(1, OBJECTS))}
        assert lists(fake) == FULL_LIST


async def test_it_is_not_done_before_an_event_or_a_bookmark_says_so(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock) as reflector:
        await silence(fake, clock)
        fake.history.version += 5  # changes of other kinds
        catching_up = asyncio.create_task(reflector.catch_up())
        await clock.advance(0.9)
        assert not catching_up.done()
        await clock.advance(0.2)
        assert catching_up.done()
        assert reflector.store.progress(None) == fake.history.version
        assert lists(fake) == FULL_LIST


async def test_it_waits_for_the_first_list(fake: FakeApi, clock: VirtualClock) -> None:
    fake.inject(Fault(method="GET", status=500))
    async with running(fake, clock) as reflector:
        catching_up = asyncio.create_task(reflector.catch_up())
        await settle()
        assert not catching_up.done()
        await clock.advance(5)
        await catching_up
        assert len(reflector.store) == OBJECTS


async def test_few_objects_are_listed_again(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock) as reflector:
        fake.hold_watches()
        change_all_ways(fake)
        await reflector.catch_up(OBJECTS)
        assert "comes" in names(reflector)
        assert lists(fake) == 2 * FULL_LIST


async def test_it_lists_again_where_no_watch_catches_up(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock) as reflector:
        fake.hold_watches()
        change_all_ways(fake)
        catching_up = asyncio.create_task(reflector.catch_up())
        await clock.advance(20)
        await catching_up
        assert "comes" in names(reflector)
        assert lists(fake) == 2 * FULL_LIST
        short = [request for request in fake.requests if request.query.get("timeoutSeconds") == "3"]
        assert len(short) == CATCH_UP_WATCHES


async def test_it_lists_again_where_the_version_of_its_watch_is_compacted(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock) as reflector:
        await silence(fake, clock)
        change_all_ways(fake)
        fake.compact()
        await reflector.catch_up()
        assert "comes" in names(reflector)
        assert "t0" not in names(reflector)


async def test_an_error_of_the_api_server_is_raised(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock) as reflector:
        fake.inject(Fault(method="GET", status=403))
        with pytest.raises(errors.ApiError):
            await reflector.catch_up()


async def test_all_namespaces_catch_up_at_the_same_time(fake: FakeApi, clock: VirtualClock) -> None:
    fake.put(TASKRUNS, body("elsewhere", "other"))
    async with running(fake, clock, ("ns", "other")) as reflector:
        fake.inject(Fault(method="WATCH", status=429, retry_after=60))
        await silence(fake, clock)
        fake.put(TASKRUNS, body("comes"))
        fake.put(TASKRUNS, body("comes too", "other"))
        catching_up = asyncio.create_task(reflector.catch_up())
        await clock.advance(1.1)
        await catching_up
        assert {"comes", "comes too"} <= names(reflector)


async def test_what_the_main_watch_reports_later_changes_nothing(fake: FakeApi, clock: VirtualClock) -> None:
    notices: list[object] = []
    async with running(fake, clock, notices=notices) as reflector:
        await silence(fake, clock)
        change_all_ways(fake)
        catching_up = asyncio.create_task(reflector.catch_up())
        await clock.advance(3)
        await catching_up
        before, noticed = names(reflector), len(notices)
        await clock.advance(61)
        assert fake.watches == 1
        assert names(reflector) == before
        assert len(notices) == noticed > OBJECTS
