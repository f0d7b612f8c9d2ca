"""Guards of Schedules: the order of the writes of an event, the identity of its run, and its limits."""

import dataclasses
from functools import partial
from typing import Any

from torpor_crds.models.base import Metadata
from torpor_kubernetes.client.api import Api, Object
from torpor_operator.controller import cluster_writer
from torpor_operator.schedules import executor
from torpor_operator.schedules.executor import ScheduleExecutor
from torpor_operator.schedules.plan import cron_source, join, planner, run_names, source, source_step
from torpor_operator.schedules.plan.concurrency import ConcurrencyLimit
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.schedules.plan.missed import CatchUp

from tests.simulation.mutants.mutant import Mutant, put
from tests.simulation.scenarios.random_schedules import FIRST_SEED

_LATE = 3.0
"""Seconds after which a mutant drops a tick: more than an event takes."""


def _failed_creation() -> None:
    apply = ScheduleExecutor.apply

    async def complete(self: Any, schedule: Any, actions: Any) -> Any:
        applied = await apply(self, schedule, actions)
        applied.complete = applied.storable = True
        return applied

    put(ScheduleExecutor, "apply", complete)


def _arm_at_once() -> None:
    handle = source_step._handle

    def handled(draft: Draft, room: ConcurrencyLimit, source: Any, taskrun: Any) -> None:
        before = draft.sources[source.name].handled
        handle(draft, room, source, taskrun)
        if draft.sources[source.name].handled != before:
            source_step._arm(draft, source, taskrun)

    put(source_step, "_handle", handled)


def _first_cursor() -> None:
    arm = source.arm
    put(source, "arm", lambda taskrun, cursor, now: arm(taskrun, "0" if (cursor or "").isdigit() else cursor, now))


def _without_segment() -> None:
    event_key = run_names.event_key

    def first_segment(uid: str, source: str, taskrun_uid: str, attempt: int, _: int) -> str:
        return event_key(uid, source, taskrun_uid, attempt, 0)

    put(run_names, "event_key", first_segment)


def _any_origin() -> None:
    put(executor, "_origin", lambda _: [])


def _any_version() -> None:
    delete = Api.delete

    async def delete_any(self: Api, *args: Any, resource_version: str | None = None, **kwargs: Any) -> None:
        await delete(self, *args, **kwargs)

    put(Api, "delete", delete_any)


def _cached_runs() -> None:
    put(
        ConcurrencyLimit,
        "is_full",
        property(lambda room: room.max_active is not None and len(room.active) >= room.max_active),
    )


def _kept_events() -> None:
    apply = join.apply

    def kept(draft: Draft, room: ConcurrencyLimit) -> None:
        pending = {name: one.pending for name, one in draft.sources.items()}
        apply(draft, room)
        for name, event in pending.items():
            draft.update_source(name, pending=event)

    put(join, "apply", kept)


def _one_tick_less() -> None:
    missed = cron_source.missed

    def caught_up(draft: Draft, source: Any, now: float) -> CatchUp:
        found = missed(draft, source, now)
        tick = cron_source.ticks_of(source).next(found.cursor)
        if tick is None or tick > now - _LATE:
            return found
        return CatchUp(cursor=tick, missed=found.missed + 1, last=tick)

    put(cron_source, "missed", caught_up)


def _ticks_of_a_suspension() -> None:
    resume = planner._resume

    def resumed(snapshot: Any) -> Any:
        plan = resume(snapshot)
        if plan is None or plan.status is None:
            return plan
        status = plan.status.model_copy(update={"sources": snapshot.schedule.status.sources})
        return dataclasses.replace(plan, status=status)

    put(planner, "DECISIONS", tuple(resumed if decision is resume else decision for decision in planner.DECISIONS))


def _while_suspended() -> None:
    run = planner._run

    def resumed(snapshot: Any) -> Any:
        spec = snapshot.schedule.spec.model_copy(update={"suspend": False})
        schedule = snapshot.schedule.model_copy(update={"spec": spec})
        plan = run(dataclasses.replace(snapshot, schedule=schedule))
        status = plan.status and plan.status.model_copy(update={"suspended": snapshot.schedule.spec.suspend})
        return dataclasses.replace(plan, status=status)

    put(planner, "DECISIONS", tuple(resumed if decision is run else decision for decision in planner.DECISIONS))


def _newest_first() -> None:
    start_queued = ConcurrencyLimit.start_queued

    def started(self: ConcurrencyLimit) -> Any:
        self.queued.reverse()
        return start_queued(self)

    put(ConcurrencyLimit, "start_queued", started)


def _old_status() -> None:
    def same_object(metadata: Metadata) -> list[Object]:
        return [{"op": "test", "path": "/metadata/uid", "value": metadata.uid}]

    put(cluster_writer, "preconditions", same_object)
    put(executor, "preconditions", same_object)


_Mutant = partial(Mutant, first_seed=FIRST_SEED)

MUTANTS = (
    _Mutant(
        name="outcome after the run",
        without="the outcome of an event is stored although its run could not be created",
        switch=_failed_creation,
    ),
    _Mutant(
        name="arm after the outcome",
        without="a source is armed before the outcome of its event is stored",
        switch=_arm_at_once,
    ),
    _Mutant(name="cursor of a source", without="a source is armed with its first cursor", switch=_first_cursor),
    _Mutant(
        name="segment in a run's name",
        without="the name of a run does not depend on the segment",
        switch=_without_segment,
    ),
    _Mutant(
        name="origin of a run",
        without="any Workflow of the name counts as the run of an event",
        switch=_any_origin,
    ),
    _Mutant(
        name="version of a deleted source",
        without="a source that has just fired is deleted",
        switch=_any_version,
    ),
    _Mutant(
        name="version of a Schedule",
        without="the status of a former leader replaces a newer one",
        switch=_old_status,
    ),
    _Mutant(
        name="room for runs of one pass",
        without="the runs that a pass creates do not count as active",
        switch=_cached_runs,
    ),
    _Mutant(name="joined events", without="the events of a joined run are kept", switch=_kept_events),
    _Mutant(name="ticks under All", without="the catch-up drops one tick", switch=_one_tick_less),
    _Mutant(
        name="ticks of a suspension",
        without="a resumed Schedule runs the ticks of its suspension",
        switch=_ticks_of_a_suspension,
    ),
    _Mutant(name="suspended Schedule", without="a suspended Schedule starts runs", switch=_while_suspended),
    _Mutant(name="order of the queue", without="the newest queued run starts first", switch=_newest_first),
)
