"""Which Events are posted. Pure.

An Event is for people, so one above a limit is dropped and counted. The limits are those of client-go: a text is posted
once, ten similar Events of an object within ten minutes, and 25 Events of an object at once, then one in five minutes
(`EventAggregator`, `EventSourceObjectSpamFilter`). In addition, each namespace has a rate, and half of its burst is for
Warnings alone.
"""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from torpor_kubernetes.fairness.token_buckets import TokenBuckets

K = TypeVar("K")
V = TypeVar("V")

OBJECT_BURST = 25
OBJECT_SECONDS = 300.0
"""Seconds for each further Event of an object, Normal and Warning apart."""
SIMILAR = 10
SIMILAR_SECONDS = 600.0
"""So many Events of an object with the same reason are posted in so many seconds."""
ENTRIES = 4096
REPORT_SECONDS = 60.0
_SHOWN = 3


class _Object(NamedTuple):
    namespace: str
    uid: str
    warning: bool


class _Similar(NamedTuple):
    about: _Object
    reason: str


class EventIdentity(NamedTuple):
    """What the limits see of an Event. `name` is the same for the same object and text."""

    namespace: str
    uid: str
    warning: bool
    reason: str
    name: str


class Verdict(StrEnum):
    """Whether to post an Event. `REPEATED`: it was posted within the last ten minutes."""

    POST = "Post"
    REPEATED = "Repeated"
    DROPPED = "Dropped"


class EventDecision(NamedTuple):
    """The verdict, and how many similar Events were dropped since the last one that was posted."""

    verdict: Verdict
    similar: int = 0


class EventLimits:
    """One for a process. `rate` and `burst` are those of a namespace; `now` is monotonic time in seconds."""

    def __init__(self, *, rate: float, burst: float) -> None:
        self._burst = burst
        self._namespaces = TokenBuckets[str](rate=rate, burst=burst)
        self._objects = TokenBuckets[_Object](rate=1 / OBJECT_SECONDS, burst=OBJECT_BURST)
        self._similar = TokenBuckets[_Similar](rate=SIMILAR / SIMILAR_SECONDS, burst=SIMILAR)
        self._posted: OrderedDict[str, float] = OrderedDict()  # by name
        self._hidden: OrderedDict[_Similar, int] = OrderedDict()  # dropped since the last posted one
        self._unreported: Counter[str] = Counter()  # dropped since the last report, by namespace
        self._reported_at = float("-inf")
        self.dropped = 0

    def admit(self, event: EventIdentity, now: float) -> EventDecision:
        """Decide about an Event. One that is admitted counts as posted; `withdraw` it if the request fails."""
        if now < self._posted.get(event.name, float("-inf")) + SIMILAR_SECONDS:
            return EventDecision(Verdict.REPEATED)
        about = _Object(event.namespace, event.uid, event.warning)
        similar = _Similar(about, event.reason)
        kept = 0.0 if event.warning else self._burst // 2
        if not (
            self._similar.has(similar, now)
            and self._objects.has(about, now)
            and self._namespaces.has(event.namespace, now, kept=kept)
        ):
            self._hide(similar)
            self.drop(event.namespace)
            return EventDecision(Verdict.DROPPED)
        self._similar.take(similar, now)
        self._objects.take(about, now)
        self._namespaces.take(event.namespace, now)
        self._posted[event.name] = now
        _trim(self._posted, event.name)
        return EventDecision(Verdict.POST, self._hidden.pop(similar, 0))

    def withdraw(self, event: EventIdentity) -> None:
        """Note that an admitted Event could not be posted: the next one of the same text is no repetition."""
        self._posted.pop(event.name, None)

    def drop(self, namespace: str) -> None:
        """Count an Event that is not posted."""
        self.dropped += 1
        if namespace in self._unreported or len(self._unreported) < ENTRIES:
            self._unreported[namespace] += 1

    def report(self, now: float) -> str | None:
        """A sentence about the Events dropped since the last one; None within a minute after it."""
        if not self._unreported or now < self._reported_at + REPORT_SECONDS:
            return None
        self._reported_at, counts = now, self._unreported
        self._unreported = Counter()
        return _sentence(counts)

    def _hide(self, similar: _Similar) -> None:
        self._hidden[similar] = self._hidden.get(similar, 0) + 1
        _trim(self._hidden, similar)


def _trim(entries: OrderedDict[K, V], latest: K) -> None:
    """Forget the oldest entries beyond the limit."""
    entries.move_to_end(latest)
    while len(entries) > ENTRIES:
        entries.popitem(last=False)


def _sentence(counts: Counter[str]) -> str:
    """`Dropped 7 Events: 5 of namespace a, 2 of namespace b`."""
    shown = [f"{count} of namespace {namespace}" for namespace, count in counts.most_common(_SHOWN)]
    others = len(counts) - len(shown)
    more = [f"the rest of {others} other namespaces"] if others else []
    return f"Dropped {counts.total()} Events: {', '.join([*shown, *more])}"


def event_identity(body: Mapping[str, Any]) -> EventIdentity:
    """The key of an Event of events.k8s.io/v1 whose name derives from its object and text."""
    regarding, name = body["regarding"], body["metadata"]["name"]
    namespace = regarding["namespace"]
    return EventIdentity(namespace, regarding["uid"], body["type"] == "Warning", body["reason"], f"{namespace}/{name}")
