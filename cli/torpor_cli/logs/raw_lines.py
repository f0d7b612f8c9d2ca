"""Divides a stream of bytes into lines of text, in bounded memory. Pure."""

from collections.abc import Iterable, Iterator

LINE_MAX = 256 * 1024
"""Bytes after which a line without an end is divided. A container may write 100 MB without a newline."""


def split(chunks: Iterable[bytes], limit: int = LINE_MAX) -> Iterator[str]:
    """Yield the lines, the last one also if it has no newline. Bytes that are not UTF-8 become U+FFFD."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        *whole, rest = held.split(b"\n")
        held = rest
        for line in whole:
            yield from _pieces(line, limit)
        while len(held) > limit:
            yield _text(held[:limit])
            del held[:limit]
    if held:
        yield from _pieces(held, limit)


def _pieces(line: bytearray, limit: int) -> Iterator[str]:
    for start in range(0, max(len(line), 1), limit):
        yield _text(line[start : start + limit])


def _text(line: bytearray) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")
