"""The client against the real API server: what the one in memory cannot show."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Never

import pytest
from torpor_crds.models import taskrun
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.cache.reflector import Notice, Reflector
from torpor_kubernetes.cache.store import StoreChange
from torpor_kubernetes.client import errors, events, lease
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import EVENTS, LEASES, TASKRUNS, WORKFLOWS, Resource

from tests.support.manifests import manifest

# For a machine that is busy with other work: only a test that fails waits for so long.
_TIMEOUT = 180.0
CONFIGMAPS = Resource(group="", version="v1", plural="configmaps", kind="ConfigMap")
DEFERRED: list[dict[str, Any]] = [
    {"op": "add", "path": "/status/state", "value": "Deferred"},
    {"op": "add", "path": "/status/trigger", "value": {"class": "time", "kwargs": "{}", "key": "k", "shard": 7}},
]


def body(name: str) -> dict[str, Any]:
    spec = {"workflow": {"name": "w", "uid": "u"}, "task": "t", "image": "i", "python": "m:f"}
    return manifest("TaskRun", name, spec)


def identity(raw: dict[str, Any]) -> dict[str, Any]:
    return raw


@asynccontextmanager
async def running(reflector: Reflector[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(reflector.run())
    try:
        async with asyncio.timeout(_TIMEOUT):
            await reflector.synced.wait()
            yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_reflector_of_waits_sees_each_come_and_go_once(api: Api, namespace: str) -> None:
    notices: asyncio.Queue[Notice[TaskRun]] = asyncio.Queue()
    reflector = Reflector(
        api,
        TASKRUNS,
        taskrun.parse,
        on_change=notices.put_nowait,
        jitter=lambda: 0.5,
        namespaces=(namespace,),
        field_selector="spec.triggerPool=default,status.state=Deferred",
    )
    changes: list[tuple[str, str]] = []
    async with running(reflector):
        for name in ("a", "b"):
            await api.create(TASKRUNS, namespace, body(name))
            await api.patch(TASKRUNS, namespace, name, DEFERRED, subresource="status")
        fired: list[dict[str, Any]] = [{"op": "add", "path": "/status/state", "value": "Scheduled"}]
        await api.patch(TASKRUNS, namespace, "a", fired, subresource="status")
        await api.delete(TASKRUNS, namespace, "b")
        while len(changes) < 4:
            note = await notices.get()
            assert isinstance(note, StoreChange)
            changes.append((note.kind, note.name))
        assert len(reflector.store) == 0
        assert notices.empty()
    assert changes == [("upsert", "a"), ("upsert", "b"), ("delete", "a"), ("delete", "b")]


async def named(notices: asyncio.Queue[Notice[dict[str, Any]]], name: str) -> None:
    while (await notices.get()).name != name:
        pass


def reflecting(
    api: Api, namespace: str, resource: Resource
) -> tuple[Reflector[dict[str, Any]], asyncio.Queue[Notice[dict[str, Any]]]]:
    notices: asyncio.Queue[Notice[dict[str, Any]]] = asyncio.Queue()
    reflector = Reflector(
        api, resource, identity, on_change=notices.put_nowait, jitter=lambda: 0.5, namespaces=(namespace,)
    )
    return reflector, notices


async def test_an_object_of_a_megabyte_comes_through_a_watch(api: Api, namespace: str) -> None:
    reflector, notices = reflecting(api, namespace, CONFIGMAPS)
    async with running(reflector):
        large = {"metadata": {"name": "large"}, "data": {"text": "x" * 1_000_000}}
        await api.create(CONFIGMAPS, namespace, large)
        await named(notices, "large")


async def test_a_store_that_fell_behind_lists_again(api: Api, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # TaskRuns, since their kind is younger than version 1: the server cannot have a history from there on.
    reflector, notices = reflecting(api, namespace, TASKRUNS)
    listed = Reflector._list

    async def long_ago(self: Reflector[Any], scope: str | None) -> str:
        version = await listed(self, scope)
        return "1" if self.relists == 1 else version

    monkeypatch.setattr(Reflector, "_list", long_ago)
    async with running(reflector):
        await api.create(TASKRUNS, namespace, body("later"))
        await named(notices, "later")
    assert reflector.relists == 2


async def test_a_store_without_its_watch_catches_up_by_a_bookmark(api: Api, namespace: str) -> None:
    reflector, _ = reflecting(api, namespace, TASKRUNS)
    async with running(reflector):
        await reflector.synced.wait()
    await api.create(TASKRUNS, namespace, body("later"))
    await api.create(CONFIGMAPS, namespace, {"metadata": {"name": "newer"}})  # the last change is of another kind
    await reflector.catch_up(relist_limit=-1)
    assert [item["metadata"]["name"] for item in reflector.store.values()] == ["later"]
    assert reflector.relists == 1


async def test_pages_are_one_list(api: Api, namespace: str) -> None:
    await asyncio.gather(*(api.create(CONFIGMAPS, namespace, {"metadata": {"name": f"c{n}"}}) for n in range(25)))
    pages = [page async for page in api.pages(CONFIGMAPS, namespace, limit=10)]
    names = [item["metadata"]["name"] for page in pages for item in page.items if item["metadata"]["name"][0] == "c"]
    assert len(set(names)) == len(names) == 25
    assert len({page.resource_version for page in pages}) == 1
    assert len(pages) == 3


async def test_of_many_patches_with_the_same_test_one_wins(api: Api, namespace: str) -> None:
    await api.create(TASKRUNS, namespace, body("a"))

    async def claim(number: int) -> str:
        ops: list[dict[str, Any]] = [
            {"op": "test", "path": "/status/state", "value": "Scheduled"},
            {"op": "add", "path": "/status/state", "value": "Running"},
            {"op": "add", "path": "/status/message", "value": str(number)},
        ]
        try:
            await api.patch(TASKRUNS, namespace, "a", ops, subresource="status")
        except errors.LostRace:
            return "lost"
        return "won"

    assert sorted(await asyncio.gather(*map(claim, range(20)))) == ["lost"] * 19 + ["won"]


async def test_what_breaks_the_schema_is_refused_with_the_field(api: Api, namespace: str) -> None:
    await api.create(TASKRUNS, namespace, body("a"))
    with pytest.raises(errors.Refused, match=r"status\.attempt"):
        await api.patch(
            TASKRUNS,
            namespace,
            "a",
            [{"op": "add", "path": "/status/attempt", "value": 0}],
            subresource="status",
        )


async def test_the_server_takes_our_events_and_says_them_once(api: Api, namespace: str) -> None:
    about = events.reference(WORKFLOWS, namespace=namespace, name="w" * 63, uid="u")
    for _ in range(2):
        posted = events.build(
            about,
            reason="Failed",
            message="ä" * 3000,
            type="Warning",
            reporting_controller="torpor.dev/operator",
            now=api.clock.now(),
        )
        await events.post(api, posted)
    listed = await api.list(EVENTS, namespace)
    assert [item["reason"] for item in listed.items] == ["Failed"]


async def test_one_of_three_leads_and_the_next_one_follows_at_once(api: Api, namespace: str) -> None:
    led: asyncio.Queue[str] = asyncio.Queue()

    async def lead(name: str) -> Never:
        led.put_nowait(name)
        await asyncio.Event().wait()
        raise AssertionError

    tasks: dict[str, asyncio.Task[Never]] = {}
    for name in ("a", "b", "c"):
        config = lease.LeaseConfig(namespace=namespace, name="leader", identity=name, duration=6)
        tasks[name] = asyncio.create_task(lease.Leadership(api, config).run(partial(lead, name)))
    try:
        async with asyncio.timeout(_TIMEOUT):
            first = await led.get()
            await asyncio.sleep(8)
            assert led.empty()
            tasks[first].cancel()
            second = await led.get()
        stored = await api.get(LEASES, namespace, "leader")
        assert stored["spec"]["holderIdentity"] == second
        await api.delete(LEASES, namespace, "leader")
        async with asyncio.timeout(_TIMEOUT):
            with pytest.raises(lease.LeaseLost):
                await tasks[second]
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
