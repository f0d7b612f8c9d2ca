"""The claim: one patch, before any user code, by which one process of all that were started runs the segment.

The patch needs no read before it, and its answer is the TaskRun: what to run, the event, where to go on. Who does not
get the claim leaves without a word, since somebody else has it.
"""

from collections.abc import Callable
from typing import Any

from torpor_wire import transitions
from torpor_wire.state import State

from torpor.runtime import status_patch, taskrun
from torpor.runtime.environment import Launch
from torpor.runtime.http import Exchange

LIMIT_S = 60.0
FORBIDDEN_S = 5.0
"""An API server that has just started reads the roles within a second or two; what it says after five is meant."""
REPEATS = frozenset({status_patch.CONFLICT, status_patch.TOO_MANY})


def claim(
    exchange: Exchange, launch: Launch, patience: status_patch.RetryPolicy, *, now: float
) -> status_patch.Settled:
    """Claims the segment for this process."""
    who = transitions.Claim(launch.pod, launch.pod_uid, launch.nonce)
    patch = transitions.claim(launch.pin(State.SCHEDULED), who, started=launch.started, now=now)
    patience = patience._replace(forbidden=FORBIDDEN_S)
    return status_patch.write(exchange, launch.path(), patch, looking(launch), patience)


def looking(launch: Launch) -> Callable[[Any], status_patch.Verdict]:
    """Whether a TaskRun still is to be claimed, or by whom it was."""

    def look(body: Any) -> status_patch.Verdict:
        found = taskrun.standing(body)
        if found.claim == launch.nonce:
            return status_patch.Verdict.MINE
        pinned = (launch.uid, State.SCHEDULED, launch.attempt, launch.segment, launch.launch)
        still = (found.uid, found.state, found.attempt, found.segment, found.launch) == pinned
        return status_patch.Verdict.OPEN if still else status_patch.Verdict.OTHERS

    return look
