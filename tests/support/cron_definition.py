"""The ticks of a cron expression by their definition: look at each second of a period. Slow, and independent."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

_LEAST = (0, 0, 0, 1, 1, 0)
_MOST = (59, 59, 23, 31, 12, 7)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the offset of a zone, in seconds since the epoch."""

    zone: str
    at: int
    before: int
    after: int


class Definition:
    """An expression of numbers, ranges, steps and lists. `step` is the number of seconds between two times."""

    def __init__(self, expression: str) -> None:
        words = expression.split()
        self.is_fixed = len(words) == 5 and not words[0].startswith("*") and not words[1].startswith("*")
        self.step = 10 if len(words) == 6 else 60
        self.words = words if len(words) == 6 else ["0", *words]
        self.sets = [_numbers(word, field) for field, word in enumerate(self.words)]
        self.day_and = self.words[3].startswith("*") or self.words[5].startswith("*")

    def names(self, local: datetime) -> bool:
        """Whether the fields of a local time match."""
        second, minute, hour, day, month, weekday = self.sets
        if local.second not in second or local.minute not in minute or local.hour not in hour:
            return False
        days = (local.day in day, local.isoweekday() % 7 in weekday)
        return local.month in month and (all(days) if self.day_and else any(days))

    def ticks(self, zone: tzinfo, start: int, end: int) -> Iterator[int]:
        """The ticks in `start <= tick < end`: both are whole steps."""
        former = _local(start - self.step, zone)
        for moment in range(start, end, self.step):
            local = _local(moment, zone)
            if self._ticks(former, local):
                yield moment
            former = local

    def _ticks(self, former: datetime, local: datetime) -> bool:
        if not self.is_fixed:
            return self.names(local)
        return (local.fold == 0 and self.names(local)) or any(map(self.names, self._skipped(former, local)))

    def _skipped(self, former: datetime, local: datetime) -> Iterator[datetime]:
        """The local times that the clocks have left out since the time before."""
        step = timedelta(seconds=self.step)
        time, end = former.replace(tzinfo=None, fold=0) + step, local.replace(tzinfo=None, fold=0)
        while time < end:
            yield time
            time += step


def changes(first: int, last: int) -> list[Change]:
    """The changes of all zones in a period of years. Zones that change alike are one."""
    changes: dict[tuple[int, int, int], Change] = {}
    for name in sorted(available_timezones() - {"localtime"}):
        for change in _changes_of(name, first, last):
            changes.setdefault((change.at, change.before, change.after), change)
    return list(changes.values())


def _changes_of(name: str, first: int, last: int) -> Iterator[Change]:
    zone = ZoneInfo(name)
    moment, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (first, last + 1))
    while moment < end:
        later = moment + 86_400
        before, after = _offset(moment, zone), _offset(later, zone)
        if before != after:
            at = next(at for at in range(moment, later + 60, 60) if _offset(at, zone) != before)
            yield Change(name, at, before, after)
        moment = later


def _offset(moment: int, zone: tzinfo) -> int:
    return int((_local(moment, zone).utcoffset() or timedelta(0)).total_seconds())


def _local(moment: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(moment, zone)


def _numbers(word: str, field: int) -> frozenset[int]:
    numbers: set[int] = set()
    for term in word.split(","):
        bounds, _, step = term.partition("/")
        least, _, most = (f"{_LEAST[field]}-{_MOST[field]}" if bounds == "*" else bounds).partition("-")
        numbers.update(range(int(least), int(most or least) + 1, int(step or "1")))
    return frozenset(number % 7 for number in numbers) if field == 5 else frozenset(numbers)
