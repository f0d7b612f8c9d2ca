"""`Results`: the results of a mapped task, fetched one at a time.

A task that reduces a thousand results of one megabyte holds one of them in memory. The order is that of the instances.
Instances that were skipped, failed or returned None are left out (ADR 0025).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, overload

Load: TypeAlias = Callable[[], Any]
Position: TypeAlias = int | tuple[int, ...]
"""Index of an instance: a number, or a tuple with one number for each level of mapping."""
Find: TypeAlias = Callable[[Position], Load | None]
"""Looks up the result of an instance: a function that loads it, or None if the instance has no result."""


class Results(Sequence[Any]):
    """A lazy sequence of results. It reads a result when you access it and keeps only the last one.

        def total(sizes):  # arguments: {sizes: "${tasks.measure.results}"}
            return sum(sizes)

    `json.dumps` needs a list: `json.dumps(list(results))`. Each access to a large result may be a request, so iterate
    once.
    """

    def __init__(self, find: Find, positions: Sequence[Position], missing: Sequence[Position] | None = None) -> None:
        """Create the sequence. `missing` lists the positions without a result; None if that is not known yet."""
        self._find = find
        self._positions = positions
        self._there = [] if missing is None else _without(positions, missing)
        self._looked_at = 0 if missing is None else len(positions)
        self._last: tuple[Position, Load] | None = None
        self._kept: tuple[Position, Any] | None = None
        self._lock = threading.RLock()

    @property
    def missing(self) -> tuple[Any, ...]:
        """The positions without a result: skipped, failed, or returned None. They have the form of `positions`."""
        there = set(self.positions)
        return tuple(position for position in self._positions if position not in there)

    @property
    def positions(self) -> tuple[Any, ...]:
        """The index of each result in the mapping, from 0: use `zip(results.positions, results)`.

        With several levels of mapping, each position is a tuple of indexes, outermost first: `(2, 0)`. The levels that
        the reading task shares are left out.
        """
        len(self)
        return tuple(self._there)

    def __len__(self) -> int:
        """Return the number of results. If it is not known yet, this reads each TaskRun once."""
        with self._lock:
            while self._looked_at < len(self._positions):
                self._look()
            return len(self._there)

    @overload
    def __getitem__(self, place: int, /) -> Any: ...

    @overload
    def __getitem__(self, place: slice, /) -> "Part": ...

    def __getitem__(self, place: int | slice, /) -> Any:
        """Return one result, or a lazy slice. Raises IndexError."""
        if isinstance(place, slice):
            return Part(self, range(*place.indices(len(self))))
        with self._lock:
            at = place + len(self) if place < 0 else place
            while len(self._there) <= at and self._looked_at < len(self._positions):
                self._look()
            if not 0 <= at < len(self._there):
                raise IndexError(f"there is no result {place}: the task has {len(self._there)}")
            return self._value(self._there[at])

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the results in order."""
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

    __hash__ = None  # type: ignore[assignment]  # like a list, it is compared by value

    def __repr__(self) -> str:
        return f"<results of {len(self._positions)} instances, read one at a time; list(...) reads all>"

    def _look(self) -> None:
        position = self._positions[self._looked_at]
        load = self._find(position)
        self._looked_at += 1
        if load is not None:
            self._there.append(position)
            self._last = position, load

    def _value(self, position: Position) -> Any:
        if self._kept is None or self._kept[0] != position:
            self._kept = None  # release the former value before loading the next
            self._kept = position, self._load(position)()
        return self._kept[1]

    def _load(self, position: Position) -> Load:
        if self._last is not None and self._last[0] == position:
            return self._last[1]
        load = self._find(position)
        if load is None:
            raise LookupError(f"the result at position {position} was deleted while this task was running")
        return load


class Part(Sequence[Any]):
    """A lazy slice of results."""

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
        """Return one result, or a slice of this slice."""
        return Part(self._of, self._places[place]) if isinstance(place, slice) else self._of[self._places[place]]

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} results, read one at a time; list(...) reads all>"


def path(position: Position) -> tuple[int, ...]:
    """Return a position as a tuple."""
    return position if isinstance(position, tuple) else (position,)


def _without(positions: Sequence[Position], missing: Sequence[Position]) -> list[Position]:
    gone = set(missing)
    return [position for position in positions if position not in gone]


def _equal(values: Sequence[Any], other: object) -> bool:
    if not isinstance(other, Sequence) or isinstance(other, str | bytes):
        return False
    return len(values) == len(other) and all(mine == theirs for mine, theirs in zip(values, other, strict=True))
