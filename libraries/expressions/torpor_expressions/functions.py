"""Functions that this language adds to CEL: ranges, texts, hashes and dates. Pure.

Each is bounded: by its arguments, or by a limit here. A `ValueError` becomes the message of an ExpressionError. None
takes or gives a null, which the CEL library cannot pass safely.
"""

import calendar
import datetime as dt
import hashlib
import re
from zoneinfo import ZoneInfo

RANGE_MAX = 10_000
"""Items of a range, as many as a task can have instances."""
TEXT_MAX = 64 * 1024
"""Characters of a text that these functions create, as many as a result can have bytes."""
_PATTERN_MAX = 256
_MONTHS_MAX = 120_000
_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
_DIRECTIVES = frozenset("YmdHMSfjyBbAaGVuwpIzZ%")
"""Without a width or a locale of the machine: the C library would write a text of any length for `%9999Y`."""


def range_to(count: int) -> list[int]:
    """Return the integers from 0 below `count`."""
    return range_between(0, count)


def range_between(first: int, end: int) -> list[int]:
    """Return the integers from `first` below `end`; none if `end` is not larger."""
    if end - first > RANGE_MAX:
        raise ValueError(f"range has {end - first:,} items; {RANGE_MAX:,} are allowed")
    return list(range(first, end))


def upper(text: str) -> str:
    """Return the text in upper case."""
    return text.upper()


def lower(text: str) -> str:
    """Return the text in lower case."""
    return text.lower()


def padded(text: str, width: int, fill: str) -> str:
    """Return the text with `fill` before it, so that it has `width` characters."""
    if len(fill) != 1 or width > TEXT_MAX:
        raise ValueError(f"padStart takes a width of at most {TEXT_MAX:,} and one character that fills")
    return text.rjust(width, fill)


def sha256(content: bytes) -> str:
    """Return the SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_text(text: str) -> str:
    """Return the SHA-256 of the text in UTF-8."""
    return sha256(text.encode())


def date(text: str) -> dt.datetime:
    """Return the beginning of a day in UTC, such as `2026-11-20`."""
    try:
        return dt.datetime.combine(dt.date.fromisoformat(text), dt.time(), tzinfo=dt.UTC)
    except ValueError:
        raise ValueError(f"date takes a day such as 2026-11-20, not {text[:40]!r}") from None


def add_months(moment: dt.datetime, months: int) -> dt.datetime:
    """Return the same day `months` later, or the last day of that month if it is shorter."""
    moment = _utc(moment)
    if abs(months) > _MONTHS_MAX:
        raise ValueError(f"addMonths takes up to {_MONTHS_MAX:,} months")
    years, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not dt.MINYEAR <= years <= dt.MAXYEAR:
        raise ValueError(f"addMonths gives the year {years}")
    day = min(moment.day, calendar.monthrange(years, month + 1)[1])
    return moment.replace(year=years, month=month + 1, day=day)


def format_time(moment: dt.datetime, pattern: str) -> str:
    """Return the time in UTC as `strftime` of Python writes it."""
    return format_time_in(moment, pattern, "UTC")


def format_time_in(moment: dt.datetime, pattern: str, zone: str) -> str:
    """Return the time in a time zone as `strftime` of Python writes it."""
    if len(pattern) > _PATTERN_MAX:
        raise ValueError(f"the pattern of strftime has {len(pattern):,} characters; {_PATTERN_MAX} are allowed")
    for match in _DIRECTIVE.finditer(pattern):
        if match[1] not in _DIRECTIVES or not match[1]:
            known = " ".join(f"%{each}" for each in sorted(_DIRECTIVES))
            raise ValueError(f"strftime does not know {match[0]!r}; it knows {known}")
    try:
        local = _utc(moment).astimezone(dt.UTC if zone == "UTC" else ZoneInfo(zone))
    except (KeyError, ValueError, OSError, OverflowError):  # ZoneInfoNotFoundError is a KeyError
        raise ValueError(f"{zone[:40]!r} is not a time zone such as Europe/Berlin") from None
    # Years of four digits: the C library writes 99 for the year 99.
    return local.strftime(re.sub(r"%(%|Y)", lambda match: f"{local.year:04}" if match[1] == "Y" else "%%", pattern))


def _utc(moment: dt.datetime) -> dt.datetime:
    """Return the time with its zone: the library gives times in UTC without one."""
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
