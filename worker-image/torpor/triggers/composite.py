"""Waiting for the first of several triggers, or for all of them.

Each runs as it would alone, made of what the triggerer lends. Nothing is kept of what has fired already: where another
triggerer takes the wait over, all are looked at anew, so what `all_of` waits for has to last.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from torpor_wire import canonical, constants, trigger, typed_json

from torpor.triggers.base import BaseTrigger, TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import sharing

DEPTH_MAX = 2
COUNT_MAX = 16


class Part(NamedTuple):
    """One of the triggers."""

    class_name: str
    kwargs: Mapping[str, Any]

    def on_status(self) -> dict[str, Any]:
        """As it stands among the kwargs of the whole."""
        return {"class": self.class_name, "kwargs": self.kwargs}


def parse(triggers: object) -> list[Part]:
    """Triggers, or `{class, kwargs}` of them. Raises TypeError or ValueError naming the one that is wrong."""
    found = _parts(triggers)
    if (depth := _depth(found)) > DEPTH_MAX:
        raise ValueError(f"triggers are {depth} deep; any_of and all_of hold each other {DEPTH_MAX} deep at most")
    if (count := _count(found)) > COUNT_MAX:
        raise ValueError(f"triggers are {count} in all; {COUNT_MAX} fit")
    return found


def _parts(triggers: object) -> list[Part]:
    if not isinstance(triggers, list | tuple):
        raise TypeError(f"triggers takes a list, not {type(triggers).__name__}")
    if not triggers:
        raise ValueError("triggers is empty: there is nothing to wait for")
    return [_part(number, one) for number, one in enumerate(triggers)]


def _part(number: int, one: object) -> Part:
    serialize = getattr(one, "serialize", None)
    if callable(serialize) and not isinstance(one, type):
        return Part(*serialize())
    match one:
        case {"class": str() as class_name, **rest} if rest.keys() <= {"kwargs"}:
            kwargs = rest.get("kwargs", {})
        case _:
            raise ValueError(f"triggers[{number}] is neither a trigger nor {{class: ..., kwargs: ...}}")
    if not isinstance(kwargs, Mapping):
        raise TypeError(f"triggers[{number}]: kwargs takes names and values, not {type(kwargs).__name__}")
    return Part(class_name, kwargs)


def _inner(part: Part) -> list[Part]:
    return _parts(part.kwargs.get("triggers")) if part.class_name in trigger.SEVERAL else []


def _depth(found: Sequence[Part]) -> int:
    return 1 + max((_depth(_inner(one)) for one in found if one.class_name in trigger.SEVERAL), default=0)


def _count(found: Sequence[Part]) -> int:
    return sum(_count(_inner(one)) if one.class_name in trigger.SEVERAL else 1 for one in found)


class PartFailedError(Exception):
    """One of the triggers has failed; which, and why."""


class _Several(BaseTrigger):
    """Several triggers as one."""

    registered: str

    def __init__(self, triggers: Sequence[Any]) -> None:
        self.parts = parse(triggers)
        self._made: list[Any] = []
        self._ended: set[int] = set()

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """The triggers, each with its class and kwargs."""
        return self.registered, {"triggers": [one.on_status() for one in self.parts]}

    def bind(self, services: Services) -> None:
        """Also makes them. Raises ValueError naming the one that cannot be made."""
        super().bind(services)
        self._made = [self._make(number, part) for number, part in enumerate(self.parts)]

    @property
    def shareable(self) -> bool:  # type: ignore[override]
        """Whether each of them is."""
        return all(sharing.is_shareable(one) for one in self._made)

    @property
    def last_look(self) -> str:  # type: ignore[override]
        """What those have to say that still wait."""
        return self._said("last_look")

    @property
    def asks(self) -> str:  # type: ignore[override]
        """What a person does about those that still wait."""
        return self._said("asks")

    async def cleanup(self) -> None:
        """Clean up after each of them."""
        await self._tell("cleanup", self._made)

    async def on_kill(self) -> None:
        """Kill those that still wait."""
        await self._tell("on_kill", self._waiting())

    def _said(self, name: str) -> str:
        return "; ".join(words for words in (str(getattr(one, name, "")) for one in self._waiting()) if words)

    def _waiting(self) -> list[Any]:
        return [one for number, one in enumerate(self._made) if number not in self._ended]

    async def _tell(self, method: str, made: Sequence[Any]) -> None:
        from torpor.triggers.support import concurrent  # noqa: PLC0415 - a task pod has no use for it

        failures = await concurrent.tell(made, method)
        if failures:
            raise PartFailedError(f"{method}() of {len(failures)} of the triggers failed") from failures[0]

    def _make(self, number: int, part: Part) -> Any:
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
    """Fires when the first of several triggers does; fails when the last of them has.

    `triggers` are triggers, or `{class, kwargs}` of them, 16 in all and 2 deep. The event has `index` and `class` of
    the one that fired, and its `event`.
    """

    registered = "any_of"

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Run them beside each other until one fires. Raises PartFailedError where none is left that could."""
        from torpor.triggers.support.concurrent import Beside  # noqa: PLC0415 - a task pod has no use for it

        running = Beside(self._made)
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
    """Fires when all of several triggers have; fails when the first of them does.

    `triggers` are triggers, or `{class, kwargs}` of them, 16 in all and 2 deep. The event has `events`, theirs in
    order; where they do not fit together, the largest are left out (null) and `truncated` says so.
    """

    registered = "all_of"

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Run them beside each other until all have fired. Raises PartFailedError for the first that fails."""
        from torpor.triggers.support.concurrent import Beside  # noqa: PLC0415 - a task pod has no use for it

        events: list[Any] = [None] * len(self._made)
        running = Beside(self._made)
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
    import logging  # noqa: PLC0415 - a task pod has no use for it

    logging.getLogger(__name__).warning("%s; the others are still waited for", failed)


def _fitting(events: list[Any]) -> dict[str, Any]:
    """All events, or as many as fit: the largest are left out first."""
    found: dict[str, Any] = {"events": events}
    for number in sorted(range(len(events)), key=lambda number: -_size(events[number])):
        if _fits(found):
            break
        found = {"events": [None if at == number else one for at, one in enumerate(found["events"])], "truncated": True}
    return found


def _fits(event: object) -> bool:
    return _size(event) <= constants.EVENT_MAX


def _size(event: object) -> int:
    """In bytes of JSON; what is not JSON is for whoever takes the event to judge."""
    try:
        return len(typed_json.text(event).encode())
    except canonical.NotJsonError:
        return 0
