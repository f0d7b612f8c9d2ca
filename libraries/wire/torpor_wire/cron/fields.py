"""The fields of a cron expression as sets of numbers. Pure.

A task pod imports this module, so it has no dataclasses, which take milliseconds to import.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NTH_MAX = 5


class CronField(NamedTuple):
    """A field: its title, its range, and the names of its numbers."""

    title: str
    least: int
    most: int
    names: Mapping[str, int] = MappingProxyType({})


SECOND = CronField("second", 0, 59)
MINUTE = CronField("minute", 0, 59)
HOUR = CronField("hour", 0, 23)
DAY = CronField("day of month", 1, 31)
MONTH = CronField("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)})
WEEKDAY = CronField("day of week", 0, 7, {name: number for number, name in enumerate(_WEEKDAYS)})
FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)


class Days(NamedTuple):
    """Days of a month: numbers, the last day, and the last day from Monday to Friday."""

    numbers: frozenset[int]
    last: bool = False
    last_weekday: bool = False


class Weekdays(NamedTuple):
    """Days of a week, where 0 is Sunday: in every week, the last ones of a month, and (day, n) for the nth ones."""

    every: frozenset[int]
    last: frozenset[int] = frozenset()
    nth: frozenset[tuple[int, int]] = frozenset()


def parse_numbers(text: str, kind: CronField) -> frozenset[int]:
    """Return the numbers of a field without specials. Raises ValueError with a sentence."""
    return frozenset(number for term in text.split(",") for number in _range(term, text, kind))


def parse_days(text: str) -> Days:
    """Return the days of a month. `L` and `LW` may have a step, which changes nothing. Raises ValueError."""
    terms = text.split(",")
    specials = [term for term in terms if re.fullmatch(r"LW?(/0*[1-9][0-9]*)?", term)]
    numbers = [_range(term, text, DAY) for term in terms if term not in specials]
    words = {term.partition("/")[0] for term in specials}
    return Days(numbers=frozenset().union(*numbers), last="L" in words, last_weekday="LW" in words)


def parse_weekdays(text: str) -> Weekdays:
    """Return the days of a week. Raises ValueError with a sentence."""
    every: set[int] = set()
    last: set[int] = set()
    nth: set[tuple[int, int]] = set()
    for term in text.split(","):
        if re.fullmatch(r"[0-9]+L", term):
            last.add(_number(term[:-1], text, WEEKDAY) % 7)
        elif "#" in term:
            day, _, place = term.partition("#")
            nth.add((_number(day, text, WEEKDAY) % 7, _nth(place, text)))
        else:
            every.update(number % 7 for number in _range(term, text, WEEKDAY))
    return Weekdays(every=frozenset(every), last=frozenset(last), nth=frozenset(nth))


def _nth(place: str, text: str) -> int:
    if re.fullmatch(r"[0-9]+", place) and 1 <= int(place) <= _NTH_MAX:
        return int(place)
    raise _invalid(text, WEEKDAY, "write 5#2 for the second Friday; the number is 1 to 5")


def _range(term: str, text: str, kind: CronField) -> range:
    """Return the numbers of `*`, `5`, `1-5`, and of each of them with a step."""
    bounds, slash, step = term.partition("/")
    if slash and not re.fullmatch(r"0*[1-9][0-9]*", step):
        raise _invalid(text, kind)
    if bounds == "*":
        least, most = kind.least, kind.most
    else:
        first, dash, second = bounds.partition("-")
        least = _number(first, text, kind)
        most = _number(second, text, kind) if dash else least
    if least > most:
        raise _invalid(text, kind, f"a range must not wrap: write {_unwrapped(least, most, kind)}")
    if slash and least == most:  # 5/15 begins at 5 and goes on to the end of the field
        most = kind.most
    return range(least, most + 1, int(step or "1"))


def _number(word: str, text: str, kind: CronField) -> int:
    if word in kind.names:
        return kind.names[word]
    if re.fullmatch(r"[0-9]+", word) and kind.least <= int(word) <= kind.most:
        return int(word)
    raise _invalid(text, kind)


def _unwrapped(least: int, most: int, kind: CronField) -> str:
    """Return the two ranges that a wrapping one means, such as 22-23,0-2."""
    end = 6 if kind is WEEKDAY else kind.most
    ranges = ((least, end), (kind.least, most))
    return ",".join(str(first) if first == second else f"{first}-{second}" for first, second in ranges)


def _invalid(text: str, kind: CronField, remedy: str = "") -> ValueError:
    remedy = remedy or next((words for pattern, words in _remedies(kind) if re.search(pattern, text)), "")
    return ValueError(f"{text[:50]!r} is not valid for the {kind.title}" + (f"; {remedy}" if remedy else ""))


def _remedies(kind: CronField) -> tuple[tuple[str, str], ...]:
    """Spellings of other programs, and what to write instead."""
    if kind is WEEKDAY:
        return ((r"L", "write 5L for the last Friday of a month"), (r"\?", "write ? or * alone"))
    if kind is DAY:
        return (
            (r"W", "write LW for the last day from Monday to Friday; W has no other use"),
            (r"L", "write L for the last day of the month; days before it cannot be counted"),
            (r"\?", "write ? or * alone"),
        )
    return ((r"\?", "write *; only the day fields accept ?"),)
