"""Guards of Schedules: the order of the writes of an event, the identity of its run, and its limits."""

import dataclasses
from functools import partial
from typing import Any

from torpor_crds.models.base import Metadata
from torpor_kubernetes.client.api import Api, Object
from torpor_operator.controller import cluster_writer
from torpor_operator.model.actions import PatchTaskRun
from torpor_operator.scheduled_runs import event as events
from torpor_operator.scheduled_runs import run_builder
from torpor_operator.schedules import executor, reconciler
from torpor_operator.schedules.executor import ScheduleExecutor
from torpor_operator.schedules.plan import cron_source, join, planner, source_plan, source_taskrun
from torpor_operator.schedules.plan.actions import SchedulePlan
from torpor_operator.schedules.plan.concurrency import ConcurrencyLimit
from torpor_operator.schedules.plan.cron_source import CatchUp
from torpor_operator.schedules.plan.pass_state import Conclusion, PassDecision, PassState
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot

from tests.simulation.mutants.mutant import Mutant, put, put_for
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
    advance = source_plan.advance_sources

    def advance_and_arm(state: PassState) -> Conclusion:
        conclusion = advance(state)
        sources = conclusion.state.sources
        handled = {name for name, source in sources.items() if source.handled != state.sources[name].handled}
        arms = tuple(
            action
            for action in advance(conclusion.state).actions
            if isinstance(action, PatchTaskRun) and action.taskrun.spec.task in handled
        )
        return dataclasses.replace(conclusion, actions=(*conclusion.actions, *arms))

    _replace_decision(advance, advance_and_arm)


def _first_cursor() -> None:
    arm = source_taskrun.arm

    def with_first_cursor(taskrun: Any, cursor: str | None, now: float) -> Any:
        return arm(taskrun, "0" if (cursor or "").isdigit() else cursor, now)

    put(source_taskrun, "arm", with_first_cursor)


def _without_segment() -> None:
    event_key = events.event_key

    def first_segment(uid: str, source: str, taskrun_uid: str, attempt: int, _: int) -> str:
        return event_key(uid, source, taskrun_uid, attempt, 0)

    put(events, "event_key", first_segment)


def _any_origin() -> None:
    put(run_builder, "is_same_run", lambda *_: True)


def _any_version() -> None:
    delete = Api.delete

    async def delete_any(self: Api, *args: Any, resource_version: str | None = None, **kwargs: Any) -> None:
        await delete(self, *args, **kwargs)

    put(Api, "delete", delete_any)


def _cached_runs() -> None:
    put(
        ConcurrencyLimit,
        "is_full",
        property(lambda limit: limit.max_active is not None and len(limit.active) >= limit.max_active),
    )


def _kept_events() -> None:
    start = join.start_joined_run

    def kept(state: PassState) -> Conclusion:
        conclusion = start(state)
        after = conclusion.state
        for name, source in state.sources.items():
            after = after.with_source(name, pending=source.pending)
        return dataclasses.replace(conclusion, state=after)

    _replace_decision(start, kept)


def _one_tick_less() -> None:
    missed_ticks = cron_source.missed_ticks

    def caught_up(state: PassState, source: Any, now: float) -> CatchUp:
        caught = missed_ticks(state, source, now)
        tick = cron_source.ticks_of(source).next(caught.cursor)
        if tick is None or tick > now - _LATE:
            return caught
        return CatchUp(cursor=tick, missed=caught.missed + 1, last=tick)

    put(cron_source, "missed_ticks", caught_up)


def _replace_decision(decision: PassDecision, other: PassDecision) -> None:
    assert decision in planner.RUN_DECISIONS
    put(planner, "RUN_DECISIONS", tuple(other if each is decision else each for each in planner.RUN_DECISIONS))


def _ticks_of_a_suspension() -> None:
    put_for(planner, cron_source, cursor_from_now=lambda state, source: state.sources[source.name].cursor)


def _while_suspended() -> None:
    plan = planner.plan

    def not_suspended(snapshot: ScheduleSnapshot) -> SchedulePlan:
        spec = snapshot.schedule.spec.model_copy(update={"suspend": False})
        status = snapshot.schedule.status.model_copy(update={"suspended": False})
        schedule = snapshot.schedule.model_copy(update={"spec": spec, "status": status})
        result = plan(dataclasses.replace(snapshot, schedule=schedule))
        suspended = result.status and result.status.model_copy(update={"suspended": snapshot.schedule.spec.suspend})
        return dataclasses.replace(result, status=suspended)

    put(reconciler, "plan", lambda snapshot: (not_suspended if snapshot.schedule.spec.suspend else plan)(snapshot))


def _newest_first() -> None:
    with_started = ConcurrencyLimit.with_started

    def reversed_queue(self: ConcurrencyLimit) -> ConcurrencyLimit:
        return with_started(dataclasses.replace(self, queued=self.queued[::-1]))

    put(ConcurrencyLimit, "with_started", reversed_queue)


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
