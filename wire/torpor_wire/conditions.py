"""Computes conditions from the status, so that each writer of a state writes the same condition.

`Succeeded` is Unknown until the end, then True or False, as in Tekton. Its last transition is the creation of the
object while it is Unknown, and the completion afterwards, so a writer needs no former condition.
"""

from torpor_wire import state as states
from torpor_wire import text
from torpor_wire.canonical import Json
from torpor_wire.reason import Reason

TYPE = "Succeeded"
STATUS = {
    states.State.SUCCEEDED: "True",
    states.State.SKIPPED: "True",  # with reason Skipped, so `kubectl wait --for=condition=Succeeded` ends (adr/0015)
    states.State.FAILED: "False",
    states.State.CANCELLED: "False",
}
"""The status of the condition in each terminal state; UNKNOWN in all others. Policy torpor-status enforces it."""

UNKNOWN = "Unknown"


def succeeded(
    state: states.State, *, created: str, completed: str | None, reason: str | None, message: str | None
) -> dict[str, Json]:
    """Return the `Succeeded` condition. `created` and `completed` are RFC 3339 times."""
    return {
        "type": TYPE,
        "status": STATUS.get(state, UNKNOWN),
        "reason": reason or (Reason.SUCCEEDED if state is states.State.SUCCEEDED else state),
        "message": text.printable(message or ""),
        "lastTransitionTime": completed or created,
    }
