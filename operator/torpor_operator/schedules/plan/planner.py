"""Decides what one Schedule needs now: `plan(ScheduleSnapshot) -> SchedulePlan`.

Level-based, as the plan of a Workflow: computed from the spec, the TaskRuns of the sources, the runs and the status.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from torpor_wire import constants, times
from torpor_wire.enums import DeletionPolicy

from torpor_operator.model.actions import SetFinalizers
from torpor_operator.schedules.plan import concurrency, conditions, cron_source, join, kept_runs, manual, source_plan
from torpor_operator.schedules.plan.actions import DeleteRun, SchedulePlan, StartQueued
from torpor_operator.schedules.plan.pass_state import Conclusion, PassDecision, PassState
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot

Decision: TypeAlias = Callable[[ScheduleSnapshot], SchedulePlan | None]


def plan(snapshot: ScheduleSnapshot) -> SchedulePlan:
    """The plan of one Schedule."""
    return next(plan for decide in DECISIONS if (plan := decide(snapshot)) is not None)


def _clean_up(snapshot: ScheduleSnapshot) -> SchedulePlan | None:
    """Delete the runs that go with a deleted Schedule, then remove its finalizer."""
    metadata, spec = snapshot.schedule.metadata, snapshot.schedule.spec
    if metadata.deletion_timestamp is None:
        return None
    if constants.FINALIZER not in metadata.finalizers:
        return SchedulePlan()
    deletes_all = spec.deletion_policy is DeletionPolicy.DELETE
    leaving = [
        run for run in snapshot.runs if deletes_all or (concurrency.is_queued(run) and not concurrency.has_ended(run))
    ]
    if deletions := tuple(DeleteRun(run=run) for run in leaving if run.metadata.deletion_timestamp is None):
        return SchedulePlan(actions=deletions)
    others = tuple(name for name in metadata.finalizers if name != constants.FINALIZER)
    return SchedulePlan(actions=(SetFinalizers(finalizers=others),))


def _hold(snapshot: ScheduleSnapshot) -> SchedulePlan | None:
    """Report a namespace that is not set up, in which nothing can be created."""
    return _finish(PassState.stored(snapshot)).plan() if snapshot.not_ready else None


def _add_finalizer(snapshot: ScheduleSnapshot) -> SchedulePlan | None:
    """Add the finalizer before a run is created, since the deletion of the Schedule decides about its runs."""
    metadata = snapshot.schedule.metadata
    if constants.FINALIZER in metadata.finalizers:
        return None
    return SchedulePlan(actions=(SetFinalizers(finalizers=(*metadata.finalizers, constants.FINALIZER)),))


def _resume(snapshot: ScheduleSnapshot) -> SchedulePlan | None:
    """Store the resumption before anything is armed: the ticks of the suspension are neither run nor missed."""
    schedule = snapshot.schedule
    if schedule.spec.suspend or not schedule.status.suspended:
        return None
    state = PassState.stored(snapshot).with_status(suspended=False, resumed_time=times.rfc3339(snapshot.now))
    for source in schedule.spec.sources:
        if source.cron is not None:
            state = state.with_source(source.name, cursor=cron_source.cursor_from_now(state, source))
    return Conclusion(state=state).plan()


def _run(snapshot: ScheduleSnapshot) -> SchedulePlan:
    """Handle the events of the sources, start queued runs, and delete old ones."""
    conclusion = Conclusion(state=PassState.stored(snapshot))
    for decide in RUN_DECISIONS:
        conclusion = conclusion.then(decide)
    return conclusion.plan()


def _forget_failures(state: PassState) -> Conclusion:
    """Begin to count failed events again after an edit, which may be the remedy."""
    schedule = state.snapshot.schedule
    is_edited = schedule.metadata.generation != schedule.status.observed_generation
    return Conclusion(state=state.with_status(consecutive_failures=0) if is_edited else state)


def _start_queued(state: PassState) -> Conclusion:
    """Start the queued runs that may be active now, the oldest event first."""
    if state.snapshot.schedule.spec.suspend or state.pauses:
        return Conclusion(state=state)
    limit = state.limit.with_started()
    started = limit.active[len(state.limit.active) :]
    return Conclusion(state=replace(state, limit=limit), actions=tuple(StartQueued(run=run) for run in started))


def _finish(state: PassState) -> Conclusion:
    """Complete the status, and plan again at the next edge of the Schedule's time."""
    snapshot, spec, limit = state.snapshot, state.snapshot.schedule.spec, state.limit
    edges = (times.epoch(edge) + 1 for edge in (spec.not_before, spec.not_after) if edge is not None)
    finished = state.with_status(
        observed_generation=snapshot.schedule.metadata.generation,
        next=min((source.next for source in state.sources.values() if source.next is not None), default=None),
        active=len(limit.active) + limit.created,
        queued=len(limit.queued) + limit.created_queued,
        suspended=spec.suspend,
        conditions=conditions.schedule_conditions(state),
    )
    return Conclusion(state=finished, due=tuple(edge for edge in edges if edge > snapshot.now))


DECISIONS: tuple[Decision, ...] = (
    _clean_up,  # the Schedule is deleted: its queued runs go, and by its policy all of its runs
    _hold,  # the operator may not create anything in the namespace
    _add_finalizer,  # the finalizer is missing: add it before anything is created
    _resume,  # spec.suspend was reset: store from when ticks count again
    _run,  # none of the above: all of RUN_DECISIONS
)
"""The first that returns a plan decides; the last always does."""

RUN_DECISIONS: tuple[PassDecision, ...] = (
    _forget_failures,  # the spec was edited
    kept_runs.pause_after_failures,  # too many runs failed in a row: suspend the Schedule
    _start_queued,  # a run has ended
    join.start_joined_run,  # each source of allOf has an event
    source_plan.advance_sources,  # create, arm and replace the TaskRuns of the sources, and handle their events
    manual.start_requested_run,  # a user asked for a run
    kept_runs.delete_old,  # more runs than spec.history keeps
    _finish,  # the status of all of the above
)
"""Each takes the state that the earlier ones left; the plan is what all of them ask for."""
