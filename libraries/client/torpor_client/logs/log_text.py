"""Divides a stream of bytes into lines, in bounded memory, and reads their RFC 3339 times to the nanosecond. Pure."""

import re
from collections.abc import Generator, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache

from torpor_client.logs.source import LogLine, LogSource, Nanoseconds

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


_SECOND = 1_000_000_000
_DIGITS = 9
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)(?: |$)", re.ASCII)


def parse_line(line: str) -> tuple[Nanoseconds | None, str]:
    """Return the time and the text behind it; no time and the whole line if it has none."""
    match = _TIMESTAMP.match(line)
    if match is None:
        return None, line
    try:
        seconds = _seconds(match[1], match[3])
    except (ValueError, OverflowError):
        return None, line
    return seconds * _SECOND + int((match[2] or "0").ljust(_DIGITS, "0")), line[match.end() :]


def nanoseconds_of_text(moment: object) -> Nanoseconds | None:
    """Return the time of a field such as `startedAt`; None if it is none."""
    at, rest = parse_line(moment) if isinstance(moment, str) else (None, "")
    return at if not rest else None


def nanoseconds_of_epoch(seconds: float) -> Nanoseconds:
    """Return seconds since the epoch as nanoseconds."""
    return int(seconds * _SECOND)


def written(at: Nanoseconds) -> str:
    """Return the time in UTC with milliseconds, empty for 0."""
    if not at:
        return ""
    text = datetime.fromtimestamp(at // _SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{at % _SECOND // 1_000_000:03d}Z"


def lines_of(source: LogSource, raw: Iterable[str]) -> Generator[LogLine, None, None]:
    """Return the lines of a log. A line without a time has that of the line before it.

    Times of one log never decrease: a clock that was set back would reorder its lines.
    """
    last = source.start
    for line in raw:
        at, text = parse_line(line)
        last = max(last, at or 0)
        yield LogLine(last, source, text)


@lru_cache(maxsize=256)
def _seconds(text: str, offset: str) -> int:
    """Return the whole seconds since the epoch. Lines of one second are common, and parsing is the costly part."""
    return int(datetime.fromisoformat(text + offset.upper().replace("Z", "+00:00")).timestamp())
