"""Records the runs of Schedules as one watch of the Workflows reports them, with the local clock."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Never

from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import times

from benchmarks.triggerer.plane import NAMESPACE, Plane


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A run: its Schedule, the time of its event, that of its first sighting (seconds since the epoch), its event."""

    schedule: str
    at: float
    seen: float
    event: Any


@dataclass(slots=True)
class Sightings:
    """`runs` by uid, and how many of them have been deleted."""

    runs: dict[str, Sighting] = field(default_factory=dict)
    deleted: int = 0

    def ticks(self, begin: float, end: float) -> Counter[tuple[str, float]]:
        """The number of runs of each tick of each Schedule between two times; the end is excluded."""
        return Counter((one.schedule, one.at) for one in self.runs.values() if begin <= one.at < end)

    def lateness(self, begin: float, end: float, delays: Mapping[str, float]) -> list[float]:
        """Seconds from each tick between two times, plus the delay of its Schedule, to the first sighting."""
        found = (one for one in self.runs.values() if begin <= one.at < end)
        return [one.seen - one.at - delays.get(one.schedule, 0.0) for one in found]

    def note(self, kind: str, body: Mapping[str, Any], now: float) -> None:
        """Take in an event of the watch."""
        run_of = body.get("spec", {}).get("runOf")  # a bookmark has no spec
        if kind == "DELETED":
            self.deleted += 1
        elif kind == "ADDED" and run_of is not None:
            event = json.loads(run_of.get("event") or "null")
            self.runs[body["metadata"]["uid"]] = Sighting(
                schedule=run_of["schedule"], at=times.epoch(run_of["at"]), seen=now, event=event
            )


@asynccontextmanager
async def watching(plane: Plane) -> AsyncIterator[Sightings]:
    """Watch from now on. Raises what ends the watch."""
    found = Sightings()
    version = (await plane.api.list(WORKFLOWS, NAMESPACE)).resource_version
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_watch(plane, found, version))
        yield found
        task.cancel()


async def _watch(plane: Plane, found: Sightings, version: str) -> Never:
    while True:
        async for event in plane.api.watch(WORKFLOWS, NAMESPACE, resource_version=version):
            version = event.object["metadata"]["resourceVersion"]
            found.note(event.type, event.object, time.time())
