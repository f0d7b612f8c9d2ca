"""The time at which the API server shows the end of each wait, from one watch of Scheduled TaskRuns.

The measurement is the same for Torpor and its peers.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import constants, times

from benchmarks.harness.control_plane import NAMESPACE, ControlPlane
from benchmarks.harness.waiting import Object, new_events

_SELECTOR = f"spec.triggerPool={constants.DEFAULT_POOL},status.state=Scheduled"
_LIMIT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFire:
    """Both in seconds since the epoch: when the watch brought it, and its `firedAt`."""

    at: float
    fired_at: float


class FireObserver:
    """What has become Scheduled, by name."""

    def __init__(self) -> None:
        self.seen: dict[str, SeenFire] = {}
        self._more = asyncio.Event()

    async def reach(self, count: int) -> float:
        """Return once there are so many; when the last of them came (seconds since the epoch)."""
        async with asyncio.timeout(_LIMIT):
            while len(self.seen) < count:
                self._more.clear()
                await self._more.wait()
        return max(fire.at for fire in self.seen.values())

    def late(self, due: Mapping[str, float]) -> list[float]:
        """By how many seconds each came after it was due, in their order."""
        return [self.seen[name].at - at for name, at in due.items()]

    def note(self, kind: str, body: Object, now: float) -> None:
        """Take in an event of the watch."""
        if kind == "ADDED":
            self.seen[body["metadata"]["name"]] = SeenFire(at=now, fired_at=times.epoch(body["status"]["firedAt"]))
            self._more.set()


@asynccontextmanager
async def observing(plane: ControlPlane) -> AsyncIterator[FireObserver]:
    """Watches from now on. Raises what ends the watch."""
    observer = FireObserver()
    async with new_events(plane.api, TASKRUNS, NAMESPACE, observer.note, field_selector=_SELECTOR):
        yield observer
