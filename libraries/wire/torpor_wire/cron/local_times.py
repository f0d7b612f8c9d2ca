"""Searches the local times that an expression names. Pure; it knows no time zone.

A local time is seconds since 1970-01-01T00:00 on the clock of the place. A search goes from the month to the second,
and so reads at most the months between its bounds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from torpor_wire.cron.expression import CronExpression

DAY = 86_400
_HOUR = 3600
_MINUTE = 60
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class LocalTimes:
    """The local times of an expression. A period is `start <= time < end`."""

    expression: CronExpression

    def first(self, start: int, end: int) -> int | None:
        """Return the first time of a period."""
        if start >= end:
            return None
        day, time = divmod(start, DAY)
        if self._has_day(day) and (time_of_day := self._time_from(time)) is not None:
            return _within(day * DAY + time_of_day, start, end)
        for first, days in self._months(day + 1, (end - 1) // DAY):
            return _within((first + _lowest(days)) * DAY + self._first_time(), start, end)
        return None

    def last(self, start: int, end: int) -> int | None:
        """Return the last time of a period."""
        if start >= end:
            return None
        day, time = divmod(end - 1, DAY)
        if self._has_day(day) and (time_of_day := self._time_until(time)) is not None:
            return _within(day * DAY + time_of_day, start, end)
        for first, days in self._months_back(start // DAY, day - 1):
            return _within((first + days.bit_length() - 1) * DAY + self._last_time(), start, end)
        return None

    def count(self, start: int, end: int) -> int:
        """Return the number of times in a period."""
        if start >= end:
            return 0
        (first_day, first_time), (last_day, last_time) = divmod(start, DAY), divmod(end, DAY)
        number = sum(days.bit_count() for _, days in self._months(first_day, last_day - 1)) * self._times()
        if self._has_day(first_day):
            number -= self._times_before(first_time)
        return number + (self._times_before(last_time) if self._has_day(last_day) else 0)

    def _has_day(self, day: int) -> bool:
        calendar_day = date.fromordinal(day + _EPOCH)
        return bool(self.expression.days_of(calendar_day.year, calendar_day.month) >> calendar_day.day & 1)

    def _months(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the months with days from `first` to `last`: the day before each month, and its days."""
        if first > last:
            return
        begin, end = date.fromordinal(first + _EPOCH), date.fromordinal(last + _EPOCH)
        months = range(begin.year * 12 + begin.month - 1, end.year * 12 + end.month)
        for number in months:
            yield from self._days_within(number, first, last)

    def _months_back(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        if first > last:
            return
        begin, end = date.fromordinal(first + _EPOCH), date.fromordinal(last + _EPOCH)
        for number in range(end.year * 12 + end.month - 1, begin.year * 12 + begin.month - 2, -1):
            yield from self._days_within(number, first, last)

    def _days_within(self, number: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the days of a month that lie in a period, unless there are none."""
        year, month = divmod(number, 12)
        days = self.expression.days_of(year, month + 1)
        if not days:
            return
        before = date(year, month + 1, 1).toordinal() - _EPOCH - 1
        if first > before + 1:
            days = days >> first - before << first - before
        days &= (2 << min(last - before, 31)) - 1
        if days:
            yield before, days

    def _time_from(self, time: int) -> int | None:
        """Return the first time of day that is not before a time."""
        rule = self.expression
        hour, minute, second = time // _HOUR, time // _MINUTE % 60, time % 60
        if rule.hours >> hour & 1:
            if rule.minutes >> minute & 1 and (seconds := rule.seconds >> second):
                return time + _lowest(seconds)
            if minutes := rule.minutes >> minute + 1:
                return hour * _HOUR + (minute + 1 + _lowest(minutes)) * _MINUTE + _lowest(rule.seconds)
        if hours := rule.hours >> hour + 1:
            return (hour + 1 + _lowest(hours)) * _HOUR + _lowest(rule.minutes) * _MINUTE + _lowest(rule.seconds)
        return None

    def _time_until(self, time: int) -> int | None:
        """Return the last time of day that is not after a time."""
        rule = self.expression
        hour, minute, second = time // _HOUR, time // _MINUTE % 60, time % 60
        if rule.hours >> hour & 1:
            if rule.minutes >> minute & 1 and (seconds := _below(rule.seconds, second + 1)):
                return time - second + _highest(seconds)
            if minutes := _below(rule.minutes, minute):
                return hour * _HOUR + _highest(minutes) * _MINUTE + _highest(rule.seconds)
        if hours := _below(rule.hours, hour):
            return _highest(hours) * _HOUR + _highest(rule.minutes) * _MINUTE + _highest(rule.seconds)
        return None

    def _first_time(self) -> int:
        rule = self.expression
        return _lowest(rule.hours) * _HOUR + _lowest(rule.minutes) * _MINUTE + _lowest(rule.seconds)

    def _last_time(self) -> int:
        rule = self.expression
        return _highest(rule.hours) * _HOUR + _highest(rule.minutes) * _MINUTE + _highest(rule.seconds)

    def _times(self) -> int:
        """Return the number of times in a day."""
        rule = self.expression
        return rule.hours.bit_count() * rule.minutes.bit_count() * rule.seconds.bit_count()

    def _times_before(self, time: int) -> int:
        """Return the number of times in a day before a time."""
        rule = self.expression
        hour, minute, second = time // _HOUR, time // _MINUTE % 60, time % 60
        minutes = rule.minutes.bit_count()
        number = _below(rule.hours, hour).bit_count() * minutes * rule.seconds.bit_count()
        if rule.hours >> hour & 1:
            number += _below(rule.minutes, minute).bit_count() * rule.seconds.bit_count()
            if rule.minutes >> minute & 1:
                number += _below(rule.seconds, second).bit_count()
        return number


def _within(time: int, start: int, end: int) -> int | None:
    return time if start <= time < end else None


def _lowest(numbers: int) -> int:
    return (numbers & -numbers).bit_length() - 1


def _highest(numbers: int) -> int:
    return numbers.bit_length() - 1


def _below(numbers: int, limit: int) -> int:
    """Return the numbers that are smaller than a limit."""
    return numbers & (1 << limit) - 1
