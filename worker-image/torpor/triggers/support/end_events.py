"""Events that end the task instead of resuming it, recognized by the names of their classes.

They are Airflow's: `TaskSuccessEvent`, `TaskFailedEvent`, `TaskSkippedEvent`. Airflow's own carry what the task is to
return in `xcoms`; those of `torpor.triggers` in `payload`. Airflow is never imported.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class How(Enum):
    """How the task ends; the value is the name of the event's class."""

    SUCCEEDED = "TaskSuccessEvent"
    FAILED = "TaskFailedEvent"
    SKIPPED = "TaskSkippedEvent"


class TaskEnd(NamedTuple):
    """How an event ends its task; `value` is the result of one that succeeds, else why, or None."""

    how: How
    value: Any


def of(event: object) -> TaskEnd | None:
    """How an event ends the task; None where it resumes it. Raises whatever the event's own code raises."""
    names = {parent.__name__ for parent in type(event).__mro__}
    how = next((how for how in How if how.value in names), None)
    return None if how is None else TaskEnd(how, _value(event))


def payload_of(event: Any) -> Any:
    """The payload of a trigger that is a part of another. Raises RuntimeError where it wants to end the task."""
    end = of(event)
    if end is None:
        return event.payload
    if end.how is How.SUCCEEDED:
        return end.value
    raise RuntimeError(f"it yielded {end.how.value}" + (f": {end.value}" if end.value else ""))


def _value(event: Any) -> Any:
    """Of several xcoms that which a task's `return` makes, else all of them."""
    if not hasattr(event, "xcoms"):
        return event.payload
    xcoms = event.xcoms
    return xcoms.get("return_value", dict(xcoms)) if isinstance(xcoms, Mapping) and xcoms else None
