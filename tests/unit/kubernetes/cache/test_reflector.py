"""The reflector against the in-memory API server, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.cache.store import StoreChange
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS

from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle

Item = tuple[str, str, int]
DEFERRED = "spec.triggerPool=default,status.state=Deferred"


def body(name: str, state: str = "Deferred", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"triggerPool": "default"},
        "status": {"state": state} | status,
    }


def parse(raw: dict[str, Any]) -> Item:
    status = raw["status"]
    return raw["metadata"]["name"], status["state"], int(status.get("segment", 0))


def described(notices: list[Notice[Item]]) -> list[str]:
    return [
        f"{note.kind} {note.name}" if isinstance(note, StoreChange) else f"unreadable {note.name}" for note in notices
    ]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def fake(clock: VirtualClock) -> FakeApi:
    return FakeApi(clock)


@asynccontextmanager
async def running(
    fake: FakeApi, clock: VirtualClock, on_change: Callable[[Notice[Item]], None], *, fields: str = DEFERRED
) -> AsyncIterator[Reflector[Item]]:
    api = Api(fake, clock, jitter=lambda: 0.5)
    reflector = Reflector(
        api,
        TASKRUNS,
        parse,
        on_change=on_change,
        jitter=lambda: 1.0,
        field_selector=fields,
        index=lambda item: (item[1],),
    )
    task = asyncio.create_task(reflector.run())
    await settle()
    try:
        yield reflector
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert fake.watches == 0


async def test_what_is_there_is_listed_and_synced_is_set_after_all_of_it(fake: FakeApi, clock: VirtualClock) -> None:
    for number in range(1203):
        fake.put(TASKRUNS, body(f"t{number}"))
    seen: list[Notice[Item]] = []
    async with running(fake, clock, seen.append) as reflector:
        assert reflector.synced.is_set()
        assert len(reflector.store) == len(seen) == 1203
        assert [request.method for request in fake.requests] == ["GET", "GET", "GET", "WATCH"]


async def test_a_status_patch_lets_an_object_enter_and_leave_the_selector(fake: FakeApi, clock: VirtualClock) -> None:
    seen: list[Notice[Item]] = []
    fake.put(TASKRUNS, body("a", "Running"))
    async with running(fake, clock, seen.append) as reflector:
        assert len(reflector.store) == 0
        fake.edit(TASKRUNS, "ns", "a", {"status": {"state": "Deferred"}})
        await settle()
        assert reflector.store.get("ns", "a") == ("a", "Deferred", 0)
        fake.edit(TASKRUNS, "ns", "a", {"status": {"state": "Scheduled"}})
        await settle()
        assert reflector.store.get("ns", "a") is None
        fake.edit(TASKRUNS, "ns", "a", {"status": {"state": "Deferred", "segment": 1}})
        await settle()
    assert described(seen) == ["upsert a", "delete a", "upsert a"]
    last = seen[-1]
    assert isinstance(last, StoreChange)
    assert (last.item, last.previous) == (("a", "Deferred", 1), None)


@pytest.mark.parametrize("inside", [True, False], ids=["an ERROR event", "a status code"])
async def test_after_410_what_vanished_meanwhile_is_reported(
    fake: FakeApi, clock: VirtualClock, *, inside: bool
) -> None:
    seen: list[Notice[Item]] = []
    fake.put(TASKRUNS, body("stays"))
    fake.put(TASKRUNS, body("goes"))
    async with running(fake, clock, seen.append) as reflector:
        fake.hold_watches()
        seen.clear()
        fake.remove(TASKRUNS, "ns", "goes")
        fake.put(TASKRUNS, body("comes"))
        if inside:
            fake.compact()
            fake.release_watches()
        else:
            fake.inject(Fault(method="WATCH", status=410))
            fake.end_watches(errors.Unreachable("the connection broke"))
        await clock.advance(1)
        assert reflector.relists == 2
        assert sorted(described(seen)) == ["delete goes", "upsert comes"]
        assert {item[0] for item in reflector.store.values()} == {"stays", "comes"}


async def test_a_refresh_shows_what_a_slow_watch_does_not_yet(fake: FakeApi, clock: VirtualClock) -> None:
    seen: list[Notice[Item]] = []
    fake.put(TASKRUNS, body("goes"))
    async with running(fake, clock, seen.append) as reflector:
        fake.hold_watches()
        fake.remove(TASKRUNS, "ns", "goes")
        fake.put(TASKRUNS, body("came and went"))
        fake.remove(TASKRUNS, "ns", "came and went")
        fake.put(TASKRUNS, body("comes"))
        seen.clear()
        await reflector.refresh()
        assert described(seen) == ["upsert comes", "delete goes"]
        fake.release_watches()
        await settle()
        assert described(seen) == ["upsert comes", "delete goes"]
        fake.edit(TASKRUNS, "ns", "comes", {"status": {"segment": 1}})
        await settle()
        assert reflector.store.get("ns", "comes") == ("comes", "Deferred", 1)


async def test_what_goes_while_pages_are_read_beside_the_watch_does_not_come_back(
    fake: FakeApi, clock: VirtualClock
) -> None:
    for number in range(700):
        fake.put(TASKRUNS, body(f"t{number}"))
    async with running(fake, clock, lambda _: None) as reflector:
        fake.latency = 0.1
        refreshed = asyncio.create_task(reflector.refresh())
        await clock.advance(0.15)
        fake.remove(TASKRUNS, "ns", "t699")
        await clock.advance(1)
        await refreshed
        assert reflector.store.get("ns", "t699") is None
        assert len(reflector.store) == 699


async def test_a_watch_that_ends_is_opened_again_where_it_was_without_a_list(
    fake: FakeApi, clock: VirtualClock
) -> None:
    seen: list[Notice[Item]] = []
    async with running(fake, clock, seen.append) as reflector:
        fake.put(TASKRUNS, body("a"))
        await settle()
        fake.end_watches()
        await settle()
        fake.put(TASKRUNS, body("b"))
        await settle()
        assert described(seen) == ["upsert a", "upsert b"]
        assert reflector.relists == 1
        versions = [request.query["resourceVersion"] for request in fake.requests if request.method == "WATCH"]
        assert versions == ["98", "99"]


async def test_bookmarks_keep_a_quiet_kind_from_falling_behind(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock, lambda _: None, fields="status.state=Nothing") as reflector:
        fake.put(TASKRUNS, body("elsewhere"))
        fake.bookmark()
        await settle()
        fake.compact()
        fake.end_watches()
        await clock.advance(1)
        assert (reflector.relists, fake.watches) == (1, 1)


async def test_a_watch_is_asked_to_end_before_proxies_would_cut_it(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock, lambda _: None):
        await clock.advance(300)
        watches = [request for request in fake.requests if request.method == "WATCH"]
        assert len(watches) == 2
        assert watches[0].query["timeoutSeconds"] == "290"
        assert watches[0].query["allowWatchBookmarks"] == "true"


async def test_pages_that_cannot_be_finished_are_read_again_as_one(fake: FakeApi, clock: VirtualClock) -> None:
    for number in range(700):
        fake.put(TASKRUNS, body(f"t{number}"))
    fake.latency = 0.1
    seen: list[Notice[Item]] = []
    async with running(fake, clock, seen.append) as reflector:
        await clock.advance(0.25)
        assert len(reflector.store) == 500
        fake.remove(TASKRUNS, "ns", "t0")
        fake.compact()
        await clock.advance(5)
        assert reflector.synced.is_set()
        assert len(reflector.store) == 699
        assert described(seen).count("delete t0") == 1
        lists = [request.query.get("limit") for request in fake.requests if request.method == "GET"]
        assert lists == ["500", "500", None]


async def test_watches_back_off_up_to_ten_seconds_until_an_event_arrives(fake: FakeApi, clock: VirtualClock) -> None:
    async with running(fake, clock, lambda _: None):
        fake.inject(Fault(method="WATCH", status=500, times=10_000))
        before = len(fake.requests)
        fake.end_watches()
        await clock.advance(1000)
        assert 90 < len(fake.requests) - before < 120
        fake._faults.clear()
        await clock.advance(10)
        fake.put(TASKRUNS, body("a"))
        await settle()
        fake.end_watches()
        await settle()
        assert fake.watches == 1


async def test_the_server_says_how_long_to_wait(fake: FakeApi, clock: VirtualClock) -> None:
    fake.inject(Fault(method="WATCH", status=429, retry_after=7))
    async with running(fake, clock, lambda _: None):
        await clock.advance(6.9)
        assert fake.watches == 0
        await clock.advance(0.2)
        assert fake.watches == 1


async def test_without_permission_it_keeps_trying_and_is_not_synced(fake: FakeApi, clock: VirtualClock) -> None:
    fake.inject(Fault(method="GET", status=403, times=3))
    async with running(fake, clock, lambda _: None) as reflector:
        assert not reflector.synced.is_set()
        await clock.advance(10)
        assert reflector.synced.is_set()


async def test_an_unreadable_object_is_reported_once_per_version_and_harms_none(
    fake: FakeApi, clock: VirtualClock
) -> None:
    seen: list[Notice[Item]] = []
    fake.put(TASKRUNS, body("good"))
    fake.put(TASKRUNS, body("bad", segment="no number"))
    async with running(fake, clock, seen.append) as reflector:
        assert sorted(described(seen)) == ["unreadable bad", "upsert good"]
        assert reflector.store.get("ns", "bad") is None
        assert reflector.store.unreadable("ns", "bad") is not None
        fake.end_watches(errors.Gone("too old"))
        await clock.advance(1)
        assert len(seen) == 2
        fake.edit(TASKRUNS, "ns", "bad", {"status": {"segment": 3}})
        await settle()
        assert reflector.store.get("ns", "bad") == ("bad", "Deferred", 3)
        assert reflector.store.unreadable("ns", "bad") is None
        fake.edit(TASKRUNS, "ns", "bad", {"status": {"segment": "x"}})
        await settle()
        last = seen[-1]
        assert isinstance(last, Unreadable)
        assert "invalid literal" in last.message
        assert reflector.store.get("ns", "bad") == ("bad", "Deferred", 3)


async def test_an_own_write_is_seen_at_once_and_not_notified_again_by_the_watch(
    fake: FakeApi, clock: VirtualClock
) -> None:
    seen: list[Notice[Item]] = []
    async with running(fake, clock, seen.append) as reflector:
        fake.hold_watches()
        reflector.store.absorb(fake.put(TASKRUNS, body("mine")))
        assert reflector.store.get("ns", "mine") is not None
        fake.release_watches()
        await settle()
        assert described(seen) == ["upsert mine"]


async def test_an_own_write_that_is_late_does_not_resurrect_what_was_deleted(
    fake: FakeApi, clock: VirtualClock
) -> None:
    async with running(fake, clock, lambda _: None) as reflector:
        written = fake.put(TASKRUNS, body("mine"))
        fake.remove(TASKRUNS, "ns", "mine")
        await settle()
        reflector.store.absorb(written)
        assert len(reflector.store) == 0
