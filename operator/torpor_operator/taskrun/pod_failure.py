"""Pods that end, vanish or cannot start without a report of their task."""

from torpor_wire import constants, retry, times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.model.actions import ConfirmPod, PatchTaskRun
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import Presence
from torpor_operator.taskrun import bad_image, step
from torpor_operator.taskrun.step import Step, TaskRunView

_PULL_FAILURES = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_CONFIG_FAILURES = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
START_FAILURES = _PULL_FAILURES | _CONFIG_FAILURES
"""Reasons of a waiting container that cannot start."""


def ended_without_report(view: TaskRunView, pod: Pod) -> Step:
    """Retry or fail after a pod that has ended. A report that arrives first wins: the patch has preconditions."""
    status = view.taskrun.status
    if pod.disrupted and status.launch < view.settings.max_launches:
        return relaunch(view)
    if (problem := bad_image.find(view.taskrun, pod)) is not None:
        return _fail(view, problem)
    if pod.of_runtime:
        return step.fail(view, Reason.LAUNCH_FAILED, f"the runtime was not copied into the pod: {pod.end_message}")
    if pod.failed_to_start:
        return step.fail(view, Reason.LAUNCH_FAILED, f"the container cannot start: {pod.end_message}")
    if view.taskrun.spec.container is not None and pod.exit_code is not None:
        return step.fail(view, Reason.ERROR, pod.end_message)
    if status.state is State.SCHEDULED and pod.exit_code == constants.EXIT_FORBIDDEN:
        return step.fail(view, Reason.FORBIDDEN, _missing_role(view))
    return step.fail(view, Reason.LOST, f"pod {pod.name} ended without a report ({pod.end_message or pod.phase})")


def missing(view: TaskRunView, confirm: ConfirmPod) -> Step:
    """Fail after a pod that no longer exists, once a read has confirmed it: the cache alone may lag behind."""
    match view.known.get(confirm):
        case None:
            return Step(needs=(confirm,))
        case Presence.GONE:
            return step.fail(view, Reason.LOST, f"pod {confirm.name} no longer exists and left no report")
        case _:
            return Step(again_at=view.now + view.settings.former_pod_grace)


def cannot_start(view: TaskRunView, pod: Pod) -> Step:
    """Report a container that cannot start at once, and fail after a grace, since registries recover.

    An image that cannot run the task fails it at once.
    """
    problem = bad_image.find(view.taskrun, pod)
    if problem is not None and problem.final:
        return Step(actions=(*_fail(view, problem).actions, step.delete(pod)))
    pulling = pod.waiting_reason in _PULL_FAILURES
    reason = Reason.IMAGE_PULL_FAILED if pulling else Reason.LAUNCH_FAILED
    summary = f"image {_image(view, pod)} cannot be pulled:{bad_image.pull_advice(pod)}"
    if not pulling:
        summary = f"{problem.message}:" if problem is not None else "the container cannot start:"
    message = f"{summary} {pod.waiting_reason}: {pod.waiting_message}"
    due = times.epoch(pod.start_time or pod.created) + view.settings.image_pull_grace
    if view.now >= due:
        failed = step.fail(view, reason, message)
        return Step(actions=(*failed.actions, step.delete(pod)))
    return step.explain(view, reason, message, again_at=due)


def _image(view: TaskRunView, pod: Pod) -> str:
    """The image that cannot be pulled: that of the runtime, also as a volume, or that of the task."""
    own, runtime = view.taskrun.spec.image or "", view.settings.runtime_image
    is_volume = runtime in pod.waiting_message and own not in pod.waiting_message
    return f"{runtime} (--runtime-image of the operator)" if pod.of_runtime or is_volume else own


def _fail(view: TaskRunView, problem: bad_image.ImageProblem) -> Step:
    policy = retry.Policy() if problem.final else None
    return step.fail(view, Reason.LAUNCH_FAILED, problem.message, policy=policy)


def relaunch(view: TaskRunView) -> Step:
    """Start the segment again in a new pod."""
    patch = transitions.relaunch(view.taskrun.pin(launch=True), now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _missing_role(view: TaskRunView) -> str:
    namespace = view.taskrun.metadata.namespace
    account = view.taskrun.spec.service_account or view.settings.task_service_account
    binding = f"kubectl -n {namespace} create rolebinding torpor-task-{account} --clusterrole=torpor-task"
    return (
        f"ServiceAccount {account} may not claim TaskRuns in namespace {namespace}; no code of the task ran: "
        f"{binding} --serviceaccount={namespace}:{account}"
    )
