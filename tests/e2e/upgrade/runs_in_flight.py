"""Runs that are under way during an upgrade on a cluster: an approval, a pod, a retry, and a Schedule that ticks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_wire import times

from tests.e2e.support.installation import ASK, TEAM, WORK, ClusterInstallation

_TICK = 10
_SUCCEEDS_LATER: Mapping[str, Any] = {
    "name": "again",
    "container": {"command": ["python", "-c", "import os, sys; sys.exit(os.environ['TORPOR_ATTEMPT'] == '1')"]},
    "retries": {"limit": 2, "delay": "2m"},
}
_STAYS: Mapping[str, Any] = {
    "name": "stay",
    "container": {"command": ["python", "-c", "import time; time.sleep(120)"]},
}
_ALARM: Mapping[str, Any] = {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
_ATTEMPTS = {"ask": 1, "work": 1, "stay": 1, "again": 2}


@dataclass(kw_only=True, eq=False)
class RunsInFlight:
    """One run with each kind of wait, whose pods use the former image, and a Schedule. `name` prefixes both."""

    site: ClusterInstallation
    name: str
    uids: dict[str, str] = field(default_factory=dict)
    asked: str = ""

    def start(self, version: str) -> None:
        """Start them, and wait until a task is deferred, one runs, one waits for its retry, and a tick has started."""
        self.site.start(self.name, ASK, {**WORK, "after": ["ask"]}, _STAYS, _SUCCEEDS_LATER, version=version)
        spec = {
            "sources": [{"name": "tick", "cron": f"*/{_TICK} * * * * *"}],
            "concurrencyPolicy": "Allow",
            "missed": {"run": "All"},
            "history": {"succeeded": 1000},
            "workflow": {"tasks": [_ALARM]},
        }
        body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Schedule", "metadata": {"name": self._schedule}}
        self.site.kubectl.run("create", "-n", TEAM, "-f", "-", stdin=json.dumps({**body, "spec": spec}))
        self.asked = self.site.reached(self.name, "ask", "Deferred")
        self.site.reached(self.name, "again", "UpForRetry")
        self.site.reached(self.name, "stay", "Running")
        self.uids = {run["metadata"]["name"]: run["metadata"]["uid"] for run in self._taskruns()}

    def finish(self) -> list[str]:
        """Approve, wait for the ends, and return what is lost or repeated."""
        self.site.approve(self.asked)
        self.site.succeeded(self.name)
        suspend = '{"spec":{"suspend":true}}'
        self.site.kubectl.run("patch", "schedule", self._schedule, "-n", TEAM, "--type=merge", "-p", suspend)
        ticked = ("-l", f"torpor.dev/schedule={self._schedule}")
        ended = ("--for=condition=Succeeded", "--timeout=300s")
        self.site.kubectl.run("wait", "-n", TEAM, "workflow", *ticked, *ended, limit=330)
        return [*self._replaced(), *self._repeated(), *self._lost_ticks()]

    def longest_delay(self) -> float:
        """The seconds from a tick to the end of its run, above the second that the run waits: the longest."""
        return max(times.epoch(run["status"]["completionTime"]) - _tick(run) - 1 for run in self._ticks())

    @property
    def ticks(self) -> int:
        """How many ticks have started runs."""
        return len(self._ticks())

    @property
    def _schedule(self) -> str:
        return f"{self.name}-often"

    def _replaced(self) -> list[str]:
        now = {run["metadata"]["name"]: run["metadata"]["uid"] for run in self._taskruns()}
        return [f"TaskRun {name} was replaced" for name, uid in self.uids.items() if now.get(name) != uid]

    def _repeated(self) -> list[str]:
        """The tasks whose attempts or launches are not those of a run without an upgrade."""
        found = {run["spec"]["task"]: run["status"] for run in self._taskruns()}
        expected = {task: (attempt, 0) for task, attempt in _ATTEMPTS.items()}
        actual = {task: (status["attempt"], status["launch"]) for task, status in found.items()}
        return [] if actual == expected else [f"attempts and launches {actual} instead of {expected}"]

    def _lost_ticks(self) -> list[str]:
        ticks = sorted(map(_tick, self._ticks()))
        expected = [ticks[0] + _TICK * number for number in range(len(ticks))]
        return [] if ticks == expected else [f"ticks {ticks} instead of {expected}"]

    def _taskruns(self) -> list[dict[str, Any]]:
        return list(self.site.kubectl.read("taskruns", "-n", TEAM, "-l", f"torpor.dev/workflow={self.name}")["items"])

    def _ticks(self) -> list[dict[str, Any]]:
        selected = ("-n", TEAM, "-l", f"torpor.dev/schedule={self._schedule}")
        return list(self.site.kubectl.read("workflows", *selected)["items"])


def _tick(run: dict[str, Any]) -> float:
    return times.epoch(run["spec"]["runOf"]["at"])
