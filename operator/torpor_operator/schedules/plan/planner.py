"""Decides what one Schedule needs now: `plan(ScheduleSnapshot) -> SchedulePlan`.

Level-based, as the plan of a Workflow: computed from the spec, the TaskRuns of the sources, the runs and the status.
"""

from collections.abc import Callable
from typing import TypeAlias

from torpor_wire import constants, times

from torpor_operator.model.actions import SetFinalizers
from torpor_operator.schedules.plan import conditions, cron_source, deletion, join, kept_runs, manual, source_step
from torpor_operator.schedules.plan.actions import DeleteSource, SchedulePlan, StartQueued
from torpor_operator.schedules.plan.concurrency import ConcurrencyLimit
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot

Decision: TypeAlias = Callable[[ScheduleSnapshot], SchedulePlan | None]


def plan(snapshot: ScheduleSnapshot) -> SchedulePlan:
    """The plan of one Schedule."""
    return next(made for decide in DECISIONS if (made := decide(snapshot)) is not None)


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
    draft, now = Draft.of(snapshot), times.rfc3339(snapshot.now)
    draft.update(suspended=False, resumed_time=now)
    for source in schedule.spec.sources:
        if source.cron is not None:
            draft.update_source(source.name, cursor=cron_source.cursor_from_now(draft, source))
    return draft.plan()


def _hold(snapshot: ScheduleSnapshot) -> SchedulePlan | None:
    """Report a namespace that is not set up, in which nothing can be created."""
    if not snapshot.not_ready:
        return None
    draft = Draft.of(snapshot)
    _finish(draft, ConcurrencyLimit.of(snapshot.schedule.spec, snapshot.runs))
    return draft.plan()


def _run(snapshot: ScheduleSnapshot) -> SchedulePlan:
    """Handle the events of the sources, start queued runs, and delete old ones."""
    schedule = snapshot.schedule
    draft, room = Draft.of(snapshot), ConcurrencyLimit.of(schedule.spec, snapshot.runs)
    if schedule.metadata.generation != schedule.status.observed_generation:
        draft.update(consecutive_failures=0)  # the edit may be the remedy
    pauses = kept_runs.pause_after_failures(draft)
    joining = join.is_complete(draft)
    if not schedule.spec.suspend and not pauses:
        draft.actions += [StartQueued(run=run) for run in room.start_queued()]
        join.apply(draft, room)
    for source in () if pauses else schedule.spec.sources:
        # A joined run and the removal of its events are stored before the next event of its sources is taken.
        if not (joining and source.name in schedule.spec.all_of):
            source_step.advance(draft, room, source)
    known = {source.name for source in schedule.spec.sources}
    removed = [taskrun for name, taskrun in snapshot.taskruns.items() if name not in known]
    draft.actions += [DeleteSource(taskrun=one) for one in removed if one.metadata.deletion_timestamp is None]
    manual.apply(draft)
    kept_runs.delete_old(draft)
    _finish(draft, room)
    return draft.plan()


def _finish(draft: Draft, room: ConcurrencyLimit) -> None:
    schedule = draft.snapshot.schedule
    ticks = [one.next for one in draft.sources.values() if one.next is not None]
    draft.update(
        observed_generation=schedule.metadata.generation,
        next=min(ticks, default=None),
        active=len(room.active) + room.created,
        queued=len(room.queued) + room.created_queued,
        suspended=schedule.spec.suspend,
        conditions=conditions.of(draft),
    )
    edges = (schedule.spec.not_before, schedule.spec.not_after)
    moments = (times.epoch(edge) + 1 for edge in edges if edge is not None)
    draft.wait_until(moment for moment in moments if moment > draft.snapshot.now)


DECISIONS: tuple[Decision, ...] = (
    deletion.clean_up,  # the Schedule is deleted: its queued runs go, and by its policy all of its runs
    _hold,  # the operator may not create anything in the namespace
    _add_finalizer,  # the finalizer is missing: add it before anything is created
    _resume,  # spec.suspend was reset: store from when ticks count again
    _run,  # none of the above
)
"""The first that returns a plan decides; the last always does."""
