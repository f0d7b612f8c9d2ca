"""Images that cannot run a task: the TaskRun names the image and what to do, and is retried only if that can help.

The statuses of pods are those of a kubelet with containerd, unless the test says otherwise.
"""

from typing import Any

import pytest
from torpor_operator.settings import Settings
from torpor_wire import times
from torpor_wire.state import State

from tests.support.builders import NOW, Body, container, python
from tests.support.plan_fixture import PlanFixture

RETRIES = {"limit": 3}
IMAGE = "etl:1"
RUNC = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
INIT = f"{RUNC}unable to start container process: error during container init: "
NO_PYTHON3 = f'{INIT}exec: "python3": executable file not found in $PATH'
NO_PYTHON = NO_PYTHON3.replace("python3", "python")
CRIO = "container create failed: executable file `python3` not found in $PATH: No such file or directory"
OLD = (
    "torpor: the image has Python 3.8.10 (/usr/bin/python3), and a python task needs Python 3.11 or later: use an "
    "image with a newer python3, or run the program as a container task\n"
)
NO_MODULE = "/usr/local/bin/python: No module named torpor"
NO_START = "python3: can't open file '/torpor/start.py': [Errno 2] No such file or directory"
ROOT = 'container has runAsNonRoot and image will run as root (pod: "run-a-a1-s0_ns(1)", container: main)'
NAMED = 'container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root (pod: "x")'
ADVICE = "use an image with Python 3.11 or later, or run the program as a container task"


def ended(code: int, message: str, reason: str = "Error") -> Body:
    state = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
    return {"phase": "Failed", "startTime": times.rfc3339(NOW), "containerStatuses": [{"name": "main", "state": state}]}


def waiting(reason: str, message: str, *, copying: bool = False) -> Body:
    held: Body = {"name": "main", "state": {"waiting": {"reason": "PodInitializing"}}}
    failing: Body = {"name": "torpor-runtime", "state": {"waiting": {"reason": reason, "message": message}}}
    if copying:
        return {"phase": "Pending", "initContainerStatuses": [failing], "containerStatuses": [held]}
    done = {"name": "torpor-runtime", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    main = failing | {"name": "main"}
    return {"phase": "Pending", "initContainerStatuses": [done], "containerStatuses": [main]}


def outcome(status: Body, task: Body | None = None, **spec: Any) -> tuple[State, str, str]:
    """State, reason and message of the task `a` after its pod has this status."""
    world = PlanFixture((task or python("a")) | {"retries": RETRIES, "image": IMAGE}, **spec)
    world.settle()
    for pod in world.pods.values():
        pod["spec"]["nodeName"] = "node-1"
    world.kubelet("a", status)
    stored = world.run("a").status
    return stored.state, str(stored.reason), str(stored.message)


FINAL: dict[str, tuple[Body, Body, str]] = {
    "no python3": (
        ended(128, NO_PYTHON3, "StartError"),
        {},
        f"image {IMAGE} has no python3 in its PATH: {ADVICE}",
    ),
    "no python3, with CRI-O": (
        waiting("CreateContainerError", CRIO),
        {},
        f"image {IMAGE} has no python3 in its PATH: {ADVICE}",
    ),
    "no python in an image that should have the runtime": (
        ended(128, NO_PYTHON, "StartError"),
        {"runtime": "Image"},
        f"image {IMAGE} has no python in its PATH: remove runtime: Image, or build it FROM torpor-worker",
    ),
    "no runtime in an image that should have it": (
        ended(1, NO_MODULE),
        {"runtime": "Image"},
        f"image {IMAGE} has no runtime: remove runtime: Image, or build it FROM torpor-worker",
    ),
    "an old Python": (ended(78, OLD), {}, f"image {IMAGE} cannot run python tasks: the image has Python 3.8.10"),
    "root": (waiting("CreateContainerConfigError", ROOT), {}, "set pod.securityContext.runAsUser to a number other"),
    "a user without a number": (waiting("CreateContainerConfigError", NAMED), {}, "as a user without a number"),
}


@pytest.mark.parametrize("case", FINAL)
def test_an_image_that_cannot_run_the_task_fails_it_at_once_without_a_retry(case: str) -> None:
    status, spec, message = FINAL[case]

    state, reason, text = outcome(status, **spec)

    assert (state, reason) == (State.FAILED, "LaunchFailed")
    assert message in text
    assert IMAGE in text


def test_the_pod_of_an_image_that_would_run_as_root_is_deleted() -> None:
    world = PlanFixture(python("a")).settle().kubelet("a", waiting("CreateContainerConfigError", ROOT))

    assert world.state("a") is State.FAILED
    assert world.pods == {}


def test_an_image_of_another_architecture_is_retried_on_another_node() -> None:
    for status in (
        ended(255, "exec /usr/local/bin/python3: exec format error\n"),
        ended(128, f"{RUNC}exec /usr/local/bin/python3: exec format error", "StartError"),
    ):
        state, reason, message = outcome(status)
        assert (state, reason) == (State.UP_FOR_RETRY, "LaunchFailed")
        assert message == (
            f"image {IMAGE} is not for the CPU architecture of node node-1: build it for that one, or set "
            "pod.nodeSelector kubernetes.io/arch (exec format error)"
        )


def test_an_image_without_a_variant_for_the_node_fails_the_pull_with_advice() -> None:
    problem = f'failed to pull and unpack image "{IMAGE}": no match for platform in manifest: not found'

    state, reason, message = outcome(waiting("ErrImagePull", problem))

    assert (state, reason) == (State.SCHEDULED, "ImagePullFailed")
    assert message.startswith(f"image {IMAGE} cannot be pulled: it is not for the CPU architecture of node node-1")


def test_a_node_that_mounts_an_empty_image_volume_is_named_with_the_setting() -> None:
    state, reason, message = outcome(ended(2, NO_START))

    assert (state, reason) == (State.UP_FOR_RETRY, "LaunchFailed")
    assert message == (
        "node node-1 mounted no runtime in the pod; its image volumes may not work: run the operator with "
        "--runtime-injection=init-container"
    )


def test_the_same_messages_after_the_claim_are_not_blamed_on_the_image() -> None:
    for status in (ended(78, OLD), ended(1, NO_MODULE), ended(2, NO_START), ended(1, f"oops\n{NO_PYTHON3}")):
        world = PlanFixture(python("a", retries=RETRIES)).settle()
        world.claim("a")
        world.kubelet("a", status)
        assert (world.state("a"), world.run("a").status.reason) == (State.UP_FOR_RETRY, "Lost")


def test_a_container_task_without_its_program_is_not_retried() -> None:
    no_program = NO_PYTHON3.replace("python3", "convert")
    for status in (
        ended(128, no_program, "StartError"),
        ended(128, f"{RUNC}stat /bin/x: no such file or directory", "StartError"),
    ):
        state, reason, message = outcome(status, container("a"))
        assert (state, reason) == (State.FAILED, "LaunchFailed")
        assert message.startswith("the container cannot start: ")


def test_a_container_of_another_architecture_is_recognized_by_its_only_line() -> None:
    line = "exec /usr/bin/convert: exec format error\n"

    assert outcome(ended(255, line), container("a"))[1] == "LaunchFailed"
    assert outcome(ended(1, f"starting\n{line}"), container("a"))[1] == "Error"


@pytest.mark.parametrize(("reason", "problem"), [("ErrImagePull", "not found"), ("ImagePullBackOff", "Back-off")])
def test_an_unpullable_runtime_image_is_named_instead_of_the_tasks_image(reason: str, problem: str) -> None:
    runtime = Settings().runtime_image
    volume = waiting(reason, f'{problem}: failed to pull "{runtime}"')
    for status in (waiting(reason, problem, copying=True), volume):
        _, state, message = outcome(status)
        assert state == "ImagePullFailed"
        assert message.startswith(f"image {runtime} (--runtime-image of the operator) cannot be pulled: {reason}: ")


def test_a_runtime_that_cannot_be_copied_follows_the_retries_of_the_task() -> None:
    status = ended(0, "")
    failed = {"terminated": {"exitCode": 1, "reason": "Error", "message": "no space left on device"}}
    status["initContainerStatuses"] = [{"name": "torpor-runtime", "state": failed}]
    status["containerStatuses"] = [{"name": "main", "state": {"waiting": {"reason": "PodInitializing"}}}]

    state, reason, message = outcome(status)

    assert (state, reason) == (State.UP_FOR_RETRY, "LaunchFailed")
    assert message == "the runtime was not copied into the pod: Error, exit code 1: no space left on device"


def test_an_init_container_of_others_does_not_hide_the_task() -> None:
    status = ended(0, "", "Completed") | {"phase": "Succeeded"}
    proxy = {"terminated": {"exitCode": 137, "reason": "Error"}}
    status["initContainerStatuses"] = [{"name": "istio-proxy", "state": proxy}]
    world = PlanFixture(container("a")).settle().kubelet("a", status)

    assert world.state("a") is State.SUCCEEDED
