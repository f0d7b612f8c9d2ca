"""`Results`: what the instances of a task returned, fetched one by one as it is asked for.

A task that reduces a thousand results of a megabyte holds one of them at a time. Where each stands, and how it is read,
is the runtime's; here it is a sequence: in the order of the instances, without those that were skipped, failed or
returned None (adr/0025).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, overload

Load: TypeAlias = Callable[[], Any]
Position: TypeAlias = int | tuple[int, ...]
"""Of an instance in the mapping: a number, or one for each mapped group and the task's own where there are several."""
Find: TypeAlias = Callable[[Position], Load | None]
"""Looks for the result at a position: how to load it, None where it was skipped or failed."""


class Results(Sequence[Any]):
    """A sequence that reads nothing before it is used, and keeps the last value alone.

    `json.dumps` takes lists: `json.dumps(list(results))`. A large result is a request each time: loop over them once.
    """

    def __init__(self, find: Find, positions: Sequence[Position], missing: Sequence[Position] | None = None) -> None:
        """Results at these positions, in their order; None of `missing` where it is not known which are there."""
        self._find = find
        self._positions = positions
        self._there = [] if missing is None else _without(positions, missing)
        self._looked_at = 0 if missing is None else len(positions)
        self._last: tuple[Position, Load] | None = None
        self._kept: tuple[Position, Any] | None = None
        self._lock = threading.RLock()

    @property
    def missing(self) -> tuple[Any, ...]:
        """The positions of those that are left out: skipped, failed, or returned None. Written as `positions` are."""
        there = set(self.positions)
        return tuple(position for position in self._positions if position not in there)

    @property
    def positions(self) -> tuple[Any, ...]:
        """The position in the mapping of each result, as in `zip(results.positions, results)`: from 0, a number each.

        Of several levels, those of mapped groups or of groups and the task's own, each is a tuple of numbers, outermost
        first: `(2, 0)`. The levels that the reader itself stands in are not among them.
        """
        len(self)
        return tuple(self._there)

    def __len__(self) -> int:
        """How many results there are; where it was not told, each of the TaskRuns is read for it once."""
        with self._lock:
            while self._looked_at < len(self._positions):
                self._look()
            return len(self._there)

    @overload
    def __getitem__(self, place: int, /) -> Any: ...

    @overload
    def __getitem__(self, place: slice, /) -> "Part": ...

    def __getitem__(self, place: int | slice, /) -> Any:
        """One result, or a slice that reads nothing yet."""
        if isinstance(place, slice):
            return Part(self, range(*place.indices(len(self))))
        with self._lock:
            at = place + len(self) if place < 0 else place
            while len(self._there) <= at and self._looked_at < len(self._positions):
                self._look()
            if not 0 <= at < len(self._there):
                raise IndexError(f"there are {len(self._there)} results, and none at {place}")
            return self._value(self._there[at])

    def __iter__(self) -> Iterator[Any]:
        """Each result in its turn."""
        place = 0
        while True:
            try:
                value = self[place]
            except IndexError:
                return
            yield value
            place += 1

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]  # as a list's: it is compared by its values

    def __repr__(self) -> str:
        return f"<results of {len(self._positions)} instances, read one by one; list(...) reads them all>"

    def _look(self) -> None:
        position = self._positions[self._looked_at]
        load = self._find(position)
        self._looked_at += 1
        if load is not None:
            self._there.append(position)
            self._last = position, load

    def _value(self, position: Position) -> Any:
        if self._kept is None or self._kept[0] != position:
            self._kept = None  # one is held at a time, this one or the next
            self._kept = position, self._load(position)()
        return self._kept[1]

    def _load(self, position: Position) -> Load:
        if self._last is not None and self._last[0] == position:
            return self._last[1]
        load = self._find(position)
        if load is None:
            raise LookupError(f"the result at position {position} was there when this task began, and is gone")
        return load


class Part(Sequence[Any]):
    """A slice of results, as lazy as they are."""

    def __init__(self, of: Results, places: range) -> None:
        self._of = of
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int, /) -> Any: ...

    @overload
    def __getitem__(self, place: slice, /) -> "Part": ...

    def __getitem__(self, place: int | slice, /) -> Any:
        """One result, or a slice of the slice."""
        return Part(self._of, self._places[place]) if isinstance(place, slice) else self._of[self._places[place]]

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} results, read one by one; list(...) reads them all>"


def path(position: Position) -> tuple[int, ...]:
    """The numbers of a position."""
    return position if isinstance(position, tuple) else (position,)


def _without(positions: Sequence[Position], missing: Sequence[Position]) -> list[Position]:
    gone = set(missing)
    return [position for position in positions if position not in gone]


def _equal(one: Sequence[Any], other: object) -> bool:
    if not isinstance(other, Sequence) or isinstance(other, str | bytes):
        return False
    return len(one) == len(other) and all(mine == theirs for mine, theirs in zip(one, other, strict=True))
