"""Records Kubernetes Events on TaskRuns: best effort, within limits, and never in the way of a status write.

`EventLimits` drops what is similar or too much for one object. An Event of type Normal is then posted at once or
dropped. Warnings queue, and namespaces take turns. Dropped Events are counted. The source of a Schedule has no Normal
Events, since the Schedule has Events and counts of its own.
"""

import logging
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Never

from torpor_kubernetes.client import errors, events
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_kubernetes.fairness.event_limits import EventLimits, Verdict, event_identity
from torpor_kubernetes.fairness.namespace_shares import GENEROSITY
from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.fairness.round_robin_queue import RoundRobinQueue
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.settings import Settings


class SharedTokenBucket:
    """A rate limit that namespaces share: `rate` tokens a second, `burst` at once. The bucket starts full."""

    def __init__(self, clock: Clock, *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = clock.monotonic()
        self._taken: dict[str, float] = {}

    @classmethod
    def for_messages(cls, clock: Clock, rate: float) -> "SharedTokenBucket":
        """Limit progress messages: one second's worth at once; a rate of 0 allows none."""
        return cls(clock, rate=rate, burst=max(rate, 1.0) if rate > 0 else 0.0)

    def take(self, owner: str = "") -> bool:
        """Take a token for an owner. False if there is none, or the owner has used its share."""
        self._refill()
        taken = self._taken.get(owner, 0.0)
        if self._tokens < 1.0 or taken >= GENEROSITY * self._tokens:
            return False
        self._tokens -= 1.0
        self._taken[owner] = taken + 1.0
        return True

    def _refill(self) -> None:
        """Add new tokens, and reduce what each owner has taken by as many."""
        now = self._clock.monotonic()
        gained, self._at = (now - self._at) * self._rate, now
        self._tokens = min(self._burst, self._tokens + gained)
        self._taken = {owner: left for owner, taken in self._taken.items() if (left := taken - gained) > 0.0}


CONTROLLER = "torpor.dev/triggerer"
BACKLOG = 1000
BURST_SECONDS = 5.0

log = logging.getLogger(__name__)


class _QueuedEvent(NamedTuple):
    body: Mapping[str, Any]
    paid: bool

    @property
    def namespace(self) -> str:
        return str(self.body["regarding"]["namespace"])


class EventRecorder:
    """Posts one Event at a time; `dropped` counts those without room."""

    def __init__(self, api: Api, settings: Settings) -> None:
        self._api = api
        self._identity = settings.identity
        self._rate = settings.event_rate
        self._budget = SharedTokenBucket(api.clock, rate=self._rate, burst=BURST_SECONDS * self._rate)
        self._queue: RoundRobinQueue[_QueuedEvent] = RoundRobinQueue(BACKLOG)
        self._limits = EventLimits(rate=self._rate, burst=BACKLOG)

    @property
    def dropped(self) -> int:
        """Events that were dropped since the start."""
        return self._limits.dropped

    def normal(self, wait: TriggerWait, reason: str, message: str) -> None:
        """Record an Event of type Normal, unless the wait is a source of a Schedule."""
        if not wait.of_schedule:
            self._put(self._body(_reference(wait), reason, message, "Normal"), at_once=True)

    def warning(self, wait: TriggerWait, reason: str, message: str) -> None:
        """Record an Event of type Warning."""
        self._put(self._body(_reference(wait), reason, message, "Warning"), at_once=False)

    def warn_unreadable(self, *, namespace: str, name: str, uid: str, message: str) -> None:
        """Record a Warning on a TaskRun that cannot be parsed."""
        regarding = events.reference(TASKRUNS, namespace=namespace, name=name, uid=uid)
        self._put(self._body(regarding, Reason.STATUS_INVALID, message, "Warning"), at_once=False)

    async def run(self) -> Never:
        """Post Events until cancelled."""
        while True:
            event = await self._queue.get()
            while not event.paid and not self._budget.take(event.namespace):
                await self._api.clock.sleep(1.0 / self._rate)
            await self._post(event.body)

    def _put(self, body: Mapping[str, Any], *, at_once: bool) -> None:
        """Queue an Event within the limits. `at_once`: post it without waiting for the rate, or drop it."""
        key, now = event_identity(body), self._api.clock.monotonic()
        decision = self._limits.admit(key, now)
        if decision.verdict is Verdict.POST:
            event = _QueuedEvent(events.with_similar(body, decision.similar), at_once)
            paid = not at_once or self._budget.take(key.namespace)
            if not paid or not self._queue.put(key.namespace, event):
                self._limits.withdraw(key)
                self._limits.drop(key.namespace)
        if self._rate > 0.0 and (report := self._limits.report(now)) is not None:
            log.info("%s", report)

    async def _post(self, body: Mapping[str, Any]) -> None:
        try:
            await events.post(self._api, body)
        except errors.ApiError as error:
            regarding = body["regarding"]
            log.info("%s/%s: failed to post an Event: %s", regarding["namespace"], regarding["name"], error.message)
        except Exception:
            log.exception("Failed to post an Event")

    def _body(
        self, regarding: Mapping[str, str], reason: str, message: str, kind: Literal["Normal", "Warning"]
    ) -> Mapping[str, Any]:
        return events.build(
            regarding,
            reason=reason,
            message=message,
            type=kind,
            reporting_controller=CONTROLLER,
            reporting_instance=self._identity,
            now=self._api.clock.now(),
        )


def _reference(wait: TriggerWait) -> Mapping[str, str]:
    return events.reference(TASKRUNS, namespace=wait.namespace, name=wait.name, uid=wait.segment_id.uid)
