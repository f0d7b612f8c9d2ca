"""Decides which late ticks of a Schedule are not run. Pure.

A tick is due `delay` after its time. It is late if it was due more than `GRACE` ago. Every policy runs
a tick that is not late. The age of a late tick counts from the time at which it was due.
"""

import math
from dataclasses import dataclass
from typing import assert_never

from torpor_crds.models.schedule import Missed
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks
from torpor_wire.enums import MissedRun

# Longer than a restart of the operator or of a triggerer, so that it misses no tick.
GRACE = 60.0
COUNT_MAX = 10_000
"""More missed ticks are counted as this many: the count is then a lower bound."""
COUNT_SPAN = 10 * 366 * 86_400.0
"""Missed ticks are counted in so many seconds before the last of them: a count costs microseconds for each year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Where a source goes on: the first tick after `cursor` is the next to run."""

    cursor: float
    missed: int
    last: float | None


def catch_up(  # noqa: PLR0913 - a position, a clock and the five settings of the Schedule
    ticks: Ticks,
    *,
    cursor: float,
    now: float,
    policy: Missed,
    delay: float = 0.0,
    not_before: float | None = None,
    not_after: float | None = None,
) -> CatchUp:
    """Return the position after the ticks that are not run, their number up to `COUNT_MAX`, and the last of them.

    Ticks before `not_before` are passed over and not counted; ticks after `not_after` stay. Two searches backwards and
    a count of at most ten years, however many ticks were missed. The position never goes back.
    """
    begin = _before(ticks, cursor, not_before)
    late = _last_before(now - GRACE - delay, not_after)
    old = _last_before(now - max(GRACE, times.seconds(policy.within)) - delay, not_after)
    last = _last_passed(ticks, late=late, old=old, run=policy.run)
    if last is None or last <= begin:
        return CatchUp(cursor=begin, missed=0, last=None)
    return CatchUp(cursor=last, missed=ticks.count(max(begin, last - COUNT_SPAN), last, COUNT_MAX), last=last)


def _before(ticks: Ticks, cursor: float, not_before: float | None) -> float:
    """The position behind the ticks that come too early to be run."""
    if not_before is None or not_before <= cursor:
        return cursor
    return max(cursor, ticks.previous(_last_before(not_before, None)) or cursor)


def _last_passed(ticks: Ticks, *, late: float, old: float, run: MissedRun) -> float | None:
    match run:
        case MissedRun.NONE:
            return ticks.previous(late)
        case MissedRun.ALL:
            return ticks.previous(old)
        case MissedRun.LAST:
            last = ticks.previous(late)
            return last if last is None or last <= old else ticks.previous(last - 1)
        case _:
            assert_never(run)


def _last_before(moment: float, not_after: float | None) -> float:
    """The last whole second before a time: ticks are whole seconds."""
    second = math.ceil(moment) - 1.0
    return second if not_after is None else min(second, not_after)
