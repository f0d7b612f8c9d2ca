"""Deletes finished runs beyond `spec.history`, and suspends a Schedule whose runs fail in a row."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from torpor_crds.models.workflow import Workflow
from torpor_wire import names
from torpor_wire.reason import Reason
from torpor_wire.state import RunState

from torpor_operator.model.actions import Notice
from torpor_operator.scheduled_runs import event as events
from torpor_operator.schedules.plan import concurrency, join, manual, source_plan
from torpor_operator.schedules.plan.actions import DeleteRun, Suspend
from torpor_operator.schedules.plan.pass_state import Conclusion, PassState
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot
from torpor_operator.state import conditions


def delete_old(state: PassState) -> Conclusion:
    """Delete the oldest finished runs; with an archive only after it has stored them.

    The run of an event stays until the outcome of the event is stored, because another pass would create it again.
    """
    snapshot, spec = state.snapshot, state.snapshot.schedule.spec
    ended = _ended(snapshot.runs)
    succeeded = [run for run in ended if _succeeded(run)][spec.history.succeeded :]
    failed = [run for run in ended if not _succeeded(run)]
    failed = failed[max(spec.history.failed, spec.pause_after_failures or 0) :]
    needed = _without_outcome(snapshot) | set(state.created)
    deletions = (
        DeleteRun(run=run)
        for run in (*succeeded, *failed)
        if run.metadata.name not in needed
        and run.metadata.deletion_timestamp is None
        and (not snapshot.archives or conditions.is_archived(run))
    )
    return Conclusion(state=state, actions=tuple(deletions))


def pause_after_failures(state: PassState) -> Conclusion:
    """Suspend the Schedule after so many failed runs in a row. Cancelled runs do not count."""
    spec, resumed = state.snapshot.schedule.spec, state.status.resumed_time or ""
    if spec.pause_after_failures is None or spec.suspend:
        return Conclusion(state=state)
    ended = [run for run in _ended(state.snapshot.runs) if run.metadata.creation_timestamp >= resumed]
    failed_in_a_row = itertools.takewhile(lambda run: not _succeeded(run), ended)
    failed = sum(conditions.of_run(run, Reason.CANCELLED) is None for run in failed_in_a_row)
    if failed < spec.pause_after_failures:
        return Conclusion(state=state)
    message = f"suspended: the last {failed} runs failed; set spec.suspend to false to resume"
    notice = Notice(reason=Reason.PAUSED_AFTER_FAILURES, message=message, warning=True)
    return Conclusion(state=replace(state, pauses=True), actions=(Suspend(),), notices=(notice,))


def _without_outcome(snapshot: ScheduleSnapshot) -> set[str]:
    """The names of the runs of events whose outcome is not in the stored status."""
    stored, schedule, keys = PassState.stored(snapshot), snapshot.schedule, set[str]()
    for source in schedule.spec.sources:
        taskrun = snapshot.taskruns.get(source.name)
        if taskrun is not None and source_plan.has_event(taskrun) and not stored.is_handled(source.name, taskrun):
            keys.add(events.event_of_source(schedule, source, taskrun).key)
    if join.is_complete(stored):
        keys.add(join.joined_event(stored).key)
    requested = manual.requested_name(schedule)
    return {names.run(schedule.metadata.name, key) for key in keys} | ({requested} if requested else set())


def _ended(runs: Sequence[Workflow]) -> list[Workflow]:
    """The finished runs, the latest end first."""
    ended = [run for run in runs if concurrency.has_ended(run)]
    return sorted(ended, key=lambda run: (run.status.completion_time or "", run.metadata.name), reverse=True)


def _succeeded(run: Workflow) -> bool:
    return run.status.state == RunState.SUCCEEDED
