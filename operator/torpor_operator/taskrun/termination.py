"""TaskRuns that end or are deleted: by a cancellation, with their Workflow, or for a clearing. Their pods go first."""

from torpor_wire import times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.model.actions import DeleteTaskRun, PatchTaskRun
from torpor_operator.taskrun import containers, step
from torpor_operator.taskrun.step import Step, TaskRunView, combine

_ENDED_BY_OPERATOR = frozenset({Reason.TIMEOUT, Reason.LAUNCH_FAILED, Reason.IMAGE_PULL_FAILED})
"""Reasons of an attempt whose pod was deleted with it, or is to be."""


def delete_for_rerun(view: TaskRunView) -> Step:
    """Delete a TaskRun that is to be created again, after its pods."""
    metadata = view.taskrun.metadata
    deletion = DeleteTaskRun(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)
    deleting = metadata.deletion_timestamp is not None
    return combine(Step(actions=() if deleting else (deletion,)), finish_deletion(view))


def replace_by_mark(view: TaskRunView) -> Step:
    """Delete a TaskRun whose outcome a user chose. A wait ends first, so that its triggerer runs `on_kill`."""
    if view.taskrun.status.state is State.DEFERRED and view.taskrun.metadata.deletion_timestamp is None:
        return _cancel_deferral(view, "its outcome was marked")
    return delete_for_rerun(view)


def cancel(view: TaskRunView, message: str) -> Step:
    """Cancel the TaskRun: delete its pods; if it is deferred, let its triggerer stop the trigger first."""
    status = view.taskrun.status
    if status.state in TERMINAL:
        return _ended(view)
    if status.state is State.DEFERRED:
        return _cancel_deferral(view, message)
    deletions = tuple(step.delete(pod) for pod in view.pods if not pod.terminal and not pod.deleting)
    patch = transitions.cancel(view.taskrun.pin(), message=message, now=view.now)
    return combine(
        Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch), *deletions)),
        containers.remove_finalizers(view),
    )


def _cancel_deferral(view: TaskRunView, message: str) -> Step:
    """The triggerer runs `on_kill`; after a grace the operator writes Cancelled itself."""
    requested = view.taskrun.status.cancel
    if requested is None:
        patch = transitions.ask_cancel(view.taskrun.pin(), now=view.now)
        return Step(
            actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),),
            again_at=view.now + view.settings.triggerer_grace,
        )
    due = times.epoch(requested) + view.settings.triggerer_grace
    if view.now < due:
        return Step(again_at=due)
    patch = transitions.cancel(view.taskrun.pin(), message=f"{message} (no triggerer responded)", now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def finish_deletion(view: TaskRunView) -> Step:
    """Let a TaskRun that is being deleted go once its pods have, and report what keeps them."""
    combined = containers.remove_finalizers(view)
    for pod in (pod for pod in view.pods if not pod.terminal and pod.deletion_timestamp is not None):
        combined = combine(combined, step.node_lost(view, pod))
    return combined


def blocked_by_node(view: TaskRunView) -> str:
    """Which lost node keeps the TaskRun from being deleted; empty where none does."""
    messages = (step.lost_message(view, pod) for pod in view.pods)
    message = next((message for message in messages if message is not None), None)
    return f"TaskRun {view.taskrun.metadata.name}: {message}" if message else ""


def delete_lingering_pods(view: TaskRunView) -> Step:
    """Delete pods that outlive their TaskRun: soon if the operator ended it, else after a longer grace."""
    status, settings = view.taskrun.status, view.settings
    stopped = status.state is State.CANCELLED or status.reason in _ENDED_BY_OPERATOR
    grace = settings.former_pod_grace if stopped else settings.finished_pod_grace
    return step.delete_after_grace(view, view.pods, since=status.completion_time, grace=grace)


def _ended(view: TaskRunView) -> Step:
    if view.taskrun.metadata.deletion_timestamp is not None:
        return finish_deletion(view)
    return combine(delete_lingering_pods(view), containers.remove_finalizers(view))
