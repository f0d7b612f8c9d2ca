"""When the API server shows that a wait is over: one watch of what is Scheduled, the same beside whoever fires."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Never

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import constants, times

from benchmarks.triggerer.plane import NAMESPACE, Plane

_SELECTOR = f"spec.triggerPool={constants.DEFAULT_POOL},status.state=Scheduled"
_LIMIT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Both in seconds since the epoch: when the watch brought it, and what stands as `firedAt`."""

    at: float
    fired_at: float


class Observer:
    """What has become Scheduled, by name."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}
        self._more = asyncio.Event()

    async def reach(self, count: int) -> float:
        """Return once there are so many; when the last of them came (seconds since the epoch)."""
        async with asyncio.timeout(_LIMIT):
            while len(self.seen) < count:
                self._more.clear()
                await self._more.wait()
        return max(one.at for one in self.seen.values())

    def late(self, due: Mapping[str, float]) -> list[float]:
        """By how many seconds each came after it was due, in their order."""
        return [self.seen[name].at - at for name, at in due.items()]

    def note(self, name: str, seen: Seen) -> None:
        """One more."""
        self.seen[name] = seen
        self._more.set()


@asynccontextmanager
async def observing(plane: Plane) -> AsyncIterator[Observer]:
    """Watches from now on. Raises what ends the watch, if anything does."""
    observer = Observer()
    version = (await plane.api.list(TASKRUNS, NAMESPACE, field_selector=_SELECTOR)).resource_version
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_watch(plane, observer, version))
        yield observer
        task.cancel()


async def _watch(plane: Plane, observer: Observer, version: str) -> Never:
    while True:
        async for event in plane.api.watch(TASKRUNS, NAMESPACE, resource_version=version, field_selector=_SELECTOR):
            version = event.object["metadata"]["resourceVersion"]
            if event.type == "ADDED":
                fired = times.epoch(event.object["status"]["firedAt"])
                observer.note(event.object["metadata"]["name"], Seen(at=time.time(), fired_at=fired))
