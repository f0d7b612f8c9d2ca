"""The report: one patch that stores what the segment came to.

It is repeated for minutes, since hours of work may stand behind it; a TaskRun that somebody else moved on (cancelled,
or given up as lost) keeps what they wrote.
"""

from collections.abc import Callable
from typing import Any, assert_never

from torpor_wire import edge, retry
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor.runtime import settle, taskrun
from torpor.runtime.api import Exchange
from torpor.runtime.launch import Launch
from torpor.runtime.outcome import Failure, Outcome, Skipped, Success
from torpor.runtime.suspension import Suspension
from torpor.runtime.taskrun import TaskRun

LIMIT_S = 300.0
REPEATS = frozenset({settle.UNAUTHORIZED, settle.CONFLICT, settle.TOO_MANY})


def report(
    exchange: Exchange, launch: Launch, patch: edge.Patch, patience: settle.Patience, *, now: float
) -> settle.Settled:
    """Stores the outcome; one that the schema refuses ends the TaskRun as Failed, and `Refused` is returned."""
    look = looking(launch)
    settled = settle.write(exchange, launch.path(), patch, look, patience)
    if isinstance(settled, settle.Refused) and settled.invalid:
        message = f"the API server refused the report: {settled.message}"
        failed = edge.fail(
            launch.pin(State.RUNNING), retry.Policy(), reason=Reason.REPORT_REFUSED, message=message, now=now
        )
        settle.write(exchange, launch.path(), failed, look, patience)
    return settled


def patch_of(outcome: Outcome, launch: Launch, run: TaskRun, *, now: float) -> edge.Patch:
    """The edge that an outcome takes from Running."""
    pin = launch.pin(State.RUNNING)
    match outcome:
        case Success(result, stored):
            return edge.succeed(pin, result, stored=stored, now=now)
        case Suspension():
            deadline = _earlier(run.deadline, None if outcome.timeout is None else now + outcome.timeout)
            return edge.defer(pin, outcome.trigger, resume=outcome.following(), deadline=deadline, now=now)
        case Skipped(message):
            return edge.skip(pin, message=message, now=now)
        case Failure(reason, message, retryable):
            policy = run.policy if retryable else retry.Policy()
            return edge.fail(pin, policy, reason=reason, message=message, now=now)
        case _:
            assert_never(outcome)


def _earlier(*ends: float | None) -> float | None:
    """The end of the task's time or of the wait's own, whichever comes first; who acts on it tells them apart."""
    return min((end for end in ends if end is not None), default=None)


def looking(launch: Launch) -> Callable[[Any], settle.Verdict]:
    """Whether a TaskRun still is this process's to report on, or shows that the report was stored."""

    def look(body: Any) -> settle.Verdict:
        found = taskrun.standing(body)
        ours = found.uid == launch.uid and found.claim == launch.nonce
        if ours and found.state == State.RUNNING:
            return settle.Verdict.OPEN
        if ours and found.state != State.CANCELLED:
            return settle.Verdict.MINE
        followed = (found.attempt, found.segment) > (launch.attempt, launch.segment)
        return settle.Verdict.MINE if followed and found.uid == launch.uid else settle.Verdict.OTHERS

    return look
