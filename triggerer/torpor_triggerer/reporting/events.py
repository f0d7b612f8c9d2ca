"""Events on TaskRuns: for people, best effort, within a budget, and never in the way of a fire.

What is well is told at once or never, what went wrong waits for its turn, namespace by namespace. What there is no
room for is counted.
"""

import logging
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Never

from torpor_api.client import errors, events
from torpor_api.client.api import Api
from torpor_api.client.resources import TASKRUNS
from torpor_api.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.fairness.fair_queue import FairQueue
from torpor_triggerer.fairness.namespace_shares import GENEROSITY
from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.settings import Settings


class Budget:
    """`rate` tokens a second, `burst` at most at once; it begins full."""

    def __init__(self, clock: Clock, *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = clock.monotonic()
        self._taken: dict[str, float] = {}

    @classmethod
    def of_sentences(cls, clock: Clock, rate: float) -> "Budget":
        """For what is said on TaskRuns: a second's worth at once; a rate of 0 is none at all."""
        return cls(clock, rate=rate, burst=max(rate, 1.0) if rate > 0 else 0.0)

    def take(self, owner: str = "") -> bool:
        """Whether there was a token for an owner; it is gone then."""
        self._refill()
        taken = self._taken.get(owner, 0.0)
        if self._tokens < 1.0 or taken >= GENEROSITY * self._tokens:
            return False
        self._tokens -= 1.0
        self._taken[owner] = taken + 1.0
        return True

    def _refill(self) -> None:
        """What an owner has taken is forgotten as fast as tokens come."""
        now = self._clock.monotonic()
        gained, self._at = (now - self._at) * self._rate, now
        self._tokens = min(self._burst, self._tokens + gained)
        self._taken = {owner: left for owner, taken in self._taken.items() if (left := taken - gained) > 0.0}


CONTROLLER = "torpor.dev/triggerer"
BACKLOG = 1000
BURST_SECONDS = 5.0
TELL_EVERY = 60.0

log = logging.getLogger(__name__)


class _Notice(NamedTuple):
    body: Mapping[str, Any]
    paid: bool

    @property
    def namespace(self) -> str:
        return str(self.body["regarding"]["namespace"])


class Notices:
    """Posts one at a time; `dropped` is how many it had no room for."""

    def __init__(self, api: Api, settings: Settings) -> None:
        self._api = api
        self._identity = settings.identity
        self._rate = settings.event_rate
        self._budget = Budget(api.clock, rate=self._rate, burst=BURST_SECONDS * self._rate)
        self._notices: FairQueue[_Notice] = FairQueue(BACKLOG)
        self._told_at = float("-inf")
        self.dropped = 0

    def say(self, wait: Wait, reason: str, message: str) -> None:
        """Tell that all is well."""
        if not self._budget.take(wait.namespace):
            self._drop()
            return
        self._put(self._body(_reference(wait), reason, message, "Normal"), paid=True)

    def warn(self, wait: Wait, reason: str, message: str) -> None:
        """Tell what went wrong."""
        self._put(self._body(_reference(wait), reason, message, "Warning"), paid=False)

    def warn_of(self, *, namespace: str, name: str, uid: str, message: str) -> None:
        """Tell that a TaskRun cannot be read."""
        regarding = events.reference(TASKRUNS, namespace=namespace, name=name, uid=uid)
        self._put(self._body(regarding, Reason.STATUS_INVALID, message, "Warning"), paid=False)

    async def run(self) -> Never:
        """Post, for ever."""
        while True:
            notice = await self._notices.get()
            while not notice.paid and not self._budget.take(notice.namespace):
                await self._api.clock.sleep(1.0 / self._rate)
            await self._post(notice.body)

    def _put(self, body: Mapping[str, Any], *, paid: bool) -> None:
        notice = _Notice(body, paid)
        if self._rate <= 0.0 or not self._notices.put(notice.namespace, notice):
            self._drop()

    def _drop(self) -> None:
        self.dropped += 1
        now = self._api.clock.monotonic()
        if self._rate > 0.0 and now >= self._told_at + TELL_EVERY:
            log.info("%d Events had no room and were dropped since the start", self.dropped)
            self._told_at = now

    async def _post(self, body: Mapping[str, Any]) -> None:
        try:
            await events.post(self._api, body)
        except errors.ApiError as error:
            regarding = body["regarding"]
            log.info("%s/%s: no Event: %s", regarding["namespace"], regarding["name"], error.message)
        except Exception:
            log.exception("an Event cannot be posted")

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


def _reference(wait: Wait) -> Mapping[str, str]:
    return events.reference(TASKRUNS, namespace=wait.namespace, name=wait.name, uid=wait.turn.uid)
