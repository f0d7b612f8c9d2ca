"""The periods in which the offset of a time zone is constant. Pure, except that zoneinfo reads the file of a zone.

zoneinfo tells the offset at a time, not when it changes. A year is therefore sampled, and a change between two samples
is searched by bisection. No two changes of a zone are as close as two samples (the least distance in tzdata is seven
days: Recife in October 2000).
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple

_SAMPLES = 5 * 86_400
FIRST = int(datetime(2, 1, 1, tzinfo=UTC).timestamp())
LAST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())
"""Searches read times from `FIRST` up to and without `LAST`: the local time must be one of a calendar, too."""


class Period(NamedTuple):
    """A period (`start <= time < end`), the offset of the zone in it, and the offset just before it, in seconds."""

    start: int
    end: int
    offset: int
    before: int


def zone_named(name: str | None) -> tzinfo:
    """Return a time zone; UTC without a name. Raises ValueError for an unknown name."""
    if name is None or name == "UTC":
        return UTC
    import zoneinfo  # noqa: PLC0415 - costs a task pod milliseconds

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'timezone "{name}" is unknown; use an IANA name such as Europe/Berlin') from error


def periods(zone: tzinfo, start: int, end: int) -> Iterator[Period]:
    """Yield the periods with a time in `start <= time < end`, in order. They may begin before, and end after."""
    if isinstance(zone, timezone):
        yield _fixed(zone)
        return
    for year in range(_year(start), _year(end - 1) + 1):
        yield from (each for each in _of_year(zone, year) if each.end > start and each.start < end)


def periods_back(zone: tzinfo, start: int, end: int) -> Iterator[Period]:
    """Yield the periods with a time in `start <= time < end`, the last one first."""
    if isinstance(zone, timezone):
        yield _fixed(zone)
        return
    for year in range(_year(end - 1), _year(start) - 1, -1):
        yield from (each for each in reversed(_of_year(zone, year)) if each.end > start and each.start < end)


def _fixed(zone: timezone) -> Period:
    offset = int(zone.utcoffset(None).total_seconds())
    return Period(FIRST, LAST, offset, offset)


def _year(moment: int) -> int:
    return datetime.fromtimestamp(moment, UTC).year


# 13 years of 150 zones; a year costs about 100 microseconds.
@lru_cache(maxsize=2048)
def _of_year(zone: tzinfo, year: int) -> tuple[Period, ...]:
    start, end = (int(datetime(number, 1, 1, tzinfo=UTC).timestamp()) for number in (year, year + 1))
    before = _offset(zone, start - 1)
    year_periods = []
    while start < end:
        offset = _offset(zone, start)
        stop = _next_change(zone, start, end, offset)
        year_periods.append(Period(start, stop, offset, before))
        start, before = stop, offset
    return tuple(year_periods)


def _next_change(zone: tzinfo, start: int, end: int, offset: int) -> int:
    """Return the first time after `start` with another offset, or `end`."""
    for sample in range(start + _SAMPLES, end + _SAMPLES, _SAMPLES):
        later = min(sample, end - 1)
        if _offset(zone, later) != offset:
            return _change(zone, later - _SAMPLES, later, offset)
    return end


def _change(zone: tzinfo, same: int, other: int, offset: int) -> int:
    """Return the first time with another offset, which comes after `same` and not after `other`."""
    while other - same > 1:
        middle = (same + other) // 2
        same, other = (middle, other) if _offset(zone, middle) == offset else (same, middle)
    return other


def _offset(zone: tzinfo, moment: int) -> int:
    offset = datetime.fromtimestamp(moment, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
