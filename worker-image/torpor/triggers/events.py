"""Events that a trigger yields, what they do to their task, and how they fit into their size limit.

Events that end the task instead of resuming it are recognized by class name, as those of Airflow: `TaskSuccessEvent`,
`TaskFailedEvent`, `TaskSkippedEvent`. Airflow's own carry the result in `xcoms`, those of Torpor in `payload`. Airflow
is never imported.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from torpor_wire import canonical, constants


class TriggerEvent:
    """The event that a trigger yields when it fires.

    Args:
        payload: A JSON value or None, up to 1 MiB with an archive and 4 kB without one. It may also contain datetimes,
            dates, timedeltas, tuples, sets, Decimals, UUIDs and bytes; the task gets them with their types.
    """

    __slots__ = ("payload",)

    def __init__(self, payload: Any = None) -> None:
        self.payload = payload

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.payload!r})"


class TaskSuccessEvent(TriggerEvent):
    """Ends the task Succeeded without another pod, as in Airflow. The payload is the result."""

    __slots__ = ()


class TaskFailedEvent(TriggerEvent):
    """Ends the task Failed without a retry, as in Airflow. The payload is the message."""

    __slots__ = ()


class TaskSkippedEvent(TriggerEvent):
    """Ends the task Skipped. The payload is the message."""

    __slots__ = ()


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
    """Return how an event ends the task, None if the task resumes. Raises the exceptions of the event's own code."""
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


def fit_items(event: Mapping[str, Any], name: str, items: Sequence[Any]) -> dict[str, Any]:
    """Return the event with the first items that fit, and `truncated` if some are missing.

    Raises NotJsonError for items that are not JSON.
    """
    room = constants.EVENT_MAX - _size({**event, name: [], "truncated": True})
    shown: list[Any] = []
    for item in items:
        room -= _size(item) + len(",")
        if room < 0:
            return {**event, name: shown, "truncated": True}
        shown.append(item)
    return {**event, name: shown}


def fit_text(event: Mapping[str, Any], name: str, value: str) -> dict[str, Any]:
    """Return the event with as much of a text as fits, and `truncated` if some is missing."""
    whole = {**event, name: value}
    if _size(whole) <= constants.EVENT_MAX:
        return whole
    shown = value[: constants.EVENT_MAX]
    while _size({**event, name: shown, "truncated": True}) > constants.EVENT_MAX and shown:
        shown = shown[: len(shown) * 7 // 8]
    return {**event, name: shown, "truncated": True}


def fit_fields(event: Mapping[str, Any], name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event with the first fields that fit, and `truncated` if some are missing."""
    fitted = fit_items(event, name, [[key, value] for key, value in fields.items()])
    return {**fitted, name: dict(fitted[name])}


def _size(value: object) -> int:
    return len(canonical.plain(value).encode())
