"""A parsed cron expression, and the days and times of day that it names. Pure; it knows no time zone.

Sets of numbers are bit masks: bit n is set if the set has n.
"""

from calendar import isleap
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from torpor_wire.cron import fields
from torpor_wire.cron.fields import Days, Weekdays

NAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""The names of crontab(5), except @reboot."""
YEARS_MAX = 12
"""An expression must have a day in each period of so many years. 29 February has one in 8 years (1896 to 1904), and a
date on a day of the week in 12. 29 February on a Monday comes only every 28 years."""
_CYCLE = 400  # years after which dates and days of the week repeat
_FIVE = 5
_SATURDAY = 6
_KINDS = {(date(year, 1, 1).weekday(), isleap(year)): year for year in range(2000, 2028)}  # the 14 kinds of years
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class CronExpression(NamedTuple):
    """The times of day, the months, and the days of a month by the weekday of its first day (0 is Sunday) and length.

    `is_fixed` says whether the expression has a fixed time, which decides about clock changes.
    """

    seconds: int
    minutes: int
    hours: int
    months: int
    days: Mapping[tuple[int, int], int]
    is_fixed: bool

    def days_of(self, year: int, month: int) -> int:
        """Return the days of a month."""
        if not self.months >> month & 1:
            return 0
        length = 29 if month == 2 and isleap(year) else _LENGTHS[month - 1]  # noqa: PLR2004 - February
        return self.days[date(year, month, 1).isoweekday() % 7, length]


def parse(text: str) -> CronExpression:
    """Return a parsed expression.

    Raises ValueError with a sentence for an invalid expression, and for one that ticks less than once in `YEARS_MAX`
    years.
    """
    parsed = _parsed(text)
    if isinstance(parsed, str):
        raise ValueError(parsed)  # noqa: TRY004 - a text that is no expression, and why
    return parsed


# An invalid expression is kept as well: a Schedule with one is planned again and again.
@lru_cache(maxsize=1024)
def _parsed(text: str) -> CronExpression | str:
    """Return the expression, or why there is none."""
    try:
        words = split(text)
        is_crontab = len(words) == _FIVE
        expression = _expression(["0", *words] if is_crontab else words, text, is_crontab=is_crontab)
    except ValueError as error:
        return str(error)
    if not any(_has_days(expression, year) for year in _KINDS.values()):
        return f"{text!r} never ticks: none of its months has such a day"
    if not _is_frequent(expression):
        return f"{text!r} ticks less often than once in {YEARS_MAX} years"
    return expression


def split(text: str) -> list[str]:
    """Return the fields in upper case, with `*` for `?` in the days. Raises ValueError for another number of them."""
    words = NAMES.get(text.strip().lower(), text).upper().split()
    if len(words) not in {_FIVE, len(fields.FIELDS)}:
        titles = ", ".join(each.title for each in fields.FIELDS[1:])
        raise ValueError(
            f"{text[:200]!r} has {len(words)} fields; it must have five ({titles}), "
            f"six with seconds first, or be one of {', '.join(NAMES)}"
        )
    kinds = fields.FIELDS[-len(words) :]
    is_day = [kind in (fields.DAY, fields.WEEKDAY) for kind in kinds]
    return ["*" if word == "?" and day else word for word, day in zip(words, is_day, strict=True)]


def _expression(words: list[str], text: str, *, is_crontab: bool) -> CronExpression:
    _, minute, hour, day, month, weekday = words
    try:
        masks = [
            mask(fields.parse_numbers(word, kind)) for word, kind in zip(words[:3], fields.FIELDS[:3], strict=True)
        ]
        days = fields.parse_days(day)
        months = mask(fields.parse_numbers(month, fields.MONTH))
        weekdays = fields.parse_weekdays(weekday)
    except ValueError as error:
        raise ValueError(f"{text[:200]!r}: {error}") from error
    return CronExpression(
        seconds=masks[0],
        minutes=masks[1],
        hours=masks[2],
        months=months,
        days=_days(days, weekdays, both=day.startswith("*") or weekday.startswith("*")),
        is_fixed=is_crontab and not minute.startswith("*") and not hour.startswith("*"),
    )


def mask(numbers: Iterable[int]) -> int:
    """Return a set of numbers as a bit mask."""
    return sum(1 << number for number in numbers)


def _days(days: Days, weekdays: Weekdays, *, both: bool) -> dict[tuple[int, int], int]:
    """Return the days for each kind of month."""
    by_month = {}
    for first in range(7):
        for length in range(28, 32):
            of_month, of_week = _days_of_month(days, first, length), _days_of_week(weekdays, first, length)
            by_month[first, length] = of_month & of_week if both else of_month | of_week
    return by_month


def _days_of_month(days: Days, first: int, length: int) -> int:
    named = mask(day for day in days.numbers if day <= length)
    if days.last:
        named |= 1 << length
    if days.last_weekday:
        weekday = (first + length - 1) % 7
        named |= 1 << length - {0: 2, _SATURDAY: 1}.get(weekday, 0)
    return named


def _days_of_week(weekdays: Weekdays, first: int, length: int) -> int:
    named = 0
    for day in range(1, length + 1):
        weekday = (first + day - 1) % 7
        is_last = weekday in weekdays.last and day + 7 > length
        if weekday in weekdays.every or is_last or (weekday, (day + 6) // 7) in weekdays.nth:
            named |= 1 << day
    return named


def _has_days(expression: CronExpression, year: int) -> bool:
    return any(expression.days_of(year, month) for month in range(1, 13))


def _is_frequent(expression: CronExpression) -> bool:
    """Whether each period of `YEARS_MAX` years has a day: the calendar repeats after 400 years."""
    frequent = {kind for kind, year in _KINDS.items() if _has_days(expression, year)}
    last = 2000
    for year in range(2000, 2000 + _CYCLE + 2 * YEARS_MAX):
        if (date(year, 1, 1).weekday(), isleap(year)) in frequent:
            last = year
        elif year - last >= YEARS_MAX:
            return False
    return True
