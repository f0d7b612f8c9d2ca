"""Waiting for conditions, work in the background, and watches."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Never, TypeVar

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource

Object = dict[str, Any]
Item = TypeVar("Item")


async def until(holds: Callable[[], bool | Awaitable[bool]], limit: float, *, every: float = 0.1) -> None:
    """Return once it holds. Raises TimeoutError after `limit` seconds."""
    async with asyncio.timeout(limit):
        while not await _value(holds()):  # noqa: ASYNC110 - what is asked sends no notification
            await asyncio.sleep(every)


async def _value(answer: bool | Awaitable[bool]) -> bool:
    return await answer if inspect.isawaitable(answer) else bool(answer)


@asynccontextmanager
async def background(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Run this for as long as the block lasts."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def watched(
    api: Api, kind: Resource, read: Callable[[Object], Item], note: Callable[[Item], None], **selection: Any
) -> AsyncIterator[None]:
    """Call `note` with what `read` keeps of each object that is there, appears or changes."""

    def changed(change: Notice[Item]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        if change.item is not None:
            note(change.item)

    reflector = Reflector(api, kind, read, on_change=changed, jitter=lambda: 0.5, **selection)
    async with background(reflector.run()):
        await reflector.synced.wait()
        yield


@asynccontextmanager
async def new_events(
    api: Api, kind: Resource, namespace: str, note: Callable[[str, Object, float], None], *, field_selector: str = ""
) -> AsyncIterator[None]:
    """Call `note` with type, object and time (seconds since the epoch) of each event from now on.

    Raises what ends the watch.
    """
    version = (await api.list(kind, namespace, field_selector=field_selector)).resource_version

    async def follow() -> Never:
        nonlocal version
        while True:
            async for event in api.watch(kind, namespace, resource_version=version, field_selector=field_selector):
                version = event.object["metadata"]["resourceVersion"]
                note(event.type, event.object, time.time())

    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow())
        yield
        task.cancel()
