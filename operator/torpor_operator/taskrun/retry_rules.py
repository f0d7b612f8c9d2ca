"""Whether `retries.when` and `retries.for` allow another attempt after a failure. Pure.

Pods and triggerers decide by `retries.limit` alone. The rules here need an evaluation or the first start, so only the
operator decides them: before it writes a failure itself, else while the TaskRun is UpForRetry (ADR 0063).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torpor_crds.models.taskrun import TaskRun, TaskRunStatus
from torpor_expressions import references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import canonical, json_types, retry, times
from torpor_wire.state import State

from torpor_operator.expressions.resolve import RETRY_ROOTS, unwrap
from torpor_operator.model.actions import Evaluate, Need
from torpor_operator.model.snapshot import Answer

_NONE = -1
_WHEN = "retries.when"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailure:
    """What `retries.when` reads of a failed attempt."""

    attempt: int
    reason: str
    message: str
    exit_code: int | None = None
    http_status: int | None = None
    exception: str = ""

    def values(self) -> dict[str, JSON]:
        """The values by their names in the expression."""
        return {
            "attempt": self.attempt,
            "exitCode": _NONE if self.exit_code is None else self.exit_code,
            "httpStatus": _NONE if self.http_status is None else self.http_status,
            "reason": self.reason,
            "message": self.message,
            "exception": self.exception,
        }


def stored_failure(status: TaskRunStatus) -> AttemptFailure:
    """The failure of a TaskRun in UpForRetry."""
    return AttemptFailure(
        attempt=status.attempt,
        reason=status.reason or "",
        message=status.message or "",
        exit_code=status.exit_code,
        http_status=status.http_status,
        exception=status.exception or "",
    )


def refusal(taskrun: TaskRun, failure: AttemptFailure, due: float, known: Mapping[Need, Answer]) -> str | Evaluate:
    """Why no attempt follows at `due`, empty if one does; or what must be evaluated first."""
    when = taskrun.spec.retries.when
    return exceeded_total(taskrun, due) or ("" if when is None else unwanted(failure, when, known))


def refused_message(message: str, refused: str) -> str:
    """The message of a failure with the rule that allows no other attempt."""
    return f"{message}; not retried: {refused}"


def exceeded_total(taskrun: TaskRun, due: float) -> str:
    """Why an attempt that starts then starts too late for `retries.for`; empty if it does not."""
    status, total = taskrun.status, taskrun.spec.retries.for_
    first = status.first_started_at or status.started_at or taskrun.metadata.creation_timestamp
    if total is None or not first or retry.in_time(times.seconds(total), times.epoch(first), due):
        return ""
    return f"the next attempt would start more than {total} after the first (retries.for)"


def unwanted(failure: AttemptFailure, when: str, known: Mapping[Need, Answer]) -> str | Evaluate:
    """Why `when` does not want another attempt. An expression without a boolean wants none."""
    request = _request(failure, when)
    if isinstance(request, ExpressionError):
        return f"retries.when: {request.message}"
    match known.get(request):
        case Value(json=True):
            return ""
        case Value(json=False):
            return f"retries.when is false: {when}"
        case Value(json=other):
            return f"retries.when yields {json_types.described(other)}, and must yield true or false: {when}"
        case ExpressionError(message=message):
            return f"retries.when: {message}"
        case _:
            return request


def is_of_retries(need: Need) -> bool:
    """Whether it is an evaluation of `retries.when`."""
    return isinstance(need, Evaluate) and any(name == _WHEN for name, _ in need.sources)


def live_evaluations(taskruns: Iterable[TaskRun]) -> frozenset[Evaluate]:
    """The evaluations that decide the TaskRuns in UpForRetry."""
    waiting = (each for each in taskruns if each.status.state is State.UP_FOR_RETRY and each.spec.retries.when)
    requests = (_request(stored_failure(each.status), each.spec.retries.when or "") for each in waiting)
    return frozenset(request for request in requests if isinstance(request, Evaluate))


def _request(failure: AttemptFailure, when: str) -> Evaluate | ExpressionError:
    """The evaluation. Equal failures of all instances share one, since only the values that it reads identify it."""
    expression = unwrap(when)
    refs = references.find(expression, roots=RETRY_ROOTS)
    if isinstance(refs, ExpressionError):
        return refs
    values = {name: value for name, value in failure.values().items() if name in refs.roots}
    return Evaluate(expression, ((_WHEN, canonical.plain(values)),), values)
