"""Cuts a streaming body into chunks, and computes its digest, size and line offsets.

It buffers one chunk at most, and does not know where chunks are stored.
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
"""Bytes per chunk. Each chunk is a database row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """The maximum size of a body, in bytes and lines."""

    size: int
    lines: int


RESULT = BodyLimits(size=100_000_000, lines=1_000_000)
EVENT = BodyLimits(size=constants.EVENT_STORED_MAX, lines=1_000_000)
FILE = BodyLimits(size=5 * 1024**3, lines=0)
"""A file or folder of a task."""
RUN = BodyLimits(size=1_000_000_000, lines=1_000_000)
"""Enough for 100,000 TaskRuns of the maximum size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a body from byte `at`. `starts` are the offsets of its lines; `first` numbers the first of them."""

    seq: int
    at: int
    first: int
    starts: tuple[int, ...]
    data: bytes


class Chunker:
    """Cuts one body into chunks. `has_lines` says whether to index its lines."""

    def __init__(self, limits: BodyLimits, *, has_lines: bool) -> None:
        self._limits = limits
        self.has_lines = has_lines
        self._digest = hashlib.sha256()
        self._buffer = bytearray()
        self._starts = [0] if has_lines else []
        self._cut = 0
        self._seq = 0
        self.size = 0
        self.lines = 0

    @property
    def digest(self) -> str:
        """SHA-256 of the data so far, in hexadecimal."""
        return self._digest.hexdigest()

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Add data and yield the complete chunks. Raises RefusedError (413) if the body exceeds a limit."""
        self._digest.update(data)
        if self.has_lines:
            self._add_starts(data)
        self.size += len(data)
        self._buffer += data
        if self.size > self._limits.size:
            raise RefusedError(body_too_large(self._limits))
        if self.lines + len(self._starts) > self._limits.lines + 1:
            raise RefusedError(errors.too_large(f"the body has more than {self._limits.lines} items, the limit"))
        while len(self._buffer) > CHUNK:
            yield self._chunk(CHUNK)

    def end(self) -> Chunk:
        """Return the last chunk, which may be empty. Raises RefusedError (413) if there are too many lines."""
        if self._starts and self._starts[-1] == self.size:
            self._starts.pop()
        chunk = self._chunk(len(self._buffer))
        if self.lines > self._limits.lines:
            raise RefusedError(errors.too_large(f"the body has {self.lines} items; the limit is {self._limits.lines}"))
        return chunk

    def _add_starts(self, data: bytes) -> None:
        newline = data.find(b"\n")
        while newline >= 0:
            self._starts.append(self.size + newline + 1)
            newline = data.find(b"\n", newline + 1)

    def _chunk(self, size: int) -> Chunk:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        count = bisect_left(self._starts, self._cut + size)
        starts = tuple(start - self._cut for start in self._starts[:count])
        del self._starts[:count]
        chunk = Chunk(seq=self._seq, at=self._cut, first=self.lines, starts=starts, data=data)
        self._seq += 1
        self._cut += size
        self.lines += count
        return chunk


def body_too_large(limits: BodyLimits, size: int | None = None) -> errors.ErrorResponse:
    """Build the refusal of a body whose size is known (`size`) or not."""
    excess = "more than the limit of" if size is None else f"{size} bytes; the limit is"
    return errors.too_large(f"the body has {excess} {limits.size} bytes; store it elsewhere and return its path")


def pack_offsets(starts: tuple[int, ...]) -> bytes:
    """Pack line offsets for storage: four bytes each, little-endian."""
    return struct.pack(f"<{len(starts)}I", *starts)


def unpack_offset(packed: bytes, line: int) -> int:
    """Return the offset of a line, counted from the first of its chunk."""
    return int(struct.unpack_from("<I", packed, 4 * line)[0])
