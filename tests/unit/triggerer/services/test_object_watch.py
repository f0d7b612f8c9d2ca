"""Objects that waits look at: one watch for all of a kind and namespace, and each version once, in order."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import pytest
from torpor_kubernetes.client.api import READ_TRIES, Api
from torpor_kubernetes.client.resources import PODS
from torpor_kubernetes.client.transport import Response
from torpor_triggerer.services import object_watch
from torpor_triggerer.services.client_pool import ClientPool
from torpor_triggerer.services.object_watch import WatchedObject

from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle


class PodWatchFixture:
    """An API server with pods in it, and who looks at them."""

    def __init__(self, fake: type[FakeApi] = FakeApi) -> None:
        self.clock = VirtualClock()
        self.fake = fake(self.clock)
        self.api = Api(self.fake, self.clock, jitter=lambda: 0.5)
        self.clients = ClientPool()

    def pod(self, name: str) -> None:
        manager = {"manager": "m", "operation": "Update"}
        metadata = {"name": name, "namespace": "ns", "managedFields": [manager]}
        self.fake.put(PODS, {"metadata": metadata, "status": {"seen": 0}})

    def edit(self, name: str, number: int) -> None:
        self.fake.edit(PODS, "ns", name, {"status": {"seen": number}})

    def versions(self, name: str, namespace: str = "ns", *, managed: bool = False) -> Any:
        return object_watch.versions(self.api, self.clients, WatchedObject("v1", "Pod", namespace, name, managed))

    @asynccontextmanager
    async def looking(self, name: str, namespace: str = "ns") -> AsyncIterator[list[int]]:
        """What is seen of a pod, from now on."""
        seen: list[int] = []
        note = seen.append

        async def look() -> None:
            async with aclosing(self.versions(name, namespace)) as versions:
                async for version in versions:
                    note(version["status"]["seen"])

        task = asyncio.create_task(look())
        await settle()
        try:
            yield seen
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.clients.closed()

    def watches(self) -> int:
        return len(self.fake._watches)


async def test_a_hundred_waits_for_pods_share_one_watch_that_ends_with_the_last() -> None:
    fixture = PodWatchFixture()
    async with AsyncExitStack() as stack:
        seen = [await stack.enter_async_context(fixture.looking(f"p{number}")) for number in range(100)]
        assert fixture.watches() == 1
        for number in range(100):
            fixture.pod(f"p{number}")
            fixture.edit(f"p{number}", number + 1)
        await settle()
        assert seen == [[0, number + 1] for number in range(100)]
        async with fixture.looking("p0", "other"):
            assert fixture.watches() == 2
        assert fixture.watches() == 1
    assert (fixture.watches(), len(fixture.clients)) == (0, 0)


async def test_the_other_objects_of_the_namespace_are_not_listed() -> None:
    fixture = PodWatchFixture()
    for number in range(600):
        fixture.pod(f"p{number}")
    async with fixture.looking("p7") as seen:
        fixture.edit("p8", 1)
        fixture.fake.end_watches()
        fixture.fake.compact()
        fixture.edit("p7", 1)
        await fixture.clock.advance(5)
        assert seen == [0, 1]
    lists = [
        request.query for request in fixture.fake.requests if request.method == "GET" and request.path.endswith("/pods")
    ]
    assert [query for query in lists if query.get("limit") != "1" and "fieldSelector" not in query] == []


async def test_each_version_is_seen_once_even_if_the_watch_is_late() -> None:
    fixture = PodWatchFixture()
    fixture.pod("p")
    async with fixture.looking("p") as first:
        fixture.fake.hold_watches()
        fixture.edit("p", 1)
        fixture.edit("p", 2)
        async with fixture.looking("p") as second:
            assert second == [2]
            fixture.edit("p", 3)
            fixture.fake.release_watches()
            await settle()
            assert (first, second) == ([0, 1, 2, 3], [2, 3])


async def test_a_recreated_object_is_seen_again() -> None:
    fixture = PodWatchFixture()
    fixture.pod("p")
    async with fixture.looking("p") as seen:
        fixture.edit("p", 7)
        fixture.fake.remove(PODS, "ns", "p")
        fixture.pod("p")
        await settle()
        assert seen == [0, 7, 0]


async def test_what_happens_while_a_watch_is_broken_is_seen_when_it_is_whole() -> None:
    fixture = PodWatchFixture()
    fixture.pod("p")
    async with fixture.looking("p") as seen:
        fixture.fake.end_watches()
        fixture.edit("p", 1)
        fixture.fake.compact()
        await fixture.clock.advance(5)
        assert seen == [0, 1]


async def test_a_slow_reader_sees_the_last_of_many_versions() -> None:
    fixture = PodWatchFixture()
    fixture.pod("p")
    async with aclosing(fixture.versions("p")) as versions:
        assert (await anext(versions))["status"] == {"seen": 0}
        await settle()
        for number in range(1, 1001):
            fixture.edit("p", number)
        await settle()
        pinned = [(await anext(versions))["status"]["seen"] for _ in range(32)]
        assert pinned == list(range(969, 1001))
    await fixture.clients.closed()


async def test_an_api_server_that_is_briefly_unavailable_is_asked_again() -> None:
    fixture = PodWatchFixture()
    fixture.pod("p")
    fixture.fake.inject(Fault(status=503, times=20))
    async with fixture.looking("p") as seen:
        await fixture.clock.advance(120)
        fixture.edit("p", 1)
        await fixture.clock.advance(120)
        assert seen[-1] == 1


class Crossed(FakeApi):
    """Edits a pod in the moment in which a watch of pods learns where it begins."""

    async def request(self, method: str, path: str, **given: Any) -> Response:
        query: Mapping[str, str] = given.get("query") or {}
        if path.endswith("/pods") and query.get("limit") == "1":
            for _ in range(10):
                await asyncio.sleep(0)
            self.edit(PODS, "ns", "p", {"status": {"seen": 1}})
        return await super().request(method, path, **given)


async def test_what_changes_before_the_watch_has_begun_is_seen() -> None:
    fixture = PodWatchFixture(Crossed)
    fixture.pod("p")
    async with fixture.looking("p") as seen:
        assert seen[-1] == 1


class Stumbling(FakeApi):
    """Answers no read for a moment, once a watch has learnt where it goes on after a gap."""

    gaps = 0

    async def request(self, method: str, path: str, **given: Any) -> Response:
        query: Mapping[str, str] = given.get("query") or {}
        answer = await super().request(method, path, **given)
        if query.get("limit") == "1" and self.gaps:
            Stumbling.gaps = 0
            self.inject(Fault(status=503, path="/pods", times=READ_TRIES))
        return answer


async def test_a_gap_is_closed_though_the_api_server_stumbles_in_between() -> None:
    fixture = PodWatchFixture(Stumbling)
    fixture.pod("p")
    async with fixture.looking("p") as seen:
        Stumbling.gaps = 1
        fixture.fake.end_watches()
        fixture.edit("p", 1)
        fixture.fake.compact()
        await fixture.clock.advance(120)
        assert seen[-1] == 1


class Narrow(FakeApi):
    """Lets objects be read by their names only."""

    async def request(self, method: str, path: str, **given: Any) -> Response:
        query: Mapping[str, str] = given.get("query") or {}
        if path.endswith("/pods") and "fieldSelector" not in query:
            return Response(403, {"kind": "Status", "code": 403, "message": "pods is forbidden"}, None)
        return await super().request(method, path, **given)


async def test_a_wait_that_would_see_no_change_is_refused_with_what_would_allow_it() -> None:
    fixture = PodWatchFixture(Narrow)
    async with aclosing(fixture.versions("p")) as versions:
        looking = asyncio.ensure_future(anext(versions))
        await settle()
        assert looking.done()
        with pytest.raises(PermissionError, match=r"may not watch Pod: pods is forbidden; .*aggregate-to-triggerer"):
            await looking
    await fixture.clients.closed()
    assert fixture.watches() == 0


async def test_who_wrote_which_field_is_shown_to_who_asks_for_it() -> None:
    fixture = PodWatchFixture()
    fixture.pod("p")
    for managed in (False, True):
        async with aclosing(fixture.versions("p", managed=managed)) as versions:
            version = await anext(versions)
            assert ("managedFields" in version["metadata"]) is managed
            assert (version["apiVersion"], version["kind"]) == ("v1", "Pod")
    await fixture.clients.closed()


async def test_only_the_last_of_large_unread_versions_is_kept() -> None:
    subscription = object_watch.Subscription()
    for number in range(40):
        subscription.show({"small": number}, 100)
    for number in range(10):
        subscription.show({"large": number}, 200_000)
    assert [await subscription.next()] == [{"large": 9}]
    subscription.show({"small": 1}, 100)
    assert await subscription.next() == {"small": 1}
