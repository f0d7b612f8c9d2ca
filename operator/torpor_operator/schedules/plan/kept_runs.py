"""Deletes finished runs beyond `spec.history`, and suspends a Schedule whose runs fail in a row."""

from collections.abc import Sequence

from torpor_crds.models.workflow import Workflow
from torpor_wire import names
from torpor_wire.reason import Reason
from torpor_wire.state import RunState

from torpor_operator.schedules.plan import concurrency, join, manual, source_step
from torpor_operator.schedules.plan import event as events
from torpor_operator.schedules.plan.actions import CreateRun, DeleteRun, Suspend
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.workflows.plan.retention import archival


def delete_old(draft: Draft) -> None:
    """Delete the oldest finished runs; with an archive only after it has stored them.

    The run of an event stays until the outcome of the event is stored, because another pass would create it again.
    """
    kept, failures = draft.snapshot.schedule.spec.history, draft.snapshot.schedule.spec.pause_after_failures or 0
    ended = _ended(draft.snapshot.runs)
    succeeded = [run for run in ended if _succeeded(run)]
    failed = [run for run in ended if not _succeeded(run)]
    needed = _without_outcome(draft)
    for run in (*succeeded[kept.succeeded :], *failed[max(kept.failed, failures) :]):
        if run.metadata.name in needed:
            continue
        if run.metadata.deletion_timestamp is None and (not draft.snapshot.archives or archival.is_archived(run)):
            draft.actions.append(DeleteRun(run=run))


def pause_after_failures(draft: Draft) -> bool:
    """Suspend the Schedule after so many failed runs in a row; returns whether it does. Cancelled runs do not count."""
    spec, resumed = draft.snapshot.schedule.spec, draft.status.resumed_time or ""
    if spec.pause_after_failures is None or spec.suspend:
        return False
    ended = [run for run in _ended(draft.snapshot.runs) if run.metadata.creation_timestamp >= resumed]
    failed = 0
    for run in ended:
        if _succeeded(run):
            break
        failed += not _cancelled(run)
    if failed < spec.pause_after_failures:
        return False
    draft.actions.append(Suspend())
    message = f"suspended: the last {failed} runs failed; set spec.suspend to false to resume"
    draft.notify(Reason.PAUSED_AFTER_FAILURES, message, warning=True)
    return True


def _without_outcome(draft: Draft) -> set[str]:
    """The names of the runs of events whose outcome is not in the stored status."""
    snapshot, found = draft.snapshot, set[str]()
    stored = Draft.of(snapshot)
    for source in snapshot.schedule.spec.sources:
        taskrun = snapshot.taskruns.get(source.name)
        if taskrun is not None and source_step.has_event(taskrun) and not stored.is_handled(source.name, taskrun):
            event = events.of_source(snapshot.schedule, source, taskrun)
            found.add(names.run(snapshot.schedule.metadata.name, event.key))
    if join.is_complete(stored):
        found.add(names.run(snapshot.schedule.metadata.name, join.event(stored).key))
    if (requested := manual.requested_name(snapshot.schedule)) is not None:
        found.add(requested)
    return found | {action.body["metadata"]["name"] for action in draft.actions if isinstance(action, CreateRun)}


def _ended(runs: Sequence[Workflow]) -> list[Workflow]:
    """The finished runs, the latest end first."""
    ended = [run for run in runs if concurrency.has_ended(run)]
    return sorted(ended, key=lambda run: (run.status.completion_time or "", run.metadata.name), reverse=True)


def _succeeded(run: Workflow) -> bool:
    return run.status.state == RunState.SUCCEEDED


def _cancelled(run: Workflow) -> bool:
    return any(one.type == "Succeeded" and one.reason == Reason.CANCELLED for one in run.status.conditions)
