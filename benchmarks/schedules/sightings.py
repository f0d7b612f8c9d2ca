"""Records the runs of Schedules as one watch of the Workflows reports them, with the local clock."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import times

from benchmarks.harness.control_plane import NAMESPACE, ControlPlane
from benchmarks.harness.waiting import new_events


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSighting:
    """A run: its Schedule, the time of its event, that of its first sighting (seconds since the epoch), its event."""

    schedule: str
    at: float
    seen: float
    event: Any


@dataclass(slots=True)
class RunSightings:
    """`runs` by uid, and how many of them have been deleted."""

    runs: dict[str, RunSighting] = field(default_factory=dict)
    deleted: int = 0

    def ticks(self, begin: float, end: float) -> Counter[tuple[str, float]]:
        """The number of runs of each tick of each Schedule between two times; the end is excluded."""
        return Counter((run.schedule, run.at) for run in self.runs.values() if begin <= run.at < end)

    def lateness(self, begin: float, end: float, delays: Mapping[str, float]) -> list[float]:
        """Seconds from each tick between two times, plus the delay of its Schedule, to the first sighting."""
        runs = (run for run in self.runs.values() if begin <= run.at < end)
        return [run.seen - run.at - delays.get(run.schedule, 0.0) for run in runs]

    def note(self, kind: str, body: Mapping[str, Any], now: float) -> None:
        """Take in an event of the watch."""
        run_of = body.get("spec", {}).get("runOf")  # a bookmark has no spec
        if kind == "DELETED":
            self.deleted += 1
        elif kind == "ADDED" and run_of is not None:
            event = json.loads(run_of.get("event") or "null")
            self.runs[body["metadata"]["uid"]] = RunSighting(
                schedule=run_of["schedule"], at=times.epoch(run_of["at"]), seen=now, event=event
            )


@asynccontextmanager
async def watching(plane: ControlPlane) -> AsyncIterator[RunSightings]:
    """Watch from now on. Raises what ends the watch."""
    sightings = RunSightings()
    async with new_events(plane.api, WORKFLOWS, NAMESPACE, sightings.note):
        yield sightings
