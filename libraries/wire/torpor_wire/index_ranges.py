"""Sets of instances of a mapped task, as ranges: `0-3,7,9-12`. Pure.

A task that is not mapped has one instance, at position 0.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from torpor_wire import constants

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Indexes:
    """A set of numbers from 0; bit n of `bits` is number n."""

    bits: int = 0

    @classmethod
    def from_numbers(cls, numbers: Iterable[int]) -> Self:
        """Return the set of these numbers. Raises ValueError for a negative one."""
        bits = bytearray()
        for number in numbers:
            place, bit = divmod(number, 8)
            if place < 0:
                raise ValueError(f"there is no instance {number}")
            if place >= len(bits):
                bits.extend(bytes(place + 1 - len(bits)))
            bits[place] |= 1 << bit
        return cls(int.from_bytes(bits, "little"))

    @classmethod
    def below(cls, count: int) -> Self:
        """Return the first `count` numbers."""
        return cls((1 << count) - 1)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the set that `text()` wrote. Raises ValueError."""
        bits = 0
        for part in filter(None, text.split(",")):
            match = _RANGE.fullmatch(part)
            if match is None:
                raise ValueError(f"{part!r} is not a range of instances")
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first:
                raise ValueError(f"{part!r} ends before it begins")
            if last >= constants.MAP_MAX:
                raise ValueError(f"{part!r} exceeds the maximum number of instances")
            bits |= ((1 << (last - first + 1)) - 1) << first
        return cls(bits)

    def text(self) -> str:
        """Return the ranges in ascending order; empty for the empty set."""
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self._ranges())

    def missing(self, count: int) -> "Indexes":
        """Return which of the first `count` numbers are missing."""
        return Indexes.below(count) - self

    @property
    def end(self) -> int:
        """One more than the highest number, or 0."""
        return self.bits.bit_length()

    def _ranges(self) -> Iterator[tuple[int, int]]:
        digits = f"{self.bits:b}"[::-1]
        return ((match.start(), match.end() - 1) for match in re.finditer("1+", digits))

    def __contains__(self, number: int) -> bool:
        return number >= 0 and bool(self.bits >> number & 1)

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __iter__(self) -> Iterator[int]:
        for first, last in self._ranges():
            yield from range(first, last + 1)

    def __or__(self, other: "Indexes") -> "Indexes":
        return Indexes(self.bits | other.bits)

    def __and__(self, other: "Indexes") -> "Indexes":
        return Indexes(self.bits & other.bits)

    def __sub__(self, other: "Indexes") -> "Indexes":
        return Indexes(self.bits & ~other.bits)
