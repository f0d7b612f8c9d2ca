"""What follows for one TaskRun: one chain of rules for each state; the first rule that applies decides.

No rule reads another TaskRun. A pod that is absent from the cache counts as gone only after a read has confirmed it.
"""

from torpor_crds.models.taskrun import Mark
from torpor_wire import retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.model.actions import ConfirmPod, ConfirmPods, PatchTaskRun
from torpor_operator.model.pod import Pod, pod_name
from torpor_operator.state import marks
from torpor_operator.taskrun import (
    child_run,
    containers,
    deferral,
    pod_failure,
    pod_startup,
    retries,
    step,
    termination,
)
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, combine, deadline_of_attempt


def next_step(view: TaskRunView) -> Step:
    """What the TaskRun's state and pods require; one that is being deleted starts nothing."""
    if view.taskrun.metadata.deletion_timestamp is not None:
        return termination.finish_deletion(view)
    if view.taskrun.status.state in TERMINAL and all(pod.terminal and not pod.has_finalizer for pod in view.pods):
        return NOTHING
    return combine(_by_state(view), containers.remove_finalizers(view))


def _by_state(view: TaskRunView) -> Step:
    match view.taskrun.status.state:
        case State.SCHEDULED:
            return _scheduled(view)
        case State.RUNNING:
            return _running(view)
        case State.DEFERRED:
            waiting = deferral.deferred(view)
            return waiting if view.taskrun.spec.run is None else combine(child_run.check_exists(view), waiting)
        case State.UP_FOR_RETRY:
            return retries.next_attempt(view)
        case _:
            return termination.delete_lingering_pods(view)


def _scheduled(view: TaskRunView) -> Step:
    """No pod has claimed the segment yet."""
    if (mark := view.taskrun.spec.mark) is not None:
        return _marked(view, mark)
    if view.taskrun.spec.run is not None and view.waits_first:
        return child_run.begin(view, view.taskrun.spec.run)
    if view.taskrun.spec.trigger is not None and view.waits_first:
        return deferral.begin(view, view.taskrun.spec.trigger)
    if (expired := step.expired(view)) is not None:
        return expired
    pod = view.current_pod
    if pod is None:
        return _want_pod(view)
    if pod.terminal:
        return pod_failure.ended_without_report(view, pod)
    if pod.gated and not pod.deleting and not pod.awaits_quota:
        return containers.claim(view, pod)
    return _live_pod(view, pod)


def _marked(view: TaskRunView, mark: Mark) -> Step:
    """End in the state that a user chose. No rule of a marked TaskRun asks for a pod or a wait."""
    patch = transitions.mark(
        view.taskrun.pin(), State(mark.state), result=mark.result, message=marks.message(mark), now=view.now
    )
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _running(view: TaskRunView) -> Step:
    """A pod has claimed the segment."""
    if (expired := step.expired(view)) is not None:
        return expired
    claimed = view.taskrun.status.pod
    if claimed is None:
        message = "invalid status: Running without status.pod (modified externally?)"
        return step.fail(view, Reason.STATUS_INVALID, message, policy=retry.Policy())
    pod = next((pod for pod in view.pods if pod.uid == claimed.uid), None)
    if pod is None:
        confirm = ConfirmPod(view.taskrun.metadata.namespace, claimed.name, claimed.uid or "")
        return pod_failure.missing(view, confirm)
    if pod.terminal and containers.has_outcome(view, pod):
        return containers.end(view, pod)
    if pod.terminal:
        return pod_failure.ended_without_report(view, pod)
    if pod.gated:
        return pod_failure.relaunch(view) if pod.deleting else containers.remove_gate(pod)
    return _live_pod(view, pod)


def _want_pod(view: TaskRunView) -> Step:
    """Ask for a slot, unless the process of an earlier pod may still run."""
    confirm = ConfirmPods(view.taskrun.metadata.namespace, view.taskrun.metadata.uid)
    if view.unconfirmed_pod not in {None, pod_name(view.taskrun)} and confirm not in view.known:
        return Step(needs=(confirm,))
    if not view.former_pods:
        return Step(wants_pod=True, again_at=deadline_of_attempt(view))
    terminating = next((pod for pod in view.former_pods if pod.deletion_timestamp is not None), None)
    if terminating is not None:
        return _terminating_pod(view, terminating)
    status = view.taskrun.status
    since = status.fired_at or status.deferred_at or status.retry_at
    return step.delete_after_grace(view, view.former_pods, since=since, grace=view.settings.former_pod_grace)


def _live_pod(view: TaskRunView, pod: Pod) -> Step:
    """The pod exists and has not ended: it may be unable to start or to terminate."""
    if pod.waiting_reason in pod_failure.START_FAILURES:
        return pod_failure.cannot_start(view, pod)
    if pod.deletion_timestamp is not None:
        return _terminating_pod(view, pod)
    return _until_deadline(view, pod_startup.next_step(view, pod))


def _terminating_pod(view: TaskRunView, pod: Pod) -> Step:
    return _until_deadline(view, step.node_lost(view, pod))


def _until_deadline(view: TaskRunView, after: Step) -> Step:
    due = deadline_of_attempt(view)
    return after if due is None else combine(after, Step(again_at=due))
