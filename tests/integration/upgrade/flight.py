"""Runs that are under way during an upgrade: waits, retries, archived results, and a Schedule that ticks."""

import time
import uuid
from dataclasses import dataclass, field
from random import Random
from typing import Any

from torpor_wire import times

from tests.integration.conftest import collection
from tests.integration.faults import reference
from tests.integration.faults.installation import ProcessInstallation, has_ended
from tests.integration.faults.scene import DisruptedRun
from tests.support.manifests import manifest

Object = dict[str, Any]
_TICK = 5
_WAIT = 1.0
_ALARM = {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": f"{_WAIT:.0f}s"}}}


@dataclass(kw_only=True, eq=False)
class Flight:
    """Runs of one namespace. `probes` are runs of one short wait, whose delay is measured."""

    installation: ProcessInstallation
    namespace: str
    scenes: list[DisruptedRun] = field(default_factory=list)
    probes: list[str] = field(default_factory=list)
    schedule: str = ""
    scheduled: float = 0.0
    """When the Schedule was created, in seconds since the epoch."""

    def submit(self, image: str) -> None:
        """Start a reference run whose pods use the worker of this image."""
        run = self.installation.submit(self.namespace, reference.TASKS, image)
        scene = DisruptedRun(installation=self.installation, namespace=self.namespace, run=run, random=Random(run))
        self.scenes.append(scene)

    def start_schedule(self) -> None:
        """Create a Schedule whose ticks start runs every few seconds."""
        self.schedule = f"often-{uuid.uuid4().hex[:8]}"
        spec = {
            "sources": [{"name": "tick", "cron": f"*/{_TICK} * * * * *"}],
            "concurrencyPolicy": "Allow",
            "missed": {"run": "All"},
            "history": {"succeeded": 1000},
            "workflow": {"tasks": [_ALARM]},
        }
        body = manifest("Schedule", self.schedule, spec)
        created = self.installation.request("POST", collection("schedules", self.namespace), body).expect(201)
        self.scheduled = times.epoch(created["metadata"]["creationTimestamp"])

    def stop_schedule(self) -> None:
        """Wait for the run of the last tick until now, and let no further tick start one."""
        now = time.time()
        self.installation.until(
            lambda: (self.step(), max(self._ticks(), default=0) > now - _TICK)[1], "the last tick has started a run"
        )
        path = f"{collection('schedules', self.namespace)}/{self.schedule}"
        ops = [{"op": "add", "path": "/spec/suspend", "value": True}]
        self.installation.request("PATCH", path, ops, content_type="application/json-patch+json").expect(200)

    def probe(self) -> None:
        """Start a run of one short wait."""
        self.probes.append(self.installation.submit(self.namespace, [_ALARM]))

    def step(self) -> bool:
        """Check the invariants of all runs, and approve. Returns whether all have ended."""
        ended = [scene.step() for scene in self.scenes]
        return all(ended) and all(map(has_ended, self._workflows()))

    def finish(self) -> None:
        """Wait for the ends of all runs."""
        self.installation.until(self.step, "the ends of all runs")

    def judge(self) -> list[str]:
        """Return what is lost or repeated: of the reference runs, of the ticks, and of the probes."""
        judged = {scene.run: scene.judge() for scene in self.scenes}
        wrong = [f"{run}: {each}" for run, (lost, repeated) in judged.items() for each in (*lost, *repeated)]
        ticks = self._ticks()
        first = ticks[0] if ticks[0] <= self.scheduled else int(self.scheduled) // _TICK * _TICK + _TICK
        expected = [first + _TICK * number for number in range(len(ticks))]
        if ticks != expected:
            wrong.append(f"ticks {ticks} instead of {expected}")
        states = {run["metadata"]["name"]: run["status"]["state"] for run in self._workflows()}
        return wrong + [f"{name}: {state}" for name, state in states.items() if state != "Succeeded"]

    def longest_delay(self) -> float:
        """Return how many seconds the slowest probe took longer than its wait."""
        runs = [self.installation.workflow(self.namespace, name) for name in self.probes]
        return max(
            times.epoch(run["status"]["completionTime"]) - times.epoch(run["metadata"]["creationTimestamp"]) - _WAIT
            for run in runs
        )

    @property
    def ticks(self) -> int:
        """How many ticks have started runs."""
        return len(self._ticks())

    def _ticks(self) -> list[int]:
        runs = [run["spec"].get("runOf", {}) for run in self._workflows()]
        return sorted(int(times.epoch(run["at"])) for run in runs if run.get("schedule"))

    def _workflows(self) -> list[Object]:
        return self.installation.items("workflows", self.namespace)


def pause(installation: ProcessInstallation, flight: Flight, seconds: float) -> None:
    """Let the runs go on for a while, with a probe."""
    flight.probe()
    end = time.monotonic() + seconds
    installation.until(lambda: (flight.step(), time.monotonic() >= end)[1], "time passes")
