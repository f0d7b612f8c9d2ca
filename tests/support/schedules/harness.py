"""The controller of Schedules with an API server in memory, in virtual time. Tests fire the sources and end the runs.

A cron source fires by itself when its tick is due, as a triggerer would let it. Reflectors report the Workflows instead
of kopf, and nothing runs them.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from torpor_crds.models import taskrun as taskruns
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import EVENTS, SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_operator.app import EnabledComponents
from torpor_operator.backfills.archived_runs import FindArchived, no_archive
from torpor_operator.backfills.controller import BackfillController
from torpor_operator.backfills.plan.snapshot import KnownRun
from torpor_operator.schedules.controller import ScheduleController
from torpor_operator.settings import Settings
from torpor_wire import constants, names, times, transitions
from torpor_wire.cron.ticks import Ticks
from torpor_wire.state import State

from tests.support.builders import NAMESPACE, Body
from tests.support.controller_harness import OperatorHarness, build_operator
from tests.support.fake_api import settle

TASKS = {"image": "i", "tasks": [{"name": "a", "python": "m:f"}]}

STREAM = {"name": "orders", "trigger": {"class": "redis", "kwargs": {"url": "redis://r", "stream": "o"}}}
HOOK = {"name": "hook", "trigger": {"class": "webhook", "kwargs": {}}}


def entry(number: int) -> dict[str, object]:
    """The event of the stream for its entry of this number."""
    return {"id": f"{number}-0", "fields": {"n": number}, "cursor": f"{number}-0"}


class ScheduleHarness(OperatorHarness):
    """One leader and its API server. `restart` replaces the leader."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.find_archived: FindArchived = no_archive
        self.is_leader = True
        self.settings = settings or Settings()

    def create(self, name: str, *sources: Body, **spec: Any) -> None:
        """Create a Schedule of a one-task Workflow."""
        metadata = {"name": name, "namespace": NAMESPACE}
        body = {"metadata": metadata, "spec": {"sources": list(sources), "workflow": TASKS, **spec}}
        self.fake.put(SCHEDULES, body)

    def edit(self, name: str, **spec: Any) -> None:
        """Change fields of the spec."""
        self.fake.edit(SCHEDULES, NAMESPACE, name, {"spec": spec})

    def schedule(self, name: str) -> Body:
        """The Schedule."""
        return self.get(SCHEDULES, name)

    def status(self, name: str) -> Body:
        """Its status."""
        status: Body = self.schedule(name).get("status", {})
        return status

    def condition(self, name: str, kind: str) -> Body:
        """One of its conditions."""
        return next(condition for condition in self.status(name)["conditions"] if condition["type"] == kind)

    def taskrun(self, schedule: str, source: str) -> TaskRun:
        """The TaskRun of a source."""
        name = names.taskrun(schedule, self.schedule(schedule)["metadata"]["uid"], source)
        return taskruns.parse(self.get(TASKRUNS, name))

    def runs(self, schedule: str) -> list[Body]:
        """The runs of a Schedule, the oldest event first."""
        uid = self.schedule(schedule)["metadata"]["uid"]
        runs = [run for run in self.fake.all(WORKFLOWS) if run["spec"].get("runOf", {}).get("uid") == uid]
        return sorted(runs, key=lambda run: (run["spec"]["runOf"]["at"], run["metadata"]["name"]))

    def events(self, reason: str) -> list[str]:
        """The messages of the Events with a reason."""
        return [event["note"] for event in self.fake.all(EVENTS) if event["reason"] == reason]

    def cursor(self, schedule: str, source: str) -> str | None:
        """The cursor with which a source is armed."""
        waiting = self.taskrun(schedule, source).status.trigger
        assert waiting is not None, "not armed"
        cursor: str | None = json.loads(waiting.kwargs).get("cursor")
        return cursor

    def fire(self, schedule: str, source: str, event: Any = None, *, deferred: float = 0.0) -> None:
        """Fire the trigger of a source. `deferred`: seconds for which it has waited in all."""
        run = self.taskrun(schedule, source)
        assert run.status.state is State.DEFERRED, f"source {source} is {run.status.state}"
        self.patch_taskrun(
            run.metadata.name, transitions.fire(run.pin(), json.dumps(event), deferred=deferred, now=self.clock.now())
        )

    def fail(self, schedule: str, source: str, patch: transitions.Patch) -> None:
        """Patch the status of a source's TaskRun."""
        self.patch_taskrun(self.taskrun(schedule, source).metadata.name, patch)

    def end(self, run: str, state: str = "Succeeded", reason: str = "", message: str = "") -> None:
        """End a run."""
        now = times.rfc3339(self.clock.now())
        condition = {
            "type": "Succeeded",
            "status": "True" if state == "Succeeded" else "False",
            "reason": reason or state,
            "message": message,
            "lastTransitionTime": now,
        }
        status = {"state": state, "startTime": now, "completionTime": now, "conditions": [condition]}
        self.fake.edit(WORKFLOWS, NAMESPACE, run, {"status": status})

    async def advance(self, seconds: float) -> None:
        """Advance the clock second by second; due ticks fire."""
        for _ in range(round(seconds)):
            await self.clock.advance(1.0)
            self.fire_due()
            await settle()

    async def pause(self, seconds: float) -> None:
        """Advance the clock while all triggerers are down."""
        for _ in range(round(seconds)):
            await self.clock.advance(1.0)
            await settle()

    def fire_due(self) -> None:
        """Fire every cron source whose tick is due."""
        for run in map(taskruns.parse, self.fake.all(TASKRUNS)):
            if run.status.state is State.DEFERRED and run.status.trigger and run.status.trigger.class_name == "cron":
                kwargs = json.loads(run.status.trigger.kwargs)
                ticks = Ticks.parse(kwargs["expression"], kwargs["timezone"])
                tick = ticks.next(times.epoch(kwargs["cursor"]))
                if tick is not None and tick + kwargs.get("delay", 0.0) <= self.clock.now():
                    at = times.rfc3339(tick)
                    event = json.dumps({"at": at, "cursor": at})
                    self.patch_taskrun(
                        run.metadata.name, transitions.fire(run.pin(), event, deferred=0.0, now=self.clock.now())
                    )

    async def start(self) -> None:
        """Start a leader."""
        api = Api(self.fake, self.clock, jitter=lambda: 0.5)
        enabled = EnabledComponents(schedules=False)
        context = build_operator(api, self.settings, enabled, is_leader=lambda: self.is_leader).context
        cache = context.cluster
        schedules = ScheduleController(context)
        backfills = BackfillController(context, schedules.cache, self._find_archived)

        workflows = self.watch_workflows(api, cache)
        watched = (loop() for loop in (cache.taskruns.run, workflows.run, *schedules.watches(), *backfills.watches()))
        self._tasks = [asyncio.create_task(item) for item in watched]
        await settle()
        while not (cache.taskruns.synced.is_set() and workflows.synced.is_set()):  # as a leader waits for its lists
            await self.clock.advance(0.5)
        self._tasks += [asyncio.create_task(kind.run()) for kind in (schedules, backfills)]
        await settle()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ScheduleHarness"]:
        """Run a leader."""
        await self.start()
        try:
            yield self
        finally:
            await self.stop()

    async def _find_archived(self, namespace: str, name: str) -> KnownRun | None:
        return await self.find_archived(namespace, name)  # which a test replaces later


QUEUED = constants.LABEL_QUEUED
