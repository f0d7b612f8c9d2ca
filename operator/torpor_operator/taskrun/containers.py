"""Container tasks: nobody in the pod speaks for it, so the operator claims before it may start and reads how it ended.

The pod is created with a scheduling gate. The claim pins its uid; only then is the gate lifted, so a second pod for the
same segment (a stale operator's) never runs. A finalizer keeps the pod until its outcome is stored on the TaskRun.
"""

import json
import re
from dataclasses import dataclass

from torpor_wire import canonical, constants, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State
from torpor_wire.transitions import Claim

from torpor_operator.model.actions import LiftGate, PatchTaskRun, RemovePodFinalizer
from torpor_operator.model.pod import Pod, name_of
from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import Step, TaskRunView

CLAIMANT = "operator"
TERMINATION_MAX = 4096
"""Bytes of a termination message; the kubelet keeps the last 4,096 of a longer one and does not say that it was cut."""
_JSON_STARTS = ("{", "[", '"')
_NAMED = re.compile(r"-a([0-9]+)-s([0-9]+)(?:-l([0-9]+))?$")


def claim(view: TaskRunView, pod: Pod) -> Step:
    """Scheduled -> Running for a pod that is still gated."""
    who = Claim(pod=pod.name, pod_uid=pod.uid, nonce=CLAIMANT)
    patch = transitions.claim(view.taskrun.pin(launch=True), who, started=view.taskrun.status.started_at, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def release(pod: Pod) -> Step:
    """The claim is stored: the pod may be scheduled."""
    return Step(actions=(LiftGate(namespace=pod.namespace, name=pod.name, uid=pod.uid, gates=pod.gates),))


def success(view: TaskRunView, pod: Pod) -> Step:
    """Exit code 0: the result is the termination message; one that cannot be trusted or read fails the TaskRun."""
    match result(pod.said):
        case Invalid(message):
            # The work is done, and doing it again would write the same message.
            return step.fail(view, Reason.RESULT_INVALID, message, policy=retry.Policy())
        case text:
            patch = transitions.succeed(view.taskrun.pin(launch=True), text, now=view.now)
            return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def let_go(view: TaskRunView) -> Step:
    """The pods that need not be kept: their outcome is stored, or they have none to come."""
    return Step(actions=tuple(freed(pod) for pod in view.pods if pod.held and _spent(view, pod)))


def freed(pod: Pod) -> RemovePodFinalizer:
    """The action that lifts the pod's finalizer."""
    return RemovePodFinalizer(namespace=pod.namespace, name=pod.name, uid=pod.uid, finalizers=pod.finalizers)


def _spent(view: TaskRunView, pod: Pod) -> bool:
    """Whether no outcome of the pod is still to be stored, also where the TaskRun is seen later than its pods.

    A pod of later numbers than the TaskRun's, or one whose gate is lifted while it seems Scheduled, has been claimed
    since: its outcome is not known yet.
    """
    status = view.taskrun.status
    if status.state in TERMINAL:
        return True
    if view.taskrun.metadata.deletion_timestamp is not None:
        return pod.terminal or pod.gated
    if _numbers(pod) > (status.attempt, status.segment, status.launch):
        return False
    match status.state:
        case State.RUNNING:
            return status.pod is None or status.pod.uid != pod.uid
        case State.SCHEDULED:
            return pod.name != name_of(view.taskrun) or (pod.deleting and pod.gated)
        case _:
            return True


def _numbers(pod: Pod) -> tuple[int, int, int]:
    """Attempt, segment and launch, from the pod's name; none for a name that is not ours."""
    found = _NAMED.search(pod.name)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Invalid:
    """Why a termination message is no result."""

    message: str


def result(said: str) -> str | Invalid | None:
    """The result as JSON text that a termination message holds; None for an empty one.

    A message that begins with `{`, `[` or `"` must be JSON. Any other message is JSON if it is a number, true, false or
    null, and else plain text, which becomes a string.
    """
    if (size := len(said.encode(errors="replace"))) >= TERMINATION_MAX:
        return Invalid(
            f"the termination message is {size} bytes, and the kubelet cuts off what is longer than {TERMINATION_MAX}: "
            f"write less than {TERMINATION_MAX} bytes to /dev/termination-log, such as the place where the result is"
        )
    text = said.strip()
    if not text:
        return None
    try:
        value = canonical.plain(json.loads(text))
    except (ValueError, RecursionError) as error:
        if text.startswith(_JSON_STARTS):
            return Invalid(
                f"the termination message begins with {text[0]} and is not JSON ({error}): "
                "write valid JSON to /dev/termination-log, or text that begins with another character"
            )
        value = canonical.plain(text)
    if (size := len(value.encode())) > constants.RESULT_MAX:
        return Invalid(f"the result is {size} bytes as JSON, and {constants.RESULT_MAX} fit: write less")
    return value
