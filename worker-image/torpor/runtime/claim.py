"""The claim: one status patch before any user code, by which exactly one process runs the segment.

The patch needs no read before it, and its response is the TaskRun: what to run, the event, and where to resume. A
process that loses the claim exits silently, because another one has it.
"""

from collections.abc import Callable
from typing import Any

from torpor_wire import transitions
from torpor_wire.state import State

from torpor.runtime import status_patch, taskrun
from torpor.runtime.environment import Launch
from torpor.runtime.http import WorkerTransport

LIMIT_S = 60.0
FORBIDDEN_S = 5.0
"""Seconds. A starting API server loads its roles within a second or two; a Forbidden after five is final."""
REPEATS = frozenset({status_patch.CONFLICT, status_patch.TOO_MANY})


def claim(
    transport: WorkerTransport, launch: Launch, retry_policy: status_patch.RetryPolicy, *, now: float
) -> status_patch.WriteResult:
    """Claim the segment for this process."""
    who = transitions.Claim(launch.pod, launch.pod_uid, launch.nonce, launch.source)
    patch = transitions.claim(launch.pin(State.SCHEDULED), who, started=launch.started, now=now)
    retry_policy = retry_policy._replace(forbidden=FORBIDDEN_S)
    return status_patch.write(transport, launch.path(), patch, write_state_of(launch), retry_policy)


def write_state_of(launch: Launch) -> Callable[[Any], status_patch.WriteState]:
    """Return a function that tells from a TaskRun whether the claim is open, ours or lost."""

    def state_of(body: Any) -> status_patch.WriteState:
        found = taskrun.parse_state(body)
        if found.claim == launch.nonce:
            return status_patch.WriteState.MINE
        pinned = (launch.uid, State.SCHEDULED, launch.attempt, launch.segment, launch.launch)
        still = (found.uid, found.state, found.attempt, found.segment, found.launch) == pinned
        return status_patch.WriteState.OPEN if still else status_patch.WriteState.OTHERS

    return state_of
