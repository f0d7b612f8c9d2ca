"""Triggers that others are made of, as they stand on a TaskRun. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torpor_wire import trigger

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
