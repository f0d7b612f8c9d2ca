"""The share of a container in the termination messages of its pod: the kubelet divides 12 kB among all. Pure."""

from torpor_wire.reason import Reason

from torpor_operator.taskrun.outcomes.container_outcome import TERMINATION_MAX, InvalidOutcome


def cut_message(termination_message: str, share: int) -> InvalidOutcome | None:
    """Why a message that the kubelet cut to the share of its container, in bytes, has no outcome; None if it is whole.

    `container_outcome.parse` refuses a message that the kubelet cut at the limit of a pod with few containers.
    """
    size = len(termination_message.encode(errors="replace"))
    if share >= TERMINATION_MAX or size < share:
        return None
    return InvalidOutcome(
        reason=Reason.RESULT_INVALID,
        message=f"the termination message has {size} bytes, and the kubelet cuts it at {share}, the share of each "
        "container of the pod: write less, or set container.result, which stores a large result",
    )
