"""Reads the RFC 3339 timestamps at the beginning of log lines, to the nanosecond. Pure."""

import re
from collections.abc import Generator, Iterable
from datetime import UTC, datetime
from functools import lru_cache

from torpor_cli.logs.source import LogLine, LogSource, Nanoseconds

_SECOND = 1_000_000_000
_DIGITS = 9
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)(?: |$)", re.ASCII)


def parse(line: str) -> tuple[Nanoseconds | None, str]:
    """Return the time and the text behind it; no time and the whole line if it has none."""
    found = _TIMESTAMP.match(line)
    if found is None:
        return None, line
    try:
        seconds = _seconds(found[1], found[3])
    except (ValueError, OverflowError):
        return None, line
    return seconds * _SECOND + int((found[2] or "0").ljust(_DIGITS, "0")), line[found.end() :]


def of_text(moment: object) -> Nanoseconds | None:
    """Return the time of a field such as `startedAt`; None if it is none."""
    found, rest = parse(moment) if isinstance(moment, str) else (None, "")
    return found if not rest else None


def of_epoch(seconds: float) -> Nanoseconds:
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
        at, text = parse(line)
        last = max(last, at or 0)
        yield LogLine(last, source, text)


@lru_cache(maxsize=256)
def _seconds(text: str, offset: str) -> int:
    """Return the whole seconds since the epoch. Lines of one second are common, and parsing is the costly part."""
    return int(datetime.fromisoformat(text + offset.upper().replace("Z", "+00:00")).timestamp())
