"""Which notifications of a run are due now, from its spec, its status and its TaskRuns (ADR 0069).

A run that is cancelled or deleted has none, as it has no hooks. A notification that was created stays.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from torpor_crds.models.notify import Notify
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_wire import canonical, constants, names, times, trigger
from torpor_wire.enums import NotifyEvent
from torpor_wire.state import CONDITION, State

from torpor_operator.model.snapshot import Snapshot
from torpor_operator.state import conditions

APPROVALS_MAX = 20
"""Notifications of approvals of one run, so that the others have room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotification:
    """One message to one receiver. `id` is the same in each plan."""

    entry: Notify
    event: NotifyEvent
    id: str
    task: str
    about: TaskRun | None = None
    taskrun: str = ""


def notifications(snapshot: Snapshot, status: WorkflowStatus) -> list[DueNotification]:
    """The notifications that are due, for a run with this status."""
    workflow = snapshot.workflow
    if workflow.spec.cancel or workflow.metadata.deletion_timestamp is not None:
        return []
    return [
        *_of_approvals(snapshot, status),
        *(
            _due(workflow, entry, event, subject)
            for entry in workflow.spec.notify
            for event, subject in _of_run(workflow, entry, status, snapshot.now)
        ),
    ]


def late_at(workflow: Workflow, status: WorkflowStatus) -> tuple[float, ...]:
    """When the run is late for each entry that tells so; none after its end."""
    if status.completion_time is not None or workflow.spec.cancel:
        return ()
    return tuple(moment for entry in workflow.spec.notify if (moment := _late_at(workflow, entry)) is not None)


def _of_run(workflow: Workflow, entry: Notify, status: WorkflowStatus, now: float) -> Iterator[tuple[NotifyEvent, str]]:
    """The events of the run, each with what distinguishes it from another of its kind: a clear ends a run again."""
    if status.completion_time is None:
        moment = _late_at(workflow, entry)
        if moment is not None and now >= moment:
            yield NotifyEvent.LATE, ""
        return
    stored = conditions.find(status.conditions, CONDITION)
    event = NotifyEvent.SUCCESS if stored is not None and stored.status == "True" else NotifyEvent.FAILURE
    if event in entry.events:
        yield event, str(status.clears)


def _late_at(workflow: Workflow, entry: Notify) -> float | None:
    if NotifyEvent.LATE not in entry.events or entry.after is None:
        return None
    run_of, created = workflow.spec.run_of, workflow.metadata.creation_timestamp
    since = run_of.at if run_of is not None else created
    return times.epoch(since) + times.seconds(entry.after) if since else None


def _of_approvals(snapshot: Snapshot, status: WorkflowStatus) -> list[DueNotification]:
    entries = [entry for entry in snapshot.workflow.spec.notify if NotifyEvent.APPROVAL in entry.events]
    if not entries or status.completion_time is not None:
        return []
    waiting = sorted((run for run in snapshot.taskruns.values() if _awaits_approval(run)), key=_name)
    listed = [
        _due(snapshot.workflow, entry, NotifyEvent.APPROVAL, _segment(run), run) for run in waiting for entry in entries
    ]
    return listed[:APPROVALS_MAX]


def _awaits_approval(run: TaskRun) -> bool:
    waiting = run.status.trigger
    if run.status.state is not State.DEFERRED or waiting is None:
        return False
    return waiting.class_name == trigger.APPROVAL or waiting.approvers is not None


def _name(run: TaskRun) -> str:
    return run.metadata.name


def _segment(run: TaskRun) -> str:
    return f"{run.metadata.uid}/{run.status.attempt}/{run.status.segment}"


def _due(
    workflow: Workflow, entry: Notify, event: NotifyEvent, subject: str, about: TaskRun | None = None
) -> DueNotification:
    uid = workflow.metadata.uid
    digest = canonical.digest(uid, entry.name, event, subject)[:12]
    task = f"notify_{event}_{digest}"
    return DueNotification(
        entry=entry,
        event=event,
        id=f"{uid[:36]}-{digest}",
        task=task,
        about=about,
        taskrun=names.taskrun(workflow.metadata.name, uid, task, constants.UNMAPPED),
    )
