"""Conditions as a pure function of status, so that whoever writes the state writes them and nobody keeps them.

`Succeeded` is Unknown until the end, then True or False (as in Tekton). Its last transition is the object's creation
while it is Unknown and the completion after, so no writer needs to know the former condition.
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
"""The condition in each state that is an end; in every other it is UNKNOWN. The CRD holds every writer to it."""

UNKNOWN = "Unknown"


def succeeded(
    state: states.State, *, created: str, completed: str | None, reason: str | None, message: str | None
) -> dict[str, Json]:
    """The `Succeeded` condition. `created` and `completed` are RFC 3339 texts."""
    return {
        "type": TYPE,
        "status": STATUS.get(state, UNKNOWN),
        "reason": reason or (Reason.SUCCEEDED if state is states.State.SUCCEEDED else state),
        "message": text.printable(message or ""),
        "lastTransitionTime": completed or created,
    }
