"""Events that end the task instead of resuming it, recognized by class name.

They are those of Airflow: `TaskSuccessEvent`, `TaskFailedEvent`, `TaskSkippedEvent`. Airflow's own carry the result in
`xcoms`, those of `torpor.triggers` in `payload`. Airflow is never imported.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class EndKind(Enum):
    """How the task ends; the value is the class name of the event."""

    SUCCEEDED = "TaskSuccessEvent"
    FAILED = "TaskFailedEvent"
    SKIPPED = "TaskSkippedEvent"


class TaskEnd(NamedTuple):
    """How an event ends its task: `value` is the result or the message."""

    kind: EndKind
    value: Any


def task_end(event: object) -> TaskEnd | None:
    """Return how an event ends the task, None if the task resumes. Raises whatever the event's own code raises."""
    names = {parent.__name__ for parent in type(event).__mro__}
    kind = next((kind for kind in EndKind if kind.value in names), None)
    return None if kind is None else TaskEnd(kind, _value(event))


def payload_of(event: Any) -> Any:
    """Return the payload of a trigger within another one.

    Raises RuntimeError if the event would fail or skip the task.
    """
    end = task_end(event)
    if end is None:
        return event.payload
    if end.kind is EndKind.SUCCEEDED:
        return end.value
    raise RuntimeError(f"it yielded {end.kind.value}" + (f": {end.value}" if end.value else ""))


def _value(event: Any) -> Any:
    """Return the XCom `return_value`, else all XComs."""
    if not hasattr(event, "xcoms"):
        return event.payload
    xcoms = event.xcoms
    return xcoms.get("return_value", dict(xcoms)) if isinstance(xcoms, Mapping) and xcoms else None
