"""Orders waits by age for the scheduler's slots, as far as this replica can trust their claims. Pure.

`status.deferredAt` comes from the task's pod. It counts only where a false value gains nothing: a wait that claims to
be younger than the tolerance of the admission policy (`constants.CLOCK_SLACK_S`) counts from the moment when this
replica first saw it. An older one was written long ago, as after a handover, and keeps its place, but no earlier than
the creation of its TaskRun.
"""

from typing import NamedTuple

from torpor_wire import constants, times

from torpor_triggerer.model.packed_wait import PackedWait


class Age(NamedTuple):
    """The sort key of a wait, oldest first. `since` is in whole seconds, so that a list of waits keeps its order."""

    since: int
    claimed: float
    namespace: str
    name: str


def age(wait: PackedWait) -> Age:
    """Return the sort key of a wait that is served."""
    return Age(wait.since, wait.deferred_at, wait.namespace, wait.name)


def counts_from(wait: PackedWait, seen_at: float) -> float:
    """Return the moment from which a wait counts that was first seen at `seen`."""
    if wait.deferred_at >= seen_at - constants.CLOCK_SLACK_S:
        return seen_at
    created = wait.unpack().created
    return max(wait.deferred_at, min(times.epoch(created), seen_at)) if created else seen_at
