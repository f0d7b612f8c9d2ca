"""Keeps the beginning and the end of a log, cut at line ends, in bounded memory, and compresses them. Pure."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import zstandard

HEAD = 256 * 1024
TAIL = 768 * 1024
CHUNK = 256 * 1024
"""Bytes of text in one compressed chunk, each of them a row."""
LINE = 64 * 1024
"""Bytes of a line; the rest of a longer one is omitted."""
_MARK = b"... %d bytes omitted ..."
_LEVEL = 3
"""Higher levels of zstd take several times the CPU for a few percent of the size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredText:
    """A log as it is stored: whole lines in compressed chunks. `size` and `omitted` are bytes of text."""

    chunks: tuple[bytes, ...] = ()
    size: int = 0
    omitted: int = 0

    @property
    def stored(self) -> int:
        """Compressed bytes."""
        return sum(map(len, self.chunks))


class HeadAndTail:
    """Takes a log piece by piece and keeps up to `head` bytes of the beginning and `tail` bytes of the end."""

    def __init__(self, head: int = HEAD, tail: int = TAIL, line: int = LINE) -> None:
        self._limits = head, tail, line
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._line = bytearray()
        self._cut = 0
        self._is_full = False
        self._dropped = 0
        self.size = 0
        self.omitted = 0

    def would_omit(self, more: int) -> bool:
        """Whether `more` bytes could make it drop lines."""
        return self.size + more > sum(self._limits[:2]) - self._limits[2]

    def feed(self, data: bytes) -> None:
        """Add a piece, which may end within a line."""
        self.size += len(data)
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._extend(data[start:end])
            self._end_line()
            start = end + 1
        self._extend(data[start:])

    def held(self) -> Iterator[bytes]:
        """What it holds, in order. It is all of the log while nothing is omitted."""
        yield bytes(self._head)
        yield from self._tail
        yield bytes(self._line)

    def finish(self) -> StoredText:
        """End the last line, and return what is kept, with a line that marks the gap."""
        if self._line or self._cut:
            self._end_line()
        mark = [_MARK % self._dropped + b"\n"] if self._dropped else []
        blocks = [bytes(self._head), *_joined([*mark, *self._tail])]
        return StoredText(
            chunks=tuple(compress(block) for block in blocks if block), size=self.size, omitted=self.omitted
        )

    def _extend(self, part: bytes) -> None:
        room = self._limits[2] - len(self._line)
        self._line += part[:room]
        self._cut += max(len(part) - room, 0)

    def _end_line(self) -> None:
        line = bytes(self._line) + (_MARK % self._cut if self._cut else b"") + b"\n"
        self.omitted += self._cut
        self._line.clear()
        self._cut = 0
        head, tail, _ = self._limits
        if not self._is_full and len(self._head) + len(line) <= head:
            self._head += line
            return
        self._is_full = True
        self._tail.append(line)
        self._tail_size += len(line)
        while self._tail_size > tail and len(self._tail) > 1:
            size = len(self._tail.popleft())
            self._tail_size -= size
            self._dropped += size
            self.omitted += size


def compress(text: bytes) -> bytes:
    """Compress to one zstd frame."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(text)


def decompress(frame: bytes) -> bytes:
    """Return the text of a frame that `compress` made."""
    return zstandard.ZstdDecompressor().decompress(frame)


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to blocks of at most CHUNK bytes."""
    block = bytearray()
    for line in lines:
        if block and len(block) + len(line) > CHUNK:
            yield bytes(block)
            block.clear()
        block += line
    if block:
        yield bytes(block)
