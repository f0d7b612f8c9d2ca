"""The ticks of a cron expression in a time zone. Pure, except that zoneinfo reads the file of a zone.

cronsim decides daylight saving by the rule of Debian's cron. An expression of five fields with a fixed minute and hour
ticks once a day: a tick in a skipped hour comes when that hour ends, and a tick in a repeated hour comes in its first
pass. Every other expression ticks in both passes of a repeated hour, and not in a skipped hour. If a zone shifts by
half an hour (Australia/Lord_Howe), cronsim omits ticks in the two hours after the clocks go back.

Every search is bounded: cronsim gives up after 50 years, one search reads at most `SEARCH_MAX` ticks, and a caller
limits the number of ticks that it gets. A tick costs about 10 microseconds.
"""

import hashlib
import math
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice
from typing import Self

from cronsim import CronSim, CronSimError
from torpor_wire import times

# In a repeated hour cronsim may return ticks again that are not after the start: at most one a minute of a day, because
# no zone repeats more than a day, and only expressions of five fields are affected.
SEARCH_MAX = 24 * 60 + 2
FIELDS = ("second", "minute", "hour", "day of month", "month", "day of week")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """The ticks of one expression. Times are seconds since the epoch; ticks are whole seconds."""

    expression: str
    zone: tzinfo

    @classmethod
    def parse(cls, expression: str, timezone: str | None) -> Self:
        """Return the ticks of five or six fields, or of a name such as @daily. No time zone is UTC.

        Raises ValueError with a sentence for an invalid expression and for an unknown time zone.
        """
        return cls(expression=_expression(expression), zone=_zone(timezone))

    def next(self, after: float) -> float | None:
        """Return the first tick after a time. None if there is none within 50 years or before the year 10000."""
        return next(self._after(after), None)

    def previous(self, until: float) -> float | None:
        """Return the last tick at or before a time. None if there is none within 50 years or after the year 1."""
        for tick in islice(self._backwards(until), SEARCH_MAX):
            if tick <= until:
                return tick
        return None

    def between(self, after: float, until: float, limit: int) -> list[float]:
        """Return the first `limit` ticks with `after < tick <= until`, ascending."""
        return list(islice(self._period(after, until), max(limit, 0)))

    def count(self, after: float, until: float, limit: int) -> int:
        """Return the number of ticks with `after < tick <= until`; `limit` if there are at least so many."""
        return sum(1 for _ in islice(self._period(after, until), max(limit, 0)))

    def _period(self, after: float, until: float) -> Iterator[float]:
        for tick in self._after(after):
            if tick > until:
                return
            yield tick

    def _after(self, after: float) -> Iterator[float]:
        """Each tick once: in the second pass of a repeated hour, cronsim returns ticks of the first pass again."""
        last, skipped = after, 0
        try:
            for moment in CronSim(self.expression, datetime.fromtimestamp(after, self.zone)):
                tick = moment.timestamp()
                if tick > last:
                    last, skipped = tick, 0
                    yield tick
                elif (skipped := skipped + 1) > SEARCH_MAX:
                    return
        except (ValueError, OverflowError, OSError):
            return

    def _backwards(self, until: float) -> Iterator[float]:
        """Ticks at or before a time and possibly some later ones, descending."""
        try:
            local = datetime.fromtimestamp(math.floor(until) + 1, self.zone)
            for moment in CronSim(self.expression, local + _repeated(local), reverse=True):
                yield moment.timestamp()
        except (ValueError, OverflowError, OSError):
            return


def delay_of(uid: str, jitter: float) -> float:
    """Return the delay of all ticks of a Schedule in whole seconds: fixed by its uid, and uniform in [0, jitter)."""
    choices = math.ceil(jitter)
    if choices <= 1:
        return 0.0
    return float(int.from_bytes(hashlib.sha256(uid.encode()).digest()) % choices)


def _repeated(local: datetime) -> timedelta:
    """How much is repeated if this is the second pass of an hour: ticks at later clock times have passed already."""
    first, second = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    if local.fold == 0 or first is None or second is None:
        return timedelta(0)
    return first - second


# Each plan of a Schedule parses its expressions several times; the check of the fields costs 100 microseconds.
@lru_cache(maxsize=1024)
def _expression(text: str) -> str:
    try:
        fields = times.cron_fields(text).upper().split()
    except ValueError as error:
        raise ValueError(f"cron {error}") from error
    for field, kind in zip(fields, FIELDS[-len(fields) :], strict=True):
        if not _is_valid(field, kind):
            raise ValueError(f"cron {text!r}: {field!r} is not valid for the {kind}")
    try:
        CronSim(" ".join(fields), datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:  # the fields are valid one by one, such as 31 and FEB
        raise ValueError(f"cron {text!r} never ticks: none of its months has such a day") from error
    return " ".join(fields)


def _is_valid(field: str, kind: str) -> bool:
    """Whether cronsim accepts one field beside five fields of `*`."""
    fields = [field if each == kind else "*" for each in FIELDS]
    try:
        CronSim(" ".join(fields), datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


def _zone(name: str | None) -> tzinfo:
    if name is None or name == "UTC":
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'timezone "{name}" is unknown; use an IANA name such as Europe/Berlin') from error
