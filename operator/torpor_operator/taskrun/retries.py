"""The next attempt of a TaskRun in UpForRetry, or its end, if `retries.when` or `retries.for` allows no other attempt.

Whoever reports a failure decides by `retries.limit` alone. The rules here need an evaluation or the first start, so
only the operator decides them: a TaskRun without them costs no write more (ADR 0063).
"""

from torpor_expressions import references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import canonical, retry, times, transitions

from torpor_operator.expressions.resolve import RETRY_ROOTS, unwrap
from torpor_operator.model.actions import Evaluate, Need, PatchTaskRun
from torpor_operator.taskrun.step import Step, TaskRunView

NO_EXIT_CODE = -1
_WHEN = "retries.when"


def next_attempt(view: TaskRunView) -> Step:
    """Begin the next attempt at `retryAt`, or fail at once if the policy allows none."""
    metadata, status = view.taskrun.metadata, view.taskrun.status
    due = times.epoch(status.retry_at) if status.retry_at else view.now
    if metadata.creation_timestamp:
        due = max(due, retry.earliest_start(status.attempt + 1, times.epoch(metadata.creation_timestamp)))
    refused = _refusal(view, due)
    if isinstance(refused, Evaluate):
        return Step(needs=(refused,))
    if refused:
        message = f"{status.message or status.reason or status.state}; not retried: {refused}"
        reason = status.reason or status.state
        patch = transitions.end_retries(view.taskrun.pin(), reason=reason, message=message, now=view.now)
        return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))
    if view.now < due:
        return Step(again_at=due)
    first_started = status.first_started_at or status.started_at
    patch = transitions.retry_now(view.taskrun.pin(), now=view.now, first_started=first_started)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def is_of_retries(need: Need) -> bool:
    """Whether it is an evaluation of `retries.when`."""
    return isinstance(need, Evaluate) and any(name == _WHEN for name, _ in need.sources)


def _refusal(view: TaskRunView, due: float) -> str | Evaluate:
    """Why no other attempt follows, empty if one does; or what must be evaluated first."""
    policy = view.taskrun.spec.retries
    return exceeded_total(view, due) or ("" if policy.when is None else unwanted(view, policy.when))


def exceeded_total(view: TaskRunView, due: float) -> str:
    """Why an attempt that starts then starts too late for `retries.for`; empty if it does not."""
    status, total = view.taskrun.status, view.taskrun.spec.retries.for_
    first = status.first_started_at or status.started_at or view.taskrun.metadata.creation_timestamp
    if total is None or not first or retry.in_time(times.seconds(total), times.epoch(first), due):
        return ""
    return f"the next attempt would start more than {total} after the first (retries.for)"


def unwanted(view: TaskRunView, when: str) -> str | Evaluate:
    """Why `when` does not want another attempt. An expression without a boolean wants none."""
    request = _request(view, unwrap(when))
    if isinstance(request, ExpressionError):
        return f"retries.when: {request.message}"
    match view.known.get(request):
        case Value(json=True):
            return ""
        case Value(json=False):
            return f"retries.when is false: {when}"
        case Value():
            return f"retries.when is neither true nor false: {when}"
        case ExpressionError(message=message):
            return f"retries.when: {message}"
        case _:
            return request


def _request(view: TaskRunView, expression: str) -> Evaluate | ExpressionError:
    """The evaluation. Equal failures of all instances share one, since only the values that it reads identify it."""
    refs = references.find(expression, roots=RETRY_ROOTS)
    if isinstance(refs, ExpressionError):
        return refs
    values = {name: value for name, value in _values(view).items() if name in refs.roots}
    return Evaluate(expression, ((_WHEN, canonical.plain(values)),), values)


def _values(view: TaskRunView) -> dict[str, JSON]:
    status = view.taskrun.status
    return {
        "attempt": status.attempt,
        "exitCode": NO_EXIT_CODE if status.exit_code is None else status.exit_code,
        "reason": status.reason or "",
        "message": status.message or "",
        "exception": status.exception or "",
    }
