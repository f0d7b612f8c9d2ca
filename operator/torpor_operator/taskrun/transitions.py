"""One TaskRun and its pods: what must be written or removed now, and when to look again.

Each rule is a function from what is seen to steps; the first whose state matches decides. Nothing here reads another
TaskRun, and nothing is decided on a pod's absence from the store alone: absence is confirmed first.
"""

import shlex

from torpor_api.models.taskrun import TriggerCall
from torpor_wire import constants, retry, times, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.model.actions import ConfirmPod, ConfirmPods, PatchTaskRun
from torpor_operator.model.pod import Pod, name_of
from torpor_operator.model.snapshot import Presence
from torpor_operator.taskrun import containers, pod_startup, step, termination
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, both

_PULL_FAILURES = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
_ROUNDING = 0.002  # moments on the object are of milliseconds
_CONFIG_FAILURES = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}


def next_step(view: TaskRunView) -> Step:
    """What the TaskRun's state and pods ask for; one that is being deleted starts nothing more."""
    if view.taskrun.metadata.deletion_timestamp is not None:
        return termination.held_up(view)
    if view.taskrun.status.state in TERMINAL and all(pod.terminal and not pod.held for pod in view.pods):
        return NOTHING
    return both(_next_step(view), containers.let_go(view))


def _next_step(view: TaskRunView) -> Step:
    match view.taskrun.status.state:
        case State.SCHEDULED:
            return _scheduled(view)
        case State.RUNNING:
            return _running(view)
        case State.DEFERRED:
            return _deferred(view)
        case State.UP_FOR_RETRY:
            return _up_for_retry(view)
        case _:
            return termination.delete_lingering_pods(view)


def _scheduled(view: TaskRunView) -> Step:
    if view.taskrun.spec.trigger is not None and view.waits_first:
        return _defer(view, view.taskrun.spec.trigger)
    if (late := _timed_out(view)) is not None:
        return late
    pod = view.current_pod
    if pod is None:
        return _former(view)
    if pod.terminal:
        return _ended_silently(view, pod)
    if pod.gated and not pod.deleting:
        return containers.claim(view, pod)
    return _alive(view, pod)


def _defer(view: TaskRunView, asked: TriggerCall) -> Step:
    """A task whose body is a trigger goes straight to the triggerer: no pod is started merely to wait."""
    spec, metadata = view.taskrun.spec, view.taskrun.metadata
    try:
        wait = trigger.build(
            asked.class_name,
            trigger.parse(asked.kwargs),
            namespace=metadata.namespace,
            pool=spec.trigger_pool,
            now=view.now,
            account=spec.service_account or constants.TASK_ACCOUNT,
            taskrun=metadata.name,
        )
    except trigger.TriggerError as error:
        return step.fail(view, Reason.TRIGGER_INVALID, str(error), policy=retry.Policy())
    total = spec.timeout if spec.timeout_while_deferred else None
    limits = [times.seconds(limit) for limit in (asked.timeout, total) if limit is not None]
    deadline = view.now + min(limits) if limits else None
    patch = transitions.defer(view.taskrun.pin(), wait, resume=None, deadline=deadline, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _former(view: TaskRunView) -> Step:
    """A segment's pod is created only when no pod of an earlier one can still run a process."""
    confirm = ConfirmPods(view.taskrun.metadata.namespace, view.taskrun.metadata.uid)
    if view.unclear not in {None, name_of(view.taskrun)} and confirm not in view.known:
        return Step(needs=(confirm,))
    if not view.former_pods:
        return Step(wants_pod=True, again_at=_attempt_deadline(view))
    late = next((pod for pod in view.former_pods if pod.overdue is not None), None)
    if late is not None:
        return _overdue(view, late)
    status = view.taskrun.status
    since = status.fired_at or status.deferred_at or status.retry_at
    return step.dismiss(view, view.former_pods, since=since, grace=view.settings.former_pod_grace)


def _running(view: TaskRunView) -> Step:
    if (late := _timed_out(view)) is not None:
        return late
    claimed = view.taskrun.status.pod
    if claimed is None:
        message = "Running without a pod in its status: written by another hand than Torpor's"
        return step.fail(view, Reason.STATUS_INVALID, message, policy=retry.Policy())
    pod = next((pod for pod in view.pods if pod.uid == claimed.uid), None)
    if pod is None:
        return _maybe_gone(view, ConfirmPod(view.taskrun.metadata.namespace, claimed.name, claimed.uid or ""))
    if pod.terminal:
        done = view.taskrun.spec.container is not None and pod.exit_code == 0
        return containers.success(view, pod) if done else _ended_silently(view, pod)
    if pod.gated:
        return _relaunch(view) if pod.deleting else containers.release(pod)
    return _alive(view, pod)


def _alive(view: TaskRunView, pod: Pod) -> Step:
    """A pod that is there and has not ended: it may be unable to start, or unable to end."""
    if pod.waiting_reason in _PULL_FAILURES | _CONFIG_FAILURES:
        return _stuck(view, pod)
    if pod.overdue is not None:
        return _overdue(view, pod)
    return both(pod_startup.step(view, pod), Step(again_at=_attempt_deadline(view)))


def _overdue(view: TaskRunView, pod: Pod) -> Step:
    return both(step.node_lost(view, pod), Step(again_at=_attempt_deadline(view)))


def _deferred(view: TaskRunView) -> Step:
    status = view.taskrun.status
    if status.trigger is None:
        message = "Deferred without a trigger in its status: written by another hand than Torpor's"
        return step.fail(view, Reason.STATUS_INVALID, message, policy=retry.Policy())
    lingering = both(
        step.dismiss(view, view.pods, since=status.deferred_at, grace=view.settings.former_pod_grace),
        _unserved(view),
    )
    if status.deadline is None:
        return lingering
    due = times.epoch(status.deadline) + view.settings.triggerer_grace
    if view.now < due:
        return both(lingering, Step(again_at=due))
    if status.next is not None and status.next.on_timeout and not _deadline_is_the_tasks(view):
        return _go_on(view)
    message = f"the wait for {status.trigger.waits_for} was over at {status.deadline}, and no triggerer said so"
    final = status.next is not None and status.next.timeout_is_final and not _deadline_is_the_tasks(view)
    return step.fail(view, Reason.DEFERRAL_TIMEOUT, message, policy=retry.Policy() if final else None)


def _unserved(view: TaskRunView) -> Step:
    """A wait that nobody looks at says so, once it is clear that nobody is only late."""
    if view.pool.served:
        return NOTHING
    deferred, pool = view.taskrun.status.deferred_at, view.taskrun.spec.trigger_pool
    due = (times.epoch(deferred) if deferred else view.now) + view.settings.unserved_grace
    if view.now < due:
        return Step(again_at=due)
    look = f"kubectl get pods -A -l {shlex.quote(f'{constants.LABEL_POOL}={pool}')}"
    message = f"no triggerer of pool {pool} is there to look: {look}"
    return step.explain(view, Reason.POOL_UNSERVED, message)


def _go_on(view: TaskRunView) -> Step:
    """The wait took too long, and the task said where it goes on then."""
    status = view.taskrun.status
    since = times.epoch(status.deferred_at) if status.deferred_at else view.now
    deferred = (status.deferred_seconds or 0.0) + view.now - since
    patch = transitions.fire(view.taskrun.pin(), None, deferred=deferred, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _deadline_is_the_tasks(view: TaskRunView) -> bool:
    """Whether the attempt's own time ends with this wait's."""
    ends, deadline = _attempt_deadline(view), view.taskrun.status.deadline
    if ends is None or deadline is None or not view.taskrun.spec.timeout_while_deferred:
        return False
    return times.epoch(deadline) >= ends - _ROUNDING


def _up_for_retry(view: TaskRunView) -> Step:
    retry_at = view.taskrun.status.retry_at
    due = times.epoch(retry_at) if retry_at else view.now
    if view.now < due:
        return Step(again_at=due)
    status = view.taskrun.status
    patch = transitions.retry_now(view.taskrun.pin(), first_started=status.first_started_at or status.started_at)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _timed_out(view: TaskRunView) -> Step | None:
    """The task's timeout is the operator's to watch while a pod runs; the triggerer's while it is deferred."""
    deadline = _attempt_deadline(view)
    if deadline is None or view.now < deadline:
        return None
    stop = tuple(step.delete(pod) for pod in view.pods if not pod.terminal and not pod.deleting)
    failed = step.fail(view, Reason.TIMEOUT, _too_long(view))
    return Step(actions=(*failed.actions, *stop))


def _too_long(view: TaskRunView) -> str:
    status, timeout = view.taskrun.status, view.taskrun.spec.timeout
    why = f": {status.reason}: {status.message}" if status.reason else ""
    if status.started_at is None:
        return f"the pod of the attempt did not start within its timeout of {timeout}{why}"
    pod, ran = view.current_pod, f"the attempt ran longer than its timeout of {timeout}"
    return f"{ran}, and its pod did not start{why}" if pod is not None and pod.phase == "Pending" and why else ran


def _attempt_deadline(view: TaskRunView) -> float | None:
    """When the attempt has run too long; time that stands still while it is deferred is added.

    Before its first claim it counts from the creation of its pod, or of one that the quota refuses. Waiting for a slot
    does not count.
    """
    started, timeout = view.taskrun.status.started_at or _launched_at(view), view.taskrun.spec.timeout
    if started is None or timeout is None:
        return None
    still = 0.0 if view.taskrun.spec.timeout_while_deferred else view.taskrun.status.deferred_seconds or 0.0
    return times.epoch(started) + times.seconds(timeout) + still


def _launched_at(view: TaskRunView) -> str | None:
    """When the pod of an attempt that nobody has claimed was made, or first refused for want of quota."""
    taskrun, pod = view.taskrun, view.current_pod
    if pod is not None:
        return pod.created or None
    if taskrun.status.reason == Reason.QUOTA_EXCEEDED:
        return taskrun.status.retry_at or taskrun.metadata.creation_timestamp
    return None


def _ended_silently(view: TaskRunView, pod: Pod) -> Step:
    """A pod that ended without a report. A report still under way wins: the patch is fenced."""
    status = view.taskrun.status
    if pod.disrupted and status.launch < view.settings.max_launches:
        return _relaunch(view)
    if pod.never_ran:
        return step.fail(view, Reason.LAUNCH_FAILED, f"the container cannot be started: {pod.ending}")
    if view.taskrun.spec.container is not None and pod.exit_code is not None:
        return step.fail(view, Reason.ERROR, pod.ending)
    if status.state is State.SCHEDULED and pod.exit_code == constants.EXIT_FORBIDDEN:
        return step.fail(view, Reason.FORBIDDEN, _no_role(view))
    return step.fail(view, Reason.LOST, f"pod {pod.name} ended without a report ({pod.ending or pod.phase})")


def _no_role(view: TaskRunView) -> str:
    namespace = view.taskrun.metadata.namespace
    account = view.taskrun.spec.service_account or view.settings.task_service_account
    binding = f"kubectl -n {namespace} create rolebinding torpor-task-{account} --clusterrole=torpor-task"
    return (
        f"ServiceAccount {account} may not claim TaskRuns in namespace {namespace}, so no code of the task was run: "
        f"{binding} --serviceaccount={namespace}:{account}"
    )


def _relaunch(view: TaskRunView) -> Step:
    patch = transitions.relaunch(view.taskrun.pin(launch=True))
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _maybe_gone(view: TaskRunView, confirm: ConfirmPod) -> Step:
    match view.known.get(confirm):
        case None:
            return Step(needs=(confirm,))
        case Presence.GONE:
            return step.fail(view, Reason.LOST, f"pod {confirm.name} is gone and left no report")
        case _:
            return Step(again_at=view.now + view.settings.former_pod_grace)


def _stuck(view: TaskRunView, pod: Pod) -> Step:
    """A container that cannot start: said on the object at once, failed after a grace, since registries recover."""
    image = view.taskrun.spec.image
    pulling = pod.waiting_reason in _PULL_FAILURES
    reason = Reason.IMAGE_PULL_FAILED if pulling else Reason.LAUNCH_FAILED
    what = f"image {image} cannot be pulled" if pulling else "the container cannot be started"
    root = (
        ": set pod.securityContext.runAsUser to a number other than 0" if "runAsNonRoot" in pod.waiting_message else ""
    )
    message = f"{what}{root}: {pod.waiting_reason}: {pod.waiting_message}"
    due = times.epoch(pod.taken_up or pod.created) + view.settings.image_pull_grace
    if view.now >= due:
        failed = step.fail(view, reason, message)
        return Step(actions=(*failed.actions, step.delete(pod)))
    return step.explain(view, reason, message, again_at=due)
