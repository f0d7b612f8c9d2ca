"""Container tasks: the operator claims for the pod, and reads the result from it.

The pod is created with a scheduling gate. The claim stores the pod's uid, and only then is the gate removed: a second
pod of the segment, created by a stale operator, never runs. A finalizer keeps the pod until its outcome is stored.
"""

import json
from dataclasses import dataclass

from torpor_wire import canonical, constants, names, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State
from torpor_wire.transitions import Claim

from torpor_operator.model.actions import LiftGate, PatchTaskRun, RemovePodFinalizer
from torpor_operator.model.pod import Pod, pod_name
from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import Step, TaskRunView

CLAIMANT = "operator"
TERMINATION_MAX = 4096
"""Bytes of a termination message. The kubelet keeps the last 4,096 of a longer one and does not mark the cut."""
_JSON_STARTS = ("{", "[", '"')


def claim(view: TaskRunView, pod: Pod) -> Step:
    """Move Scheduled to Running for a pod that is still gated."""
    claimant = Claim(pod=pod.name, pod_uid=pod.uid, nonce=CLAIMANT)
    patch = transitions.claim(
        view.taskrun.pin(launch=True), claimant, started=view.taskrun.status.started_at, now=view.now
    )
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def remove_gate(pod: Pod) -> Step:
    """Let the pod be scheduled, since its claim is stored."""
    return Step(actions=(LiftGate(namespace=pod.namespace, name=pod.name, uid=pod.uid, gates=pod.gates),))


def succeed(view: TaskRunView, pod: Pod) -> Step:
    """Store the result after exit code 0: the termination message. One that is cut or invalid fails the TaskRun."""
    match result(pod.termination_message):
        case Invalid(message):
            # No retry: the work is done, and it would write the same message again.
            return step.fail(view, Reason.RESULT_INVALID, message, policy=retry.Policy())
        case text:
            patch = transitions.succeed(view.taskrun.pin(launch=True), text, now=view.now)
            return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def remove_finalizers(view: TaskRunView) -> Step:
    """Remove the finalizers of pods whose outcome is stored, or that will have none."""
    return Step(
        actions=tuple(remove_finalizer(pod) for pod in view.pods if pod.has_finalizer and _outcome_is_stored(view, pod))
    )


def remove_finalizer(pod: Pod) -> RemovePodFinalizer:
    """The action that removes the pod's finalizer."""
    return RemovePodFinalizer(namespace=pod.namespace, name=pod.name, uid=pod.uid, finalizers=pod.finalizers)


def _outcome_is_stored(view: TaskRunView, pod: Pod) -> bool:
    """Whether no outcome of the pod remains to be stored, even if the cache shows the TaskRun later than its pods.

    A pod of a later attempt, segment or launch than the TaskRun's was claimed since; so was one without its gate while
    the TaskRun is still Scheduled in the cache. Their outcome is unknown.
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
            return pod.name != pod_name(view.taskrun) or (pod.deleting and pod.gated)
        case _:
            return True


def _numbers(pod: Pod) -> tuple[int, int, int]:
    """Attempt, segment and launch from the pod's name; zeros for a name that Torpor does not write."""
    return names.pod_numbers(pod.name) or (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Invalid:
    """Why a termination message is not a result."""

    message: str


def result(termination_message: str) -> str | Invalid | None:
    """The result in a termination message, as JSON text; None for an empty message.

    A message that begins with `{`, `[` or `"` must be JSON. Any other message is JSON if it is a number, true, false or
    null; otherwise it is plain text and becomes a string.
    """
    if (size := len(termination_message.encode(errors="replace"))) >= TERMINATION_MAX:
        return Invalid(
            f"the termination message has {size} bytes, and the kubelet cuts it at {TERMINATION_MAX}: write less than "
            f"{TERMINATION_MAX} bytes to /dev/termination-log, for example the location of the result"
        )
    text = termination_message.strip()
    if not text:
        return None
    try:
        value = canonical.plain(json.loads(text))
    except (ValueError, RecursionError) as error:
        if text.startswith(_JSON_STARTS):
            return Invalid(
                f"the termination message begins with {text[0]} and is not valid JSON ({error}): "
                "write JSON to /dev/termination-log, or text that begins with another character"
            )
        value = canonical.plain(text)
    if (size := len(value.encode())) > constants.RESULT_MAX:
        return Invalid(f"the result has {size} bytes as JSON; the limit is {constants.RESULT_MAX}")
    return value
