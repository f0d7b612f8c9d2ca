"""Images that cannot run a task: what to tell the user about the messages of kubelet and container runtime. Pure.

The messages are those of containerd and CRI-O with runc and crun.
"""

import re
from dataclasses import dataclass

from torpor_crds.models.taskrun import TaskRun
from torpor_wire import constants
from torpor_wire.enums import Runtime
from torpor_wire.state import State

from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import runtime_volume

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


def find(taskrun: TaskRun, pod: Pod) -> ImageProblem | None:
    """The problem of a pod that cannot start or ended before its task began; None if the image is not the cause."""
    image, text = taskrun.spec.image, pod.waiting_message or pod.end_message
    if pod.of_runtime:
        return None
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
