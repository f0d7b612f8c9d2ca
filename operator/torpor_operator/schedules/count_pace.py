"""When a status is stored that differs from the stored one by the counts of runs alone. Pure.

The end of a run changes only how many runs are active. The status of the next event tells that as well.
"""

from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_wire import times

SOON = 60.0
"""Seconds to the next tick within which the counts wait for its status."""
LONGEST = 120.0
"""Seconds after the last status at which they are stored without one: a tick may have a jitter, or be late."""


def counts_due(stored: ScheduleStatus, wanted: ScheduleStatus, *, written: float, interval: float, now: float) -> float:
    """When the counts are due. `written`: when the status was stored; `interval`: seconds between two statuses."""
    may_wait = not (stored.queued or wanted.queued or wanted.suspended) and wanted.next is not None
    if may_wait and times.epoch(wanted.next or "") <= now + SOON:
        return written + max(interval, LONGEST)
    return written + interval
