"""Computes conditions from the status, so that each writer of a state writes the same condition.

A TaskRun has the condition `Succeeded` from its end, True or False. Before, `status.state` says everything that the
condition could say, and `kubectl wait --for=condition=Succeeded` waits for it.
"""

from torpor_wire import state as states
from torpor_wire import text
from torpor_wire.canonical import Json
from torpor_wire.reason import Reason

TYPE = "Succeeded"
STATUS = {
    states.State.SUCCEEDED: "True",
    states.State.SKIPPED: "True",  # with reason Skipped, so `kubectl wait --for=condition=Succeeded` ends (ADR 0015)
    states.State.FAILED: "False",
    states.State.CANCELLED: "False",
}
"""The status of the condition in each terminal state. Policy torpor-status enforces it."""


def succeeded(state: states.State, *, completed: str, reason: str | None, message: str | None) -> dict[str, Json]:
    """Return the `Succeeded` condition of a terminal state. `completed` is an RFC 3339 time."""
    return {
        "type": TYPE,
        "status": STATUS[state],
        "reason": reason or (Reason.SUCCEEDED if state is states.State.SUCCEEDED else state),
        "message": text.printable(message or ""),
        "lastTransitionTime": completed,
    }
