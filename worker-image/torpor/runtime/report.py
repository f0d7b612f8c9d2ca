"""The report: one status patch that stores the outcome of a segment.

It is retried for minutes, because hours of work may depend on it. If another writer has moved the TaskRun on (cancelled
it, or failed it as lost), that state stays.
"""

from collections.abc import Callable
from typing import Any, assert_never

from torpor_wire import deadline, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor.runtime import status_patch, taskrun
from torpor.runtime.deferral import Suspension
from torpor.runtime.environment import Launch
from torpor.runtime.http import WorkerTransport
from torpor.runtime.outcome import Failure, Outcome, Skipped, Success
from torpor.runtime.taskrun import TaskRun

LIMIT_S = 300.0
REPEATS = frozenset({status_patch.UNAUTHORIZED, status_patch.CONFLICT, status_patch.TOO_MANY})


def report(
    transport: WorkerTransport,
    launch: Launch,
    patch: transitions.Patch,
    retry_policy: status_patch.RetryPolicy,
    *,
    now: float,
) -> status_patch.WriteResult:
    """Store the outcome. If the API server rejects its values, fail the TaskRun and return `Refused`."""
    state_of = write_state_of(launch)
    settled = status_patch.write(transport, launch.path(), patch, state_of, retry_policy)
    if isinstance(settled, status_patch.WriteRefused) and settled.invalid:
        message = f"the API server refused the report: {settled.message}"
        failed = transitions.fail(
            launch.pin(State.RUNNING), retry.Policy(), reason=Reason.REPORT_REFUSED, message=message, now=now
        )
        status_patch.write(transport, launch.path(), failed, state_of, retry_policy)
    return settled


def patch_of(outcome: Outcome, launch: Launch, run: TaskRun, *, now: float) -> transitions.Patch:
    """Return the transition from Running for an outcome."""
    pin = launch.pin(State.RUNNING)
    match outcome:
        case Success(result, stored):
            return transitions.succeed(pin, result, stored=stored, now=now)
        case Suspension():
            ends = deadline.deferral_deadline(timeout=outcome.timeout, attempt_deadline=run.deadline, now=now)
            return transitions.defer(pin, outcome.trigger, resume=outcome.on_status(), deadline=ends, now=now)
        case Skipped(message):
            return transitions.skip(pin, message=message, now=now)
        case Failure(reason, message, retryable):
            policy = run.policy if retryable else retry.Policy()
            return transitions.fail(pin, policy, reason=reason, message=message, now=now)
        case _:
            assert_never(outcome)


def write_state_of(launch: Launch) -> Callable[[Any], status_patch.WriteState]:
    """Return a function that tells from a TaskRun whether the report is open, stored or lost."""

    def state_of(body: Any) -> status_patch.WriteState:
        found = taskrun.parse_state(body)
        ours = found.uid == launch.uid and found.claim == launch.nonce
        if ours and found.state == State.RUNNING:
            return status_patch.WriteState.OPEN
        if ours and found.state != State.CANCELLED:
            return status_patch.WriteState.MINE
        followed = (found.attempt, found.segment) > (launch.attempt, launch.segment)
        return status_patch.WriteState.MINE if followed and found.uid == launch.uid else status_patch.WriteState.OTHERS

    return state_of
