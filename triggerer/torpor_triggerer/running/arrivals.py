"""When each wait began to wait, for the order in which waits get room: as this replica saw it.

What a status claims is believed only where it cannot gain anything. A wait that claims to be at most as old as the
admission policy lets its writer lie (`keys.CLOCK_SLACK_S`) counts from the moment at which it was first seen here. One
that claims more was written long before, as when a replica takes over what another left, and keeps its place; but it
is no older than its TaskRun. Clocks are passed in, nothing is read from anywhere.
"""

from collections.abc import Callable
from typing import NamedTuple

from torpor_wire import constants, times

from torpor_triggerer.model.deferred_taskrun import Turn, Wait


class Age(NamedTuple):
    """The place of a wait among others, the oldest first; whole seconds, so that one list keeps its own order."""

    since: int
    claimed: float
    namespace: str
    name: str


class Arrivals:
    """The waits that ask for room now, and since when each counts. `now` is seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since: dict[Turn, int] = {}

    def note(self, wait: Wait) -> None:
        """Take in a wait; one that is known keeps its place."""
        if wait.turn not in self._since:
            self._since[wait.turn] = int(counts_from(wait, self._now()))

    def forget(self, wait: Wait) -> None:
        """It asks no more."""
        self._since.pop(wait.turn, None)

    def age(self, wait: Wait) -> Age:
        """The place of a wait that was noted; one that was not is the last."""
        since = self._since.get(wait.turn)
        return Age(int(self._now()) if since is None else since, wait.deferred_at, wait.namespace, wait.name)


def counts_from(wait: Wait, seen: float) -> float:
    """The moment from which a wait counts that was first seen at `seen`."""
    if wait.deferred_at >= seen - constants.CLOCK_SLACK_S:
        return seen
    return max(wait.deferred_at, min(times.epoch(wait.created), seen)) if wait.created else seen
