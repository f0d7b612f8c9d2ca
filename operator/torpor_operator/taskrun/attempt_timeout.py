"""The timeout of an attempt. The operator enforces it while a pod runs, the triggerer while the task is deferred."""

from torpor_wire import deadline
from torpor_wire.reason import Reason

from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import Step, TaskRunView


def expired(view: TaskRunView) -> Step | None:
    """Fail an attempt that has exceeded its timeout and delete its pods; None while it has time."""
    due = deadline_of_attempt(view)
    if due is None or view.now < due:
        return None
    deletions = tuple(step.delete(pod) for pod in view.pods if not pod.terminal and not pod.deleting)
    failed = step.fail(view, Reason.TIMEOUT, _message(view))
    return Step(actions=(*failed.actions, *deletions))


def deadline_of_attempt(view: TaskRunView) -> float | None:
    """When the attempt exceeds its timeout, in seconds since the epoch.

    Before the first claim the time counts from the creation of the pod, or of a pod that the quota rejects. Waiting for
    a slot does not count, nor does deferral where `timeoutWhileDeferred` is false.
    """
    spec, status = view.taskrun.spec, view.taskrun.status
    if spec.timeout is None:
        return None
    paused = 0.0 if spec.timeout_while_deferred else status.deferred_seconds or 0.0
    return deadline.attempt_deadline(status.started_at or _launched_at(view), spec.timeout, paused=paused)


def _launched_at(view: TaskRunView) -> str | None:
    """When the pod of an attempt that no pod has claimed was created, or first rejected by the quota."""
    taskrun, pod = view.taskrun, view.current_pod
    if pod is not None:
        return pod.created or None
    if taskrun.status.reason == Reason.QUOTA_EXCEEDED:
        return taskrun.status.retry_at or taskrun.metadata.creation_timestamp
    return None


def _message(view: TaskRunView) -> str:
    status, timeout = view.taskrun.status, view.taskrun.spec.timeout
    cause = f": {status.reason}: {status.message}" if status.reason else ""
    if status.started_at is None:
        return f"the pod of the attempt did not start within its timeout of {timeout}{cause}"
    pod, exceeded = view.current_pod, f"the attempt exceeded its timeout of {timeout}"
    pending = pod is not None and pod.phase == "Pending"
    return f"{exceeded}; its pod did not start{cause}" if pending and cause else exceeded
