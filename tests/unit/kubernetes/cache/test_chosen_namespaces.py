"""A reflector of some namespaces lists and watches each by itself."""

import asyncio
from typing import Any

from torpor_kubernetes.cache.reflector import Notice, Reflector
from torpor_kubernetes.cache.store import CacheStore
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS

from tests.support.fake_api import FakeApi, VirtualClock, settle


def name_of(raw: dict[str, Any]) -> str:
    return str(raw["metadata"]["name"])


def body(namespace: str, name: str) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {}, "status": {}}


def version(namespace: str, number: int) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": "x", "uid": namespace, "resourceVersion": str(number)}}


async def test_it_watches_the_chosen_namespaces_and_no_other() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    for namespace in ("a", "b", "c"):
        fake.put(TASKRUNS, body(namespace, "first"))
    seen: list[Notice[str]] = []
    reflector = Reflector(
        Api(fake, clock), TASKRUNS, name_of, on_change=seen.append, jitter=lambda: 1.0, namespaces=("a", "b")
    )
    running = asyncio.create_task(reflector.run())
    await settle()
    assert reflector.synced.is_set()
    assert {(note.namespace, note.name) for note in seen} == {("a", "first"), ("b", "first")}
    for namespace in ("b", "a", "c"):
        fake.put(TASKRUNS, body(namespace, "second"))
    await settle()
    assert {(note.namespace, note.name) for note in seen[2:]} == {("a", "second"), ("b", "second")}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_the_progress_of_a_namespace_hides_nothing_of_another() -> None:
    store: CacheStore[str] = CacheStore(name_of, lambda _: None)
    store.settle(set(), 20, "a")
    store.absorb(version("b", 10))
    store.absorb(version("a", 10))
    assert (store.get("b", "x"), store.get("a", "x")) == ("x", None)


def test_a_list_of_a_namespace_removes_nothing_of_another() -> None:
    store: CacheStore[str] = CacheStore(name_of, lambda _: None)
    store.absorb(version("b", 10))
    store.settle(set(), 30, "a")
    assert store.get("b", "x") == "x"
    store.settle(set(), 30, "b")
    assert store.get("b", "x") is None
