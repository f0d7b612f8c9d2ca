"""Orders waits by age for the scheduler's slots, as far as this replica can trust their claims. Pure.

`status.deferredAt` comes from the task's pod. It counts only where a false value gains nothing: a wait that claims to
be younger than the tolerance of the admission policy (`constants.CLOCK_SLACK_S`) counts from the moment when this
replica first saw it. An older one was written long ago, as after a handover, and keeps its place, but no earlier than
the creation of its TaskRun.
"""

from collections.abc import Callable
from typing import NamedTuple

from torpor_wire import constants, times

from torpor_triggerer.model.deferred_taskrun import SegmentId, Wait


class Age(NamedTuple):
    """The sort key of a wait, oldest first. `since` is in whole seconds, so that a list of waits keeps its order."""

    since: int
    claimed: float
    namespace: str
    name: str


class Arrivals:
    """The waits that run or queue, each with the second from which it counts. `now` is seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: dict[SegmentId, int] = {}

    def add(self, wait: Wait) -> None:
        """Add a wait; a known one keeps its place."""
        if wait.segment_id not in self._since:
            self._since[wait.segment_id] = int(counts_from(wait, self._now()))

    def remove(self, wait: Wait) -> None:
        """Remove a wait."""
        self._since.pop(wait.segment_id, None)

    def age(self, wait: Wait) -> Age:
        """Return the sort key of a wait; an unknown wait sorts last."""
        since = self._since.get(wait.segment_id)
        return Age(int(self._now()) if since is None else since, wait.deferred_at, wait.namespace, wait.name)


def counts_from(wait: Wait, seen: float) -> float:
    """Return the moment from which a wait counts that was first seen at `seen`."""
    if wait.deferred_at >= seen - constants.CLOCK_SLACK_S:
        return seen
    return max(wait.deferred_at, min(times.epoch(wait.created), seen)) if wait.created else seen
