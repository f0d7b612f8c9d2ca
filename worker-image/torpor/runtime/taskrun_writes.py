"""The two writes of a task pod: the claim before any user code, and the report of the outcome.

By the claim exactly one process runs the segment. It needs no read before it, and its response is the TaskRun: what to
run, the event, and where to resume. A process that loses the claim exits silently, because another one has it.

The report is retried for minutes, because hours of work may depend on it. If another writer has moved the TaskRun on
(cancelled it, or failed it as lost), that state stays.
"""

from collections.abc import Callable
from typing import Any, assert_never

from torpor_wire import deadline, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor.runtime import status_patch, taskrun
from torpor.runtime.environment import Launch
from torpor.runtime.http import WorkerTransport
from torpor.runtime.outcome import Outcome, Success, TaskFailure, TaskSkip
from torpor.runtime.suspension import Suspension
from torpor.runtime.taskrun import WorkerTaskRun

CLAIM_LIMIT_S = 60.0
CLAIM_FORBIDDEN_S = 5.0
"""Seconds. A starting API server loads its roles within a second or two; a Forbidden after five is final."""
CLAIM_REPEATS = frozenset({status_patch.CONFLICT, status_patch.TOO_MANY})
REPORT_LIMIT_S = 300.0
REPORT_REPEATS = frozenset({status_patch.UNAUTHORIZED, status_patch.CONFLICT, status_patch.TOO_MANY})


def claim(
    transport: WorkerTransport, launch: Launch, retry_policy: status_patch.RetryPolicy, *, now: float
) -> status_patch.WriteResult:
    """Claim the segment for this process."""
    who = transitions.Claim(launch.pod, launch.pod_uid, launch.nonce, launch.source)
    patch = transitions.claim(launch.pin(State.SCHEDULED), who, started=launch.started, now=now)
    retry_policy, state_of = retry_policy._replace(forbidden=CLAIM_FORBIDDEN_S), claim_state_of(launch)
    settled = status_patch.write(transport, launch.path(), patch, state_of, retry_policy)
    if not isinstance(settled, status_patch.WriteLost):
        return settled
    # A proxy may have sent the patch twice. The second response then says that our own claim was first.
    observed = status_patch.read(transport, launch.path(), retry_policy)
    is_ours = isinstance(observed, status_patch.WriteStored) and state_of(observed.body) is status_patch.WriteState.MINE
    return observed if is_ours else settled


def claim_state_of(launch: Launch) -> Callable[[Any], status_patch.WriteState]:
    """Return a function that tells from a TaskRun whether the claim is open, ours or lost."""

    def state_of(body: Any) -> status_patch.WriteState:
        observed = taskrun.parse_state(body)
        if observed.claim == launch.nonce:
            return status_patch.WriteState.MINE
        pinned = (launch.uid, State.SCHEDULED, launch.attempt, launch.segment, launch.launch)
        still = (observed.uid, observed.state, observed.attempt, observed.segment, observed.launch) == pinned
        return status_patch.WriteState.OPEN if still else status_patch.WriteState.OTHERS

    return state_of


def report(
    transport: WorkerTransport,
    launch: Launch,
    patch: transitions.Patch,
    retry_policy: status_patch.RetryPolicy,
    *,
    now: float,
) -> status_patch.WriteResult:
    """Store the outcome. If the API server rejects its values, fail the TaskRun and return `WriteRefused`."""
    state_of = report_state_of(launch)
    settled = status_patch.write(transport, launch.path(), patch, state_of, retry_policy)
    if isinstance(settled, status_patch.WriteRefused) and settled.invalid:
        message = f"the API server refused the report: {settled.message}"
        failed = transitions.fail(
            launch.pin(State.RUNNING), retry.Policy(), reason=Reason.REPORT_REFUSED, message=message, now=now
        )
        status_patch.write(transport, launch.path(), failed, state_of, retry_policy)
    return settled


def patch_of(outcome: Outcome, launch: Launch, run: WorkerTaskRun, *, now: float) -> transitions.Patch:
    """Return the transition from Running for an outcome."""
    pin = launch.pin(State.RUNNING)
    match outcome:
        case Success(result, stored, files):
            return transitions.succeed(pin, result, stored=stored, files=files, now=now)
        case Suspension():
            ends = deadline.deferral_deadline(timeout=outcome.timeout, attempt_deadline=run.deadline, now=now)
            return transitions.defer(pin, outcome.trigger, resume=outcome.on_status(), deadline=ends, now=now)
        case TaskSkip(message):
            return transitions.skip(pin, message=message, now=now)
        case TaskFailure(reason, message, retryable, exception):
            policy, details = run.policy if retryable else retry.Policy(), retry.FailureDetails(exception)
            return transitions.fail(pin, policy, reason=reason, message=message, now=now, details=details)
        case _:
            assert_never(outcome)


def report_state_of(launch: Launch) -> Callable[[Any], status_patch.WriteState]:
    """Return a function that tells from a TaskRun whether the report is open, stored or lost."""

    def state_of(body: Any) -> status_patch.WriteState:
        observed = taskrun.parse_state(body)
        ours = observed.uid == launch.uid and observed.claim == launch.nonce
        if ours and observed.state == State.RUNNING:
            return status_patch.WriteState.OPEN
        if ours and observed.state != State.CANCELLED:
            return status_patch.WriteState.MINE
        followed = (observed.attempt, observed.segment) > (launch.attempt, launch.segment)
        return (
            status_patch.WriteState.MINE if followed and observed.uid == launch.uid else status_patch.WriteState.OTHERS
        )

    return state_of
