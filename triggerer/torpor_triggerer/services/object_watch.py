"""Watches one Kubernetes object of any kind: reads it once, then follows each change.

All waits for one kind in one namespace share one watch, so a thousand of them are one connection. Only namespaced
kinds, since the triggerer may read more than the wait's author. An error that waiting cannot solve (no such kind, no
permission) is raised.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from torpor_kubernetes.cache.store import version_of
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource
from torpor_wire.retry import Backoff

from torpor_triggerer.services.client_pool import ClientPool

RETRY = Backoff(first=0.2, cap=30.0)
LONG = 10.0
LABEL_WATCH = "torpor.dev/aggregate-to-triggerer-watch"
_UNSEEN_MAX = 32
_UNSEEN_BYTES = 256 * 1024
T = TypeVar("T")

log = logging.getLogger(__name__)


class WatchedObject(NamedTuple):
    """The object; `managed` includes managedFields, which show who answered an approval and when."""

    api_version: str
    kind: str
    namespace: str
    name: str
    managed: bool = False


class Subscription:
    """The versions of one object that its reader has not seen yet; only the last of many or large ones."""

    def __init__(self) -> None:
        self._unseen: deque[tuple[Mapping[str, Any], int]] = deque(maxlen=_UNSEEN_MAX)
        self._woken = asyncio.Event()
        self._broken: BaseException | None = None

    def show(self, version: Mapping[str, Any], size: int) -> None:
        """Add a version of about so many bytes."""
        self._unseen.append((version, size))
        while len(self._unseen) > 1 and sum(each for _, each in self._unseen) > _UNSEEN_BYTES:
            self._unseen.popleft()
        self._woken.set()

    def fail(self, error: BaseException) -> None:
        """End the subscription with an error."""
        self._broken = error
        self._woken.set()

    async def next(self) -> Mapping[str, Any]:
        """Return the next version. Raises the error that ended the watch."""
        while not self._unseen:
            if self._broken is not None:
                raise self._broken
            self._woken.clear()
            await self._woken.wait()
        version, _ = self._unseen.popleft()
        return version


class Listener(Protocol):
    """Is called for each change of an object that the watch follows. It must not raise."""

    def changed(self, version: Mapping[str, Any]) -> None:
        """An object was created or modified."""

    def interrupted(self) -> None:
        """Changes may have been missed."""

    def fail(self, error: BaseException) -> None:
        """The watch has ended with an error."""


class KindWatch:
    """The watch of one kind in one namespace, and its subscriptions.

    It neither keeps nor lists other objects: a namespace may have a hundred thousand.
    """

    def __init__(self, api: Api, resource: Resource, namespace: str) -> None:
        self._api = api
        self._resource = resource
        self._namespace = namespace
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._listeners: set[Listener] = set()
        self._failures = 0
        self._broken: BaseException | None = None
        self._begun = asyncio.Event()
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._ended)

    @contextmanager
    def looking(self, name: str) -> Iterator[Subscription]:
        """Subscribe to an object inside the block."""
        subscription = Subscription()
        self._subscriptions.setdefault(name, set()).add(subscription)
        if self._broken is not None:
            subscription.fail(self._broken)
        try:
            yield subscription
        finally:
            self._subscriptions[name].discard(subscription)
            if not self._subscriptions[name]:
                del self._subscriptions[name]

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Call a listener inside the block."""
        self._listeners.add(listener)
        if self._broken is not None:
            listener.fail(self._broken)
        try:
            yield
        finally:
            self._listeners.discard(listener)

    async def begun(self) -> None:
        """Return when the start of the watch is known: a change before it could be missed."""
        await self._begun.wait()

    async def close(self) -> None:
        """End the watch."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        """Watch until cancelled. Raises `errors.Forbidden` if the first request is forbidden."""
        version = await self._begin()
        while True:
            try:
                if not version:
                    position = await self._position()
                    await self._read_again()
                    version = position
                version = await self._follow(version)
            except errors.Gone:
                version = ""
            except errors.ApiError as error:
                self._failures += 1
                log.info("%s in %s: watch failed; retrying: %s", self._resource.plural, self._namespace, error.message)
            await self._pause()

    async def _begin(self) -> str:
        """Return the resourceVersion to watch from; empty if the API server does not answer."""
        try:
            return await self._position()
        except errors.Forbidden:
            raise
        except errors.ApiError as error:
            log.info("%s in %s: %s", self._resource.plural, self._namespace, error.message)
            return ""
        finally:
            self._begun.set()

    async def _position(self) -> str:
        """Return the current resourceVersion."""
        async with aclosing(self._api.pages(self._resource, self._namespace, limit=1)) as pages:
            return (await anext(pages)).resource_version

    async def _read_again(self) -> None:
        """Read all subscribed objects: changes may have been missed."""
        for name in list(self._subscriptions):
            item = await _read(self._api, self._resource, self._namespace, name)
            if item is not None:
                self._show(name, item)
        for listener in self._listeners:
            listener.interrupted()

    async def _follow(self, version: str) -> str:
        """Run one watch and return where the next starts. A short one without events counts as a failure."""
        started = self._api.clock.monotonic()
        self._failures += 1
        events = self._api.watch(self._resource, self._namespace, resource_version=version)
        async with aclosing(events):
            async for event in events:
                self._failures = 0
                version = str(event.object["metadata"]["resourceVersion"])
                if event.type in {"ADDED", "MODIFIED"}:
                    self._show(event.object["metadata"]["name"], event.object)
                    for listener in self._listeners:
                        listener.changed(event.object)
        if self._api.clock.monotonic() - started >= LONG:
            self._failures = 0
        return version

    async def _pause(self) -> None:
        if self._failures:
            await self._api.clock.sleep(RETRY.delay(self._failures, self._api.jitter()))

    def _show(self, name: str, version: Mapping[str, Any]) -> None:
        subscriptions = self._subscriptions.get(name, ())
        size = len(json.dumps(version)) if subscriptions else 0
        for subscription in subscriptions:
            subscription.show(version, size)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            return
        self._broken = task.exception() or RuntimeError("the watch has ended")
        for subscription in [
            subscription for subscriptions in self._subscriptions.values() for subscription in subscriptions
        ]:
            subscription.fail(self._broken)
        for listener in self._listeners:
            listener.fail(self._broken)


async def versions(api: Api, clients: ClientPool, subject: WatchedObject) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the object's versions until cancelled; nothing while it does not exist.

    Raises ValueError for a kind that does not exist or has no namespace, PermissionError if it may not be read.
    """
    resource = await patiently(api, subject, lambda: namespaced_resource(api, subject))
    async with watch_of(api, clients, resource, subject.namespace) as watch:
        with watch.looking(subject.name) as subscription:
            known = 0
            await watch.begun()
            version = await patiently(api, subject, lambda: _read(api, resource, subject.namespace, subject.name))
            while True:
                if version is not None and version_of(version) > known:
                    known = version_of(version)
                    yield _shown(resource, version, managed=subject.managed)
                version = await patiently(api, subject, subscription.next)


def watch_of(
    api: Api, clients: ClientPool, resource: Resource, namespace: str
) -> AbstractAsyncContextManager[KindWatch]:
    """Return the shared watch of a kind in a namespace."""
    key = ("kubernetes", resource.api_version, resource.plural, namespace)
    return clients.acquire(key, partial(KindWatch, api, resource, namespace), KindWatch.close)


async def patiently(api: Api, subject: WatchedObject, ask: Callable[[], Awaitable[T]]) -> T:
    """Retry while the API server does not answer; raise an error that tells what to do if it refuses."""
    failures = 0
    while True:
        try:
            return await ask()
        except errors.Forbidden as error:
            raise PermissionError(
                f"the triggerer may not watch {subject.kind}: {error.message}; "
                f"an administrator can allow it with a ClusterRole labelled {LABEL_WATCH}, which the RoleBinding "
                "torpor-triggerer-watch of manifests/namespace binds"
            ) from error
        except errors.NotFound as error:
            raise ValueError(error.message) from error
        except errors.ApiError as error:
            log.info(
                "%s %s/%s: request failed; retrying: %s", subject.kind, subject.namespace, subject.name, error.message
            )
        failures += 1
        await api.clock.sleep(RETRY.delay(failures, api.jitter()))


async def namespaced_resource(api: Api, subject: WatchedObject) -> Resource:
    """Return the resource of a kind. Raises ValueError if it has no namespace."""
    resource = await api.discover(subject.api_version, subject.kind)
    if not resource.namespaced:
        raise ValueError(f"a {subject.kind} has no namespace, and a workflow can only wait for objects of its own")
    return resource


async def _read(api: Api, resource: Resource, namespace: str, name: str) -> Mapping[str, Any] | None:
    """The object as it is now. The watch may be behind, or may have shown it before the subscription."""
    page = await api.list(resource, namespace, field_selector=f"metadata.name={name}")
    return page.items[0] if page.items else None


def _shown(resource: Resource, item: Mapping[str, Any], *, managed: bool) -> Mapping[str, Any]:
    """The object as `kubectl get -o yaml` shows it: with apiVersion and kind, without managedFields."""
    metadata = {name: value for name, value in item["metadata"].items() if managed or name != "managedFields"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, **item, "metadata": metadata}
