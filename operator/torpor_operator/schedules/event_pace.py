"""The rate of the events of all Schedules of a namespace.

A source takes its next event only after it is armed again. Above the rate, arming waits for its turn: each source has a
reserved time, in the order of their events. Nothing is dropped: the event is still at its origin, or the tick is late.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.fairness.token_buckets import TokenBuckets
from torpor_kubernetes.timing import Clock

from torpor_operator.model.actions import PatchTaskRun
from torpor_operator.schedules.plan.actions import Action
from torpor_operator.schedules.plan.source_plan import has_event

_ROUNDING = 0.001
"""The wall clock, by which a pass is due, has fewer digits than the monotonic clock."""
_KEPT_SECONDS = 60.0
"""How long an unused reservation is kept after its time: its source may be deleted, or the Schedule suspended."""


class _Event(NamedTuple):
    """One event of a source."""

    uid: str
    attempt: int
    segment: int


class Paced(NamedTuple):
    """The actions that may be done now, and in how many seconds each of the others may."""

    actions: tuple[Action, ...]
    delays: tuple[float, ...]


class EventPace:
    """`rate` events a second for each namespace, `burst` at once."""

    def __init__(self, clock: Clock, *, rate: float, burst: float) -> None:
        self._clock = clock
        self._buckets = TokenBuckets[str](rate=rate, burst=burst)
        # By namespace, the latest use last; the events of one in the order of their times.
        self._reserved: dict[str, dict[_Event, float]] = {}
        self.rate = rate

    def __len__(self) -> int:
        """Return the number of reservations that are kept."""
        return sum(map(len, self._reserved.values()))

    def admit(self, namespace: str, actions: Sequence[Action]) -> Paced:
        """The actions without the arming of sources whose time has not come."""
        now = self._clock.monotonic()
        self._reserved[namespace] = self._reserved.pop(namespace, {})
        for name in {namespace, next(iter(self._reserved))}:
            self._forget_unused(name, now)
        held = {
            id(action): moment - now
            for action in actions
            if isinstance(action, PatchTaskRun)
            and has_event(action.taskrun)
            and (moment := self._reserve(namespace, action.taskrun, now)) > now + _ROUNDING
        }
        admitted = tuple(action for action in actions if id(action) not in held)
        return Paced(admitted, tuple(held.values()))

    def _reserve(self, namespace: str, taskrun: TaskRun, now: float) -> float:
        """When the source may be armed: the same time for the same event."""
        event = _Event(taskrun.metadata.uid, taskrun.status.attempt, taskrun.status.segment)
        reserved = self._reserved.setdefault(namespace, {})
        if event not in reserved:
            reserved[event] = self._buckets.reserve(namespace, now)
        return reserved[event]

    def _forget_unused(self, namespace: str, now: float) -> None:
        """Drop the oldest reservations of a namespace that were not used in time."""
        reserved = self._reserved[namespace]
        while reserved:
            event, moment = next(iter(reserved.items()))
            if moment > now - _KEPT_SECONDS:
                return
            del reserved[event]
        del self._reserved[namespace]
