"""When the Workflow needs a pass after a change of one TaskRun or its pod. Pure.

A pass plans the whole run. Most changes decide nothing: a pod is created, bound to a node, starts, claims its TaskRun,
and ends after its report. After these changes the rules of this one TaskRun are evaluated, and a pass follows only if
they require it. The progress messages of a wait decide nothing at all.
"""

from dataclasses import replace

from torpor_crds.models.taskrun import TaskRun, TaskRunStatus
from torpor_crds.models.workflow import Workflow
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import transitions
from torpor_operator.taskrun.step import TaskRunView
from torpor_operator.workflows.plan import pod_retention

_ACTIVE = frozenset({State.SCHEDULED, State.RUNNING})
_PROGRESS = frozenset({None, Reason.WAITING, Reason.QUEUED})


def after_pod(view: TaskRunView, former: Pod | None, pod: Pod | None, workflow: Workflow | None) -> float | None:
    """When the next pass is due after a pod was created, changed or deleted: now, later, or None if it need not be."""
    if pod is None or (former is not None and former.uid != pod.uid) or pod.deleting:
        return view.now
    if not pod.terminal:
        return _own_due(view)
    is_settled = view.taskrun.status.state in TERMINAL and not pod.has_finalizer
    if is_settled and workflow is not None and _goes_on(workflow):
        return pod.ended_at + pod_retention.seconds_kept(workflow, view.settings)
    return view.now


def after_taskrun(view: TaskRunView, former: TaskRun | None) -> float | None:
    """The same after the TaskRun was created or changed: only a claim and a progress message decide nothing."""
    if former is None or former.metadata.uid != view.taskrun.metadata.uid:
        return view.now
    if _is_progress(view.taskrun, former):
        return None
    return _own_due(view) if _is_plain_claim(view, former) else view.now


def _is_progress(taskrun: TaskRun, former: TaskRun) -> bool:
    """Whether a wait says what it waits for, and nothing else has changed. No plan reads this message."""
    metadata, status = taskrun.metadata, taskrun.status
    return (
        status.state is State.DEFERRED
        and taskrun.spec.notification is None  # the status of the run has the message of a notification
        and metadata.is_of_generation({"uid": former.metadata.uid, "generation": former.metadata.generation})
        and metadata.deletion_timestamp == former.metadata.deletion_timestamp
        and {former.status.reason, status.reason} <= _PROGRESS
        and _without_message(status) == _without_message(former.status)
    )


def _without_message(status: TaskRunStatus) -> dict[str, object]:
    return vars(status) | {"reason": None, "message": None}


def _is_plain_claim(view: TaskRunView, former: TaskRun) -> bool:
    """Whether a pod has claimed the TaskRun, and the Workflow's status remains as it is."""
    before, after = former.status, view.taskrun.status
    return (
        (before.state, after.state) == (State.SCHEDULED, State.RUNNING)
        and (before.attempt, before.segment, before.launch) == (after.attempt, after.segment, after.launch)
        and before.reason is None
        and after.reason is None
        and view.current_pod is not None
    )


def _goes_on(workflow: Workflow) -> bool:
    """Whether the run neither ends nor waits for the end of pods."""
    status = workflow.status
    is_deleted = workflow.metadata.deletion_timestamp is not None
    return not is_deleted and status.completion_time is None and status.clearing is None


def _own_due(view: TaskRunView) -> float | None:
    """When the rules of this TaskRun require something."""
    if view.taskrun.status.state not in _ACTIVE:
        return view.now
    try:
        step = transitions.next_step(replace(view, reads_events=True))
    except Exception:  # noqa: BLE001 - the pass meets the same error, and reports it
        return view.now
    return view.now if step.actions or step.needs or step.events or step.wants_pod else step.again_at
