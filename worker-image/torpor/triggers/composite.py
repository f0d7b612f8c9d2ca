"""Waits for the first of several triggers, or for all of them.

Each runs as it would alone. What has fired is not stored: another triggerer that takes over runs all of them again. So
what `all_of` waits for must stay true.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from torpor_wire import canonical, constants, trigger, typed_json

from torpor.triggers import base
from torpor.triggers.base import BaseTrigger
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services

DEPTH_MAX = 2
COUNT_MAX = 16


class ChildTrigger(NamedTuple):
    """One of the triggers."""

    class_name: str
    kwargs: Mapping[str, Any]

    def on_status(self) -> dict[str, Any]:
        """Return it as JSON for the kwargs."""
        return {"class": self.class_name, "kwargs": self.kwargs}


def parse_triggers(triggers: object) -> list[ChildTrigger]:
    """Return the triggers, given as triggers or as `{class, kwargs}`.

    Raises TypeError or ValueError naming the wrong one.
    """
    parts = _parts(triggers)
    if (depth := _depth(parts)) > DEPTH_MAX:
        raise ValueError(f"triggers are nested {depth} levels deep; {DEPTH_MAX} are allowed")
    if (count := _count(parts)) > COUNT_MAX:
        raise ValueError(f"there are {count} triggers; {COUNT_MAX} are allowed")
    return parts


def _parts(triggers: object) -> list[ChildTrigger]:
    if not isinstance(triggers, list | tuple):
        raise TypeError(f"triggers must be a list, not {type(triggers).__name__}")
    if not triggers:
        raise ValueError("triggers is empty")
    return [_part(number, part) for number, part in enumerate(triggers)]


def _part(number: int, part: object) -> ChildTrigger:
    serialize = getattr(part, "serialize", None)
    if callable(serialize) and not isinstance(part, type):
        return ChildTrigger(*serialize())
    match part:
        case {"class": str() as class_name, **rest} if rest.keys() <= {"kwargs"}:
            kwargs = rest.get("kwargs", {})
        case _:
            raise ValueError(f"triggers[{number}] is neither a trigger nor {{class: ..., kwargs: ...}}")
    if not isinstance(kwargs, Mapping):
        raise TypeError(f"triggers[{number}]: kwargs must be a mapping, not {type(kwargs).__name__}")
    return ChildTrigger(class_name, kwargs)


def _inner(part: ChildTrigger) -> list[ChildTrigger]:
    return _parts(part.kwargs.get("triggers")) if part.class_name in trigger.SEVERAL else []


def _depth(parts: Sequence[ChildTrigger]) -> int:
    return 1 + max((_depth(_inner(part)) for part in parts if part.class_name in trigger.SEVERAL), default=0)


def _count(parts: Sequence[ChildTrigger]) -> int:
    return sum(_count(_inner(part)) if part.class_name in trigger.SEVERAL else 1 for part in parts)


class PartFailedError(Exception):
    """One of the triggers failed; the message says which and why."""


class _Several(BaseTrigger):
    """A trigger that runs several triggers."""

    registered: str

    def __init__(self, triggers: Sequence[Any]) -> None:
        self.parts = parse_triggers(triggers)
        self._children: list[Any] = []
        self._ended: set[int] = set()

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the class and the kwargs of each trigger."""
        return self.registered, {"triggers": [part.on_status() for part in self.parts]}

    def bind(self, services: Services) -> None:
        """Create the triggers. Raises ValueError naming the one that cannot be created."""
        super().bind(services)
        self._children = [self._make(number, part) for number, part in enumerate(self.parts)]

    @property
    def shareable(self) -> bool:  # type: ignore[override]
        """Whether each trigger is shareable."""
        return all(base.is_shareable(child) for child in self._children)

    @property
    def last_look(self) -> str:  # type: ignore[override]
        """What the triggers that have not fired found last."""
        return self._joined("last_look")

    @property
    def asks(self) -> str:  # type: ignore[override]
        """What people can do about the triggers that have not fired."""
        return self._joined("asks")

    async def cleanup(self) -> None:
        """Clean up each trigger."""
        await self._tell("cleanup", self._children)

    async def on_kill(self) -> None:
        """Kill the triggers that have not fired."""
        await self._tell("on_kill", self._waiting())

    def _joined(self, name: str) -> str:
        return "; ".join(words for words in (str(getattr(child, name, "")) for child in self._waiting()) if words)

    def _waiting(self) -> list[Any]:
        return [child for number, child in enumerate(self._children) if number not in self._ended]

    async def _tell(self, method: str, children: Sequence[Any]) -> None:
        from torpor.triggers.support import concurrent  # noqa: PLC0415 - not needed in a task pod

        failures = await concurrent.call_each(children, method)
        if failures:
            raise PartFailedError(f"{method}() of {len(failures)} of the triggers failed") from failures[0]

    def _make(self, number: int, part: ChildTrigger) -> Any:
        try:
            return self.services.make(part.class_name, part.kwargs)
        except Exception as error:
            raise ValueError(f"{self._named(number)}: {error}") from error

    def _failed(self, number: int, error: BaseException) -> PartFailedError:
        failed = PartFailedError(f"{self._named(number)}: {type(error).__name__}: {error}")
        failed.__cause__ = error
        return failed

    def _named(self, number: int) -> str:
        return f"triggers[{number}] ({self.parts[number].class_name})"


class AnyOf(_Several):
    """Fires with the first of several triggers; fails when the last of them has failed.

    The event is `{index, class, event}`.

        AnyOf([Http(url), Duration("2h")])

    Args:
        triggers: Triggers, or `{"class": ..., "kwargs": ...}`; up to 16 in all, nested up to two levels.
    """

    registered = "any_of"

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Run them concurrently until one fires. Raises PartFailedError when all have failed."""
        from torpor.triggers.support.concurrent import ConcurrentTriggers  # noqa: PLC0415 - not needed in a task pod

        running = ConcurrentTriggers(self._children)
        failed: PartFailedError | None = None
        try:
            while (end := await running.next_end()) is not None:
                self._ended.add(end.number)
                if end.error is None:
                    yield TriggerEvent(self._event(end.number, end.payload))
                    return
                failed = self._failed(end.number, end.error)
                _warn(failed)
        finally:
            await running.stop()
        if failed is not None:
            raise failed

    def _event(self, number: int, payload: Any) -> dict[str, Any]:
        event = {"index": number, "class": self.parts[number].class_name, "event": payload}
        return event if _fits(event) else {**event, "event": None, "truncated": True}


class AllOf(_Several):
    """Fires when all of several triggers have fired; fails with the first that fails.

    The event is `{events}`, in order.

    If the events together are too large, the largest become null and `truncated` is true.

        AllOf([File("/data/a.csv"), WorkflowEnd("load")])

    Args:
        triggers: Triggers, or `{"class": ..., "kwargs": ...}`; up to 16 in all, nested up to two levels.
    """

    registered = "all_of"

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Run them concurrently until all have fired. Raises PartFailedError for the first that fails."""
        from torpor.triggers.support.concurrent import ConcurrentTriggers  # noqa: PLC0415 - not needed in a task pod

        events: list[Any] = [None] * len(self._children)
        running = ConcurrentTriggers(self._children)
        try:
            while (end := await running.next_end()) is not None:
                self._ended.add(end.number)
                if end.error is not None:
                    raise self._failed(end.number, end.error)
                events[end.number] = end.payload
        finally:
            await running.stop()
        yield TriggerEvent(_fitting(events))


def _warn(failed: PartFailedError) -> None:
    import logging  # noqa: PLC0415 - not needed in a task pod

    logging.getLogger(__name__).warning("%s; waiting for the others", failed)


def _fitting(events: list[Any]) -> dict[str, Any]:
    """Return the events that fit together; the largest become null first."""
    event: dict[str, Any] = {"events": events}
    for number in sorted(range(len(events)), key=lambda number: -_size(events[number])):
        if _fits(event):
            break
        event = {
            "events": [None if at == number else inner for at, inner in enumerate(event["events"])],
            "truncated": True,
        }
    return event


def _fits(event: object) -> bool:
    return _size(event) <= constants.EVENT_MAX


def _size(event: object) -> int:
    """Return the bytes of JSON; 0 for an event that is not JSON, which its reader rejects."""
    try:
        return len(typed_json.text(event).encode())
    except canonical.NotJsonError:
        return 0
