"""Adds the notifications of a run to its plan: TaskRuns to create and to advance, and their state in the status.

Each notification is a TaskRun of the Workflow that is no task of it. Its trigger sends the message, so triggerers,
shares, Secrets and address rules are those of any wait. It neither holds a slot nor keeps the run from ending.

Level-based: what is due and has no TaskRun is created. Its name follows from the run and the event, so a message that
the status lists as delivered, or whose TaskRun exists, is not created again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torpor_crds.models.notify import NotificationOf, NotificationStatus
from torpor_crds.models.taskrun import OwnerRef, TaskRun, TaskRunSpec
from torpor_crds.models.workflow import WorkflowStatus
from torpor_wire import constants, names, times
from torpor_wire.enums import NotificationState
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import Action, CreateTaskRun, DeleteWorkflow, Need, PostEvent
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.notifications import due as due_notifications
from torpor_operator.notifications import messages, receivers
from torpor_operator.notifications.due import DueNotification
from torpor_operator.taskrun import builder, transitions
from torpor_operator.taskrun.step import TaskRunView, earliest

_LIMITED = f"the run has {constants.NOTIFICATIONS_MAX} notifications, which is the limit; further ones are not sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Creations:
    """What is created, or why it cannot be: entries of the status, in the order of their creation."""

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    entries: tuple[NotificationStatus, ...] = ()
    limited: bool = False


def add_notifications(snapshot: Snapshot, plan: WorkflowPlan) -> WorkflowPlan:
    """The plan of the run with its notifications."""
    workflow = snapshot.workflow
    status = plan.status or workflow.status
    if not (workflow.spec.notify or snapshot.notifications or workflow.status.notifications):
        return plan
    created = _create(snapshot, status)
    steps = [transitions.next_step(_view(snapshot, run)) for run in snapshot.notifications.values()]
    entries = (*_followed(snapshot), *created.entries)[-constants.NOTIFICATIONS_MAX :]
    stored = status.model_copy(update={"notifications": entries})
    return replace(
        plan,
        actions=(
            *until_settled(plan, entries),
            *created.actions,
            *(action for step in steps for action in step.actions),
        ),
        needs=(*plan.needs, *created.needs),
        status=None if plan.status is None and stored == workflow.status else stored,
        events=(*plan.events, *_events(snapshot, entries, limited=created.limited)),
        again_at=earliest([plan.again_at, *_late_at(snapshot, status), *(step.again_at for step in steps)]),
    )


def until_settled(plan: WorkflowPlan, entries: Sequence[NotificationStatus]) -> tuple[Action, ...]:
    """The actions, but no deletion by TTL of a run with notifications that are not delivered yet, at most for a day."""
    if all(entry.state is not NotificationState.PENDING for entry in entries):
        return plan.actions
    return tuple(action for action in plan.actions if not isinstance(action, DeleteWorkflow))


def _late_at(snapshot: Snapshot, status: WorkflowStatus) -> list[float]:
    return [moment for moment in due_notifications.late_at(snapshot.workflow, status) if moment > snapshot.now]


def _create(snapshot: Snapshot, status: WorkflowStatus) -> _Creations:
    """The notifications that are due and were not created, as far as the run may have more."""
    former = {entry.id: entry for entry in snapshot.workflow.status.notifications}
    missing = [
        each
        for each in due_notifications.notifications(snapshot, status)
        if each.taskrun not in snapshot.notifications and is_open(former.get(each.id))
    ]
    room = constants.NOTIFICATIONS_MAX - len(snapshot.notifications)
    parts = [_created(snapshot, status, each) for each in missing[: max(room, 0)]]
    return _Creations(
        actions=tuple(action for part in parts for action in part.actions),
        needs=tuple(need for part in parts for need in part.needs),
        entries=tuple(entry for part in parts for entry in part.entries if entry.id not in former),
        limited=len(missing) > max(room, 0),
    )


def is_open(former: NotificationStatus | None) -> bool:
    """Whether the notification may be created: it is new, or was not settled."""
    return former is None or former.state is NotificationState.PENDING


def _created(snapshot: Snapshot, status: WorkflowStatus, each: DueNotification) -> _Creations:
    message = messages.render(snapshot.workflow, status, each, snapshot.known)
    if isinstance(message, Pending):
        return _Creations(needs=message.needs)
    try:
        body = _body(snapshot, each, message)
    except ValueError as error:
        return _Creations(entries=(_entry(snapshot, each, NotificationState.FAILED, str(error)),))
    return _Creations(
        actions=(CreateTaskRun(body=body),), entries=(_entry(snapshot, each, NotificationState.PENDING, None),)
    )


def _body(snapshot: Snapshot, each: DueNotification, message: messages.MessageText) -> dict[str, object]:
    """The TaskRun that sends a message. Raises ValueError if its receiver has no valid trigger."""
    workflow, metadata = snapshot.workflow, snapshot.workflow.metadata
    about = each.about.metadata.name if each.about is not None else None
    spec = TaskRunSpec(
        workflow=OwnerRef(name=metadata.name, uid=metadata.uid),
        task=each.task,
        notification=NotificationOf(id=each.id, notify=each.entry.name, event=each.event, about=about),
        clears=workflow.status.clears,
        trigger_pool=workflow.spec.trigger_pool,
        trigger=receivers.trigger_call(each, message, f"{metadata.namespace}/{metadata.name}"),
        service_account=snapshot.settings.task_service_account,
    )
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "TaskRun",
        "metadata": {
            "name": each.taskrun,
            "namespace": metadata.namespace,
            "labels": {
                constants.LABEL_WORKFLOW: names.label(metadata.name),
                constants.LABEL_TASK: names.label(each.task),
            },
            "ownerReferences": [builder.reference("Workflow", metadata.name, metadata.uid)],
        },
        "spec": spec.to_json(),
    }


def _entry(
    snapshot: Snapshot, each: DueNotification, state: NotificationState, message: str | None
) -> NotificationStatus:
    return NotificationStatus(
        id=each.id,
        notify=each.entry.name,
        event=each.event,
        state=state,
        taskrun=each.taskrun,
        time=times.rfc3339(snapshot.now),
        message=message,
    )


def _followed(snapshot: Snapshot) -> list[NotificationStatus]:
    """The entries that exist, or should exist since their TaskRun does, with the state of their TaskRun."""
    former = {entry.id: entry for entry in snapshot.workflow.status.notifications}
    runs = {run.spec.notification.id: run for run in snapshot.notifications.values() if run.spec.notification}
    unlisted = [_of_taskrun(snapshot, run) for each, run in sorted(runs.items()) if each not in former]
    return [_current(snapshot, entry, runs.get(entry.id)) for entry in (*former.values(), *unlisted)]


def _of_taskrun(snapshot: Snapshot, run: TaskRun) -> NotificationStatus:
    """The entry of a TaskRun whose creation no status has: a leader ended in between."""
    of = run.spec.notification
    if of is None:
        raise ValueError(f"TaskRun {run.metadata.name} sends no notification")
    return NotificationStatus(
        id=of.id,
        notify=of.notify,
        event=of.event,
        state=NotificationState.PENDING,
        taskrun=run.metadata.name,
        time=times.rfc3339(snapshot.now),
    )


def _current(snapshot: Snapshot, entry: NotificationStatus, run: TaskRun | None) -> NotificationStatus:
    if entry.state is not NotificationState.PENDING or run is None:
        return entry
    state = _state(run)
    message = None if state is NotificationState.DELIVERED else run.status.message
    if (state, message) == (entry.state, entry.message):
        return entry
    moment = entry.time if state is entry.state else run.status.completion_time or times.rfc3339(snapshot.now)
    return entry.model_copy(update={"state": state, "message": message, "time": moment})


def _state(run: TaskRun) -> NotificationState:
    if run.status.state not in TERMINAL:
        return NotificationState.PENDING
    return NotificationState.DELIVERED if run.status.state is State.SUCCEEDED else NotificationState.FAILED


def _events(snapshot: Snapshot, entries: Sequence[NotificationStatus], *, limited: bool) -> list[PostEvent]:
    """An Event for each notification that has failed now, and one for a run that may have no more."""
    former = {entry.id: entry.state for entry in snapshot.workflow.status.notifications}
    uid = snapshot.workflow.metadata.uid
    failed = [
        _event(Reason.NOTIFICATION_FAILED, f"notification {entry.notify} of {entry.event}: {entry.message}", entry.id)
        for entry in entries
        if entry.state is NotificationState.FAILED and former.get(entry.id) is not NotificationState.FAILED
    ]
    return [*failed, *([_event(Reason.NOTIFICATIONS_LIMITED, _LIMITED, uid)] if limited else [])]


def _event(reason: Reason, message: str, key: str) -> PostEvent:
    return PostEvent(regarding=None, reason=reason, message=message, warning=True, key=f"{key}/{reason}")


def _view(snapshot: Snapshot, run: TaskRun) -> TaskRunView:
    return TaskRunView(
        taskrun=run,
        pods=(),
        unconfirmed_pod=None,
        pool=snapshot.pools(run.spec.trigger_pool),
        known=snapshot.known,
        settings=snapshot.settings,
        now=snapshot.now,
    )
