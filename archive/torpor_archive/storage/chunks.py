"""A body cut into chunks while it streams through: its digest, its size, and where each of its lines begins.

Of a body no more is held than one chunk. Nothing here knows where chunks are kept.
"""

import hashlib
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from torpor_wire import constants

from torpor_archive import errors
from torpor_archive.errors import RefusedError

CHUNK = 512 * 1024
"""Bytes of a chunk; a row of the database each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a body may be: bytes and lines."""

    size: int
    lines: int


RESULT = Limits(size=100_000_000, lines=1_000_000)
EVENT = Limits(size=constants.EVENT_STORED_MAX, lines=1_000_000)
RUN = Limits(size=1_000_000_000, lines=1_000_000)
"""Of a run of 100,000 TaskRuns at the size that they may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a body from byte `at` on; `starts` are where lines begin in it, `first` is the number of the first."""

    seq: int
    at: int
    first: int
    starts: tuple[int, ...]
    data: bytes


class Cutter:
    """One body. `lined` says whether it has lines."""

    def __init__(self, limits: Limits, *, lined: bool) -> None:
        self._limits = limits
        self.lined = lined
        self._digest = hashlib.sha256()
        self._buffer = bytearray()
        self._starts = [0] if lined else []
        self._cut = 0
        self._seq = 0
        self.size = 0
        self.lines = 0

    @property
    def digest(self) -> str:
        """SHA-256 of what has come so far, in hexadecimal."""
        return self._digest.hexdigest()

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Take in what has come; yields the chunks that are full. Raises RefusedError (413) where it is too much."""
        self._digest.update(data)
        if self.lined:
            self._note_starts(data)
        self.size += len(data)
        self._buffer += data
        if self.size > self._limits.size:
            raise RefusedError(too_long(self._limits))
        if self.lines + len(self._starts) > self._limits.lines + 1:
            raise RefusedError(errors.too_large(f"the body has more than {self._limits.lines} items, the limit"))
        while len(self._buffer) > CHUNK:
            yield self._chunk(CHUNK)

    def end(self) -> Chunk:
        """The last chunk, which may be empty. Raises RefusedError where there were too many lines."""
        if self._starts and self._starts[-1] == self.size:
            self._starts.pop()
        chunk = self._chunk(len(self._buffer))
        if self.lines > self._limits.lines:
            raise RefusedError(errors.too_large(f"the body has {self.lines} items; {self._limits.lines} is the limit"))
        return chunk

    def _note_starts(self, data: bytes) -> None:
        found = data.find(b"\n")
        while found >= 0:
            self._starts.append(self.size + found + 1)
            found = data.find(b"\n", found + 1)

    def _chunk(self, size: int) -> Chunk:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        count = bisect_left(self._starts, self._cut + size)
        starts = tuple(start - self._cut for start in self._starts[:count])
        del self._starts[:count]
        made = Chunk(seq=self._seq, at=self._cut, first=self.lines, starts=starts, data=data)
        self._seq += 1
        self._cut += size
        self.lines += count
        return made


def too_long(limits: Limits, size: int | None = None) -> errors.Refusal:
    """What to say of a body of so many bytes, where that is known."""
    said = "more than the limit of" if size is None else f"{size} bytes; the limit is"
    return errors.too_large(f"the body has {said} {limits.size} bytes: keep it elsewhere and return where it is")


def packed(starts: tuple[int, ...]) -> bytes:
    """Line starts as they are stored: four bytes each, the least first."""
    return struct.pack(f"<{len(starts)}I", *starts)


def start(stored: bytes, line: int) -> int:
    """Where the line of this number among those of one chunk begins."""
    return int(struct.unpack_from("<I", stored, 4 * line)[0])
