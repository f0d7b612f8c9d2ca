"""What the executors of Schedules and Backfills share: writes that end before the next leader lists, and Events."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from torpor_crds.models.base import Metadata
from torpor_kubernetes.client import events
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.client.write_limits import EventPoster
from torpor_wire import constants

from torpor_operator.model.actions import Notice

T = TypeVar("T")
_CONTROLLER = f"{constants.GROUP}/operator"


class Writes:
    """The running writes."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def finish(self, write: Coroutine[Any, Any, T]) -> T:
        """Shield a write from cancellation: the API server may carry out a request that was cut short."""
        task = asyncio.create_task(write)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def drain(self) -> None:
        """Wait until no write is running, so that the next leader's lists contain all of them."""
        while self._running:
            await asyncio.wait(set(self._running))


async def post_events(poster: EventPoster, resource: Resource, about: Metadata, notices: Iterable[Notice]) -> None:
    """Post Events about an object. One that cannot be posted is logged and lost."""
    for notice in notices:
        body = events.build(
            events.reference(resource, namespace=about.namespace, name=about.name, uid=about.uid),
            reason=notice.reason,
            message=notice.message,
            type="Warning" if notice.warning else "Normal",
            reporting_controller=_CONTROLLER,
            now=poster.now(),
        )
        await poster.try_post(body)
