"""Pods that end, vanish or cannot start without a report of their task, and images that cannot run a task. Pure.

The messages of kubelet and container runtime are those of containerd and CRI-O with runc and crun.
"""

import re
from dataclasses import dataclass

from torpor_crds.models.taskrun import TaskRun
from torpor_wire import constants, retry, times, transitions
from torpor_wire.enums import Runtime
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.model.actions import ConfirmPod, PatchTaskRun
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import Presence
from torpor_operator.taskrun import runtime_volume, step
from torpor_operator.taskrun.step import Step, TaskRunView

_PULL_FAILURES = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_CONFIG_FAILURES = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_CRASHES = frozenset({"CrashLoopBackOff"})
"""Of a sidecar: no other container restarts."""
START_FAILURES = _PULL_FAILURES | _CONFIG_FAILURES | _CRASHES
"""Reasons of a waiting container that cannot start."""
_NOT_FOUND = re.compile(r"executable file .*not found|\bstat \S+: no such file or directory|executable file not found")
_WRONG_FORMAT = re.compile(r"\bexec \S+: exec format error")
_NO_MODULE = "No module named torpor"
_NO_START = re.compile(rf"can't open file '{constants.RUNTIME_FOLDER}/start\.py'")
_NO_PLATFORM = "no match for platform"


@dataclass(frozen=True, slots=True)
class ImageProblem:
    """The problem and what to do. `final`: whether another attempt would fail in the same way."""

    message: str
    final: bool


def ended_without_report(view: TaskRunView, pod: Pod) -> Step:
    """Retry or fail after a pod that has ended. A report that arrives first wins: the patch has preconditions."""
    status = view.taskrun.status
    if pod.preempted or (pod.disrupted and status.launch < view.settings.max_launches):
        return relaunch(view)
    if (problem := image_problem(view.taskrun, pod)) is not None:
        return _fail(view, problem)
    if pod.of_files:
        return step.fail(view, Reason.FILE_NOT_FETCHED, pod.end_message)
    if pod.of_runtime:
        return step.fail(view, Reason.LAUNCH_FAILED, f"the runtime was not copied into the pod: {pod.end_message}")
    if pod.failed_to_start:
        return step.fail(view, Reason.LAUNCH_FAILED, f"{_named(pod)} cannot start: {pod.end_message}")
    if pod.container:
        return step.fail(view, Reason.ERROR, f"{_named(pod)} failed: {pod.end_message}", exit_code=pod.exit_code)
    if view.taskrun.spec.container is not None and pod.exit_code is not None:
        return step.fail(view, Reason.ERROR, pod.end_message, exit_code=pod.exit_code)
    if status.state is State.SCHEDULED and pod.exit_code == constants.EXIT_FORBIDDEN:
        return step.fail(view, Reason.FORBIDDEN, _missing_role(view))
    message = f"pod {pod.name} ended without a report ({pod.end_message or pod.phase})"
    return step.fail(view, Reason.LOST, message, exit_code=pod.exit_code)


def missing(view: TaskRunView, confirm: ConfirmPod) -> Step:
    """Fail after a pod that no longer exists, once a read has confirmed it: the cache alone may lag behind.

    A pod that was disrupted is replaced, as one that is seen before it vanishes: its node may be collected at once.
    """
    match view.known.get(confirm):
        case None:
            return Step(needs=(confirm,))
        case Presence.DISRUPTED if view.taskrun.status.launch < view.settings.max_launches:
            return relaunch(view)
        case Presence.GONE | Presence.DISRUPTED:
            return step.fail(view, Reason.LOST, f"pod {confirm.name} no longer exists and left no report")
        case _:
            return Step(again_at=view.now + view.settings.former_pod_grace)


def cannot_start(view: TaskRunView, pod: Pod) -> Step:
    """Report a container that cannot start at once, and fail after a grace, since registries recover.

    An image that cannot run the task fails it at once.
    """
    problem = image_problem(view.taskrun, pod)
    if problem is not None and problem.final:
        return step.with_pods_ended(_fail(view, problem), pod)
    pulling = pod.waiting_reason in _PULL_FAILURES
    reason = Reason.IMAGE_PULL_FAILED if pulling else Reason.LAUNCH_FAILED
    summary = f"{_image(view, pod)} cannot be pulled:{pull_advice(pod)}"
    if not pulling:
        summary = f"{problem.message}:" if problem is not None else f"{_named(pod)} cannot start:"
    message = f"{summary} {pod.waiting_reason}: {pod.waiting_message}"
    due = times.epoch(pod.start_time or pod.created) + view.settings.image_pull_grace
    if view.now >= due:
        return step.with_pods_ended(step.fail(view, reason, message), pod)
    return step.explain(view, reason, message, again_at=due)


def _image(view: TaskRunView, pod: Pod) -> str:
    """The image that cannot be pulled: that of the runtime, also as a volume, or that of the task."""
    own, runtime = view.taskrun.spec.image or "", view.settings.runtime_image
    is_volume = runtime in pod.waiting_message and own not in pod.waiting_message
    if pod.of_runtime or is_volume:
        return f"image {runtime} (--runtime-image of the operator)"
    return f"the image of {_named(pod)}" if pod.container else f"image {own}"


def _named(pod: Pod) -> str:
    """The container that the pod describes: by its name, unless it is that of the task."""
    return f"container {pod.container}" if pod.container else "the container"


def _fail(view: TaskRunView, problem: ImageProblem) -> Step:
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


def image_problem(taskrun: TaskRun, pod: Pod) -> ImageProblem | None:
    """The problem of a pod that cannot start or ended before its task began; None if the image is not the cause."""
    image, text = taskrun.spec.image, pod.waiting_message or pod.end_message
    if pod.of_runtime:
        return None
    if pod.container:
        return _of_other(pod, text)
    if "runAsNonRoot" in pod.waiting_message:
        return ImageProblem(
            f"image {image} runs as root, or as a user without a number; a task pod must not: set "
            f"pod.securityContext.runAsUser to a number other than 0 ({pod.waiting_message})",
            final=True,
        )
    if _WRONG_FORMAT.search(text) and _has_not_begun(taskrun, pod):
        return ImageProblem(f"image {image} {_architecture(pod)} (exec format error)", final=False)
    if taskrun.spec.container is not None:
        return _of_container(pod, text)
    return _of_python(taskrun, pod, text) if taskrun.status.state is State.SCHEDULED else None


def _of_other(pod: Pod, text: str) -> ImageProblem | None:
    """The problem of an init container or a sidecar."""
    if "runAsNonRoot" in pod.waiting_message:
        return ImageProblem(
            f"{_named(pod)} runs as root, or as a user without a number: set securityContext.runAsUser of that "
            f"container to a number other than 0 ({pod.waiting_message})",
            final=True,
        )
    if (pod.failed_to_start or pod.exit_code is None) and _NOT_FOUND.search(text):
        return ImageProblem(f"{_named(pod)} cannot start: {text}", final=True)
    return None


def pull_advice(pod: Pod) -> str:
    """What to do about an image that exists, but not for the node; empty for any other pull failure."""
    return f" it {_architecture(pod)}:" if _NO_PLATFORM in pod.waiting_message else ""


def _has_not_begun(taskrun: TaskRun, pod: Pod) -> bool:
    """Whether the message is not of the task's own program."""
    return pod.failed_to_start or pod.exit_code is None or _is_whole(pod) or taskrun.status.state is State.SCHEDULED


def _is_whole(pod: Pod) -> bool:
    """Whether the container runtime wrote all of the log: it executes the program after the container has started."""
    return _WRONG_FORMAT.fullmatch(pod.termination_message.strip()) is not None


def _architecture(pod: Pod) -> str:
    where = f"node {pod.node}" if pod.node else "its node"
    return (
        f"is not for the CPU architecture of {where}: build it for that one, or set pod.nodeSelector kubernetes.io/arch"
    )


def _of_container(pod: Pod, text: str) -> ImageProblem | None:
    if (pod.failed_to_start or pod.exit_code is None) and _NOT_FOUND.search(text):
        return ImageProblem(f"the container cannot start: {text}", final=True)
    return None


def _of_python(taskrun: TaskRun, pod: Pod, text: str) -> ImageProblem | None:
    image, injected = taskrun.spec.image, runtime_volume.is_injected(taskrun)
    if pod.exit_code == constants.EXIT_UNSUPPORTED:
        sentence = pod.termination_message.strip().removeprefix("torpor: ") or "its Python cannot run the runtime"
        return ImageProblem(f"image {image} cannot run python tasks: {sentence}", final=True)
    if (pod.failed_to_start or pod.exit_code is None) and _NOT_FOUND.search(text):
        return ImageProblem(_no_python(image, taskrun.spec.runtime), final=True)
    if not injected and _NO_MODULE in text:
        return ImageProblem(
            f"image {image} has no runtime: remove runtime: Image, or build it FROM torpor-worker", final=True
        )
    if injected and _NO_START.search(text):
        return ImageProblem(
            f"node {pod.node} mounted no runtime in the pod; its image volumes may not work: run the operator with "
            "--runtime-injection=init-container",
            final=False,
        )
    return None


def _no_python(image: str | None, runtime: Runtime | None) -> str:
    if runtime is Runtime.IMAGE:
        return f"image {image} has no python in its PATH: remove runtime: Image, or build it FROM torpor-worker"
    return (
        f"image {image} has no python3 in its PATH: use an image with Python 3.11 or later, or run the program as a "
        "container task"
    )
