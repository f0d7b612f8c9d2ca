"""The loop: take a Workflow's key, observe, plan, answer, apply, write the status, and come back when it is time.

Nothing is planned before all stores are synced. One Workflow's trouble is logged and put off with growing delays;
it never stops the others. Nor does one that waits for an answer: meanwhile others are worked on.
"""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Never

from torpor_api.client import errors
from torpor_api.models.workflow import Workflow
from torpor_api.timing import Clock

from torpor_operator.controller.cache import Observer
from torpor_operator.controller.executor import Applier
from torpor_operator.controller.garbage_collector import OrphanReporter, Orphans
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.model.actions import Evaluate, Need, Plan, PostEvent
from torpor_operator.model.snapshot import Answer, NotArchived, Presence, Snapshot
from torpor_operator.plan.planner import plan
from torpor_operator.settings import Settings

_LOG = logging.getLogger(__name__)
_FIRST_DELAY, _LAST_DELAY = 0.5, 30.0
_REST = 0.0001
"""Seconds a TaskRun between two plans: some ten times what a plan costs, so that one Workflow takes a tenth of a core.

Reckoned by size, not by what the last plan took: on a crowded machine that is what others took.
"""


@dataclass(slots=True, kw_only=True)
class Memory:
    """What is remembered of a Workflow between two plans; all of it may be lost without harm."""

    uid: str = ""
    known: dict[Need, Answer] = field(default_factory=dict)
    posted: set[str] = field(default_factory=set)
    status_written: float = 0.0
    rests_until: float = 0.0
    failures: int = 0


class Reconciler:
    """Works the queue, several Workflows at a time."""

    def __init__(  # noqa: PLR0913 - the parts, each replaceable by a simulation
        self,
        *,
        clock: Clock,
        queue: WorkQueue,
        observer: Observer,
        answerer: QueryResolver,
        applier: Applier,
        orphans: Orphans,
        settings: Settings,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._observer = observer
        self._answerer = answerer
        self._applier = applier
        self._orphans = orphans
        self._settings = settings
        self._jitter = jitter
        self._memories: defaultdict[Key, Memory] = defaultdict(Memory)
        self._slots = asyncio.Semaphore(settings.reconcilers)

    async def run(self) -> None:
        """Work until cancelled; what is being written then is written to its end, for the next leader to see."""
        strays = OrphanReporter(self._observer, self._clock, self._settings.stray_grace)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._resync())
                group.create_task(self._observer.ledger.run())
                group.create_task(self._orphans.run(self._applier))
                group.create_task(strays.run(self._applier))
                group.create_task(self._dispatch(group))
        finally:
            await self._applier.settled()

    async def _dispatch(self, group: asyncio.TaskGroup) -> Never:
        while True:
            key = await self._queue.get()
            await self._slots.acquire()
            group.create_task(self._work(key))

    async def _work(self, key: Key) -> None:
        memory = self._memories[key]
        try:
            await self._attempt(key, memory)
        finally:
            self._queue.done(key, rests_until=memory.rests_until)
            self._slots.release()

    async def _resync(self) -> Never:
        """Looks at every Workflow now and then, in case a change was missed or a clock was wrong."""
        while True:
            await self._clock.sleep(self._settings.resync)
            keys = list(self._observer.workflows)
            await self._forget_vanished()
            for key in keys:
                self._queue.add(key)

    async def _forget_vanished(self) -> None:
        try:
            for workflow in await self._answerer.vanished(list(self._observer.workflows.values())):
                self._observer.lost_workflow(workflow)
        except errors.ApiError as error:
            _LOG.warning("cannot list Workflows: %s", error.message)

    async def _attempt(self, key: Key, memory: Memory) -> None:
        try:
            again_at = await self._reconcile(key, memory)
        except errors.ApiError as error:
            _LOG.warning("%s/%s: %s", *key, error.message)
            again_at = self._put_off(key, memory)
        except Exception:  # noqa: BLE001 - a border: one Workflow never stops the others
            _LOG.exception("%s/%s: a bug; this Workflow is put off, the others go on", *key)
            again_at = self._put_off(key, memory)
        if key not in self._observer.workflows:
            self._memories.pop(key, None)
        elif again_at is not None:
            self._queue.add_at(key, again_at)

    def _put_off(self, key: Key, memory: Memory) -> float:
        """When to try a Workflow again that could not be planned; until then no slot of a pool is kept for it."""
        self._observer.ledger.withdraw(key)
        return self._later(memory)

    def _later(self, memory: Memory) -> float:
        memory.failures += 1
        delay = min(_LAST_DELAY, _FIRST_DELAY * 2.0 ** min(memory.failures, 10))
        return self._clock.now() + delay * (0.5 + self._jitter() / 2)

    async def _reconcile(self, key: Key, memory: Memory) -> float | None:
        planned = self._clock.monotonic()
        found = await self._planned(key, memory)
        if found is None:
            return None
        snapshot, made = found
        memory.rests_until = planned + len(snapshot.taskruns) * _REST
        workflow = snapshot.workflow
        events = [event for event in made.events if event.key not in memory.posted]
        made = replace(made, actions=tuple(self._observer.ledger.admitted(key, made.actions)))
        done, stated = await self._carried_out(workflow, made, events, memory)
        memory.posted.update(event.key for event in events)
        # What was done is reported by the stores, which asks for the next plan. A lost race is not asked again at once:
        # until the winner's version comes, a plan would only lose again.
        moments = [made.again_at, stated]
        if done:
            memory.failures = 0
        else:
            moments.append(self._later(memory))
        return min((moment for moment in moments if moment is not None), default=None)

    async def _carried_out(
        self, workflow: Workflow, made: Plan, events: Sequence[PostEvent], memory: Memory
    ) -> tuple[bool, float | None]:
        """Whether all was done, and when to write the status again.

        Side by side: the status says what was seen before either, and a short run waits for each round trip.
        """
        async with asyncio.TaskGroup() as group:
            applying = group.create_task(self._applier.apply(workflow, [*made.actions, *events]))
            stating = group.create_task(self._stated(workflow, made, memory))
        match stating.result():
            case errors.ApiError() as error:
                _LOG.warning(
                    "%s/%s: its status: %s", workflow.metadata.namespace, workflow.metadata.name, error.message
                )
                return False, None
            case moment:
                return applying.result(), moment

    async def _planned(self, key: Key, memory: Memory) -> tuple[Snapshot, Plan] | None:
        """The plan, once everything it asked for has been answered."""
        while True:
            snapshot = self._observer.snapshot(key, memory.known, self._settings, self._clock.now())
            if snapshot is None:
                return None
            if memory.uid != snapshot.workflow.metadata.uid:
                memory.uid, memory.known, memory.posted = snapshot.workflow.metadata.uid, {}, set()
                continue
            made = plan(snapshot)
            open_needs = [need for need in made.needs if need not in memory.known]
            if not open_needs:
                break
            memory.known |= remembered(await self._answered(key, open_needs))
        # That an object is there was true then; the next plan asks anew.
        memory.known = {
            need: answer for need, answer in memory.known.items() if not isinstance(answer, Presence | NotArchived)
        }
        return snapshot, made

    async def _answered(self, key: Key, needs: Sequence[Need]) -> dict[Need, Answer]:
        """The answers; others are worked on while this one waits, since an expression or a server may take long."""
        self._slots.release()
        try:
            return await self._answerer.answer(needs, share=key.namespace)
        finally:
            await self._slots.acquire()

    async def _stated(self, workflow: Workflow, made: Plan, memory: Memory) -> float | errors.ApiError | None:
        """When to write the status again; or why it could not be written, which is no reason to stop what goes on."""
        try:
            return await self._write_status(workflow, made, memory)
        except errors.ApiError as error:
            return error

    async def _write_status(self, workflow: Workflow, made: Plan, memory: Memory) -> float | None:
        """Write a status that has changed: at once at the beginning and the end, else at most so often."""
        if made.status is None or made.status == workflow.status:
            return None
        now = self._clock.now()
        ends = made.status.completion_time is not None and workflow.status.completion_time is None
        urgent = ends or workflow.status.start_time is None
        due = memory.status_written + self._settings.status_interval
        if not urgent and now < due:
            return due
        stored = await self._applier.write_status(workflow, made.status)
        memory.status_written = now
        return None if stored else now + self._settings.status_interval


def remembered(answers: Mapping[Need, Answer]) -> dict[Need, Answer]:
    """Answers without what they were made from, which may be all results of a task for each of its instances."""
    return {
        replace(need, variables={}) if isinstance(need, Evaluate) else need: answer for need, answer in answers.items()
    }
