"""The limits of a task: retries, their pauses, active instances; with a note for each that Torpor rounds or cuts."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from torpor_airflow.conversion import operator_kind

RETRIES_MAX = 100
_BACKOFF_MAX = 10
_ACTIVE_MAX = 10_000
_LONGEST = timedelta(days=1)
"""No pause of Airflow is longer, if pauses grow."""


def retries(operator: Any) -> dict[str, Any]:
    """Return the field `retries`."""
    backoff = _backoff(operator)
    fields: dict[str, Any] = {
        "limit": min(int(operator.retries), RETRIES_MAX),
        "delay": duration(operator.retry_delay),
        "backoff": backoff,
    }
    longest = operator_kind.field(operator, "max_retry_delay")
    if longest is not None:
        fields["maxDelay"] = duration(longest)
    elif backoff > 1:
        fields["maxDelay"] = duration(_LONGEST)
    return fields


def max_active(operator: Any) -> int | None:
    """Return the field `maxActive`."""
    wanted = operator_kind.field(operator, "max_active_tis_per_dagrun")
    return min(int(wanted), _ACTIVE_MAX) if wanted else None


def findings(operator: Any) -> Iterator[tuple[str, bool]]:
    """Yield what the limits of an operator lose, and whether that is a loss."""
    wanted = operator_kind.field(operator, "max_active_tis_per_dagrun")
    if wanted and int(wanted) > _ACTIVE_MAX:
        yield f"max_active_tis_per_dagrun {wanted}: at most {_ACTIVE_MAX}", False
    if not operator.retries:
        return
    if int(operator.retries) > RETRIES_MAX:
        yield f"retries {operator.retries}: at most {RETRIES_MAX}", True
    factor, backoff = _factor(operator), _backoff(operator)
    if factor != backoff:
        yield f"retry_exponential_backoff {factor:g}: {backoff}, an integer from 1 to {_BACKOFF_MAX}", False
    for name in ("retry_delay", "max_retry_delay"):
        value = operator_kind.field(operator, name)
        if value is not None and _seconds(value) != (rounded := _rounded(value)):
            yield f"{name} {_seconds(value):g}s: {rounded}s, whole seconds from 1", False


def duration(value: timedelta | float) -> str:
    """Return a duration as text."""
    return f"{_rounded(value)}s"


def _rounded(value: timedelta | float) -> int:
    return max(1, round(_seconds(value)))


def _seconds(value: timedelta | float) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


def _factor(operator: Any) -> float:
    factor = operator_kind.field(operator, "retry_exponential_backoff")
    return 2.0 if factor is True else float(factor or 1)


def _backoff(operator: Any) -> int:
    return max(1, min(_BACKOFF_MAX, round(_factor(operator))))
