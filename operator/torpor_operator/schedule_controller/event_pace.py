"""The rate of the events of all Schedules of a namespace.

A source takes its next event only after it is armed again. Above the rate, arming waits for its turn: each source has a
reserved time, in the order of their events. Nothing is dropped: the event is still at its origin, or the tick is late.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torpor_api.fairness.token_buckets import TokenBuckets
from torpor_api.models.taskrun import TaskRun
from torpor_api.timing import Clock

from torpor_operator.model.actions import PatchTaskRun
from torpor_operator.schedules.actions import Action
from torpor_operator.schedules.source_step import has_event

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
        self._reserved: dict[_Event, float] = {}  # in the order of the reservations
        self.rate = rate

    def admit(self, namespace: str, actions: Sequence[Action]) -> Paced:
        """The actions without the arming of sources whose time has not come."""
        now = self._clock.monotonic()
        self._forget_unused(now)
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
        if event not in self._reserved:
            self._reserved[event] = self._buckets.reserve(namespace, now)
        return self._reserved[event]

    def _forget_unused(self, now: float) -> None:
        """Drop the oldest reservations that were not used in time."""
        while self._reserved:
            event, moment = next(iter(self._reserved.items()))
            if moment > now - _KEPT_SECONDS:
                return
            del self._reserved[event]
