"""What the writers of one process share: an order among namespaces, and limits of Events."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from torpor_kubernetes.client import errors, events
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.fairness.event_limits import EventLimits, Verdict, event_identity
from torpor_kubernetes.fairness.write_queue import WriteQueue

_LOG = logging.getLogger(__name__)


class EventPoster:
    """Posts Events that are within the limits. The others are dropped, counted, and reported once a minute."""

    def __init__(self, api: Api, limits: EventLimits) -> None:
        self._api = api
        self._limits = limits

    @property
    def dropped(self) -> int:
        """Events that were dropped since the start."""
        return self._limits.dropped

    def now(self) -> float:
        """Seconds since the epoch, for the time of an Event."""
        return self._api.clock.now()

    async def post(self, body: Mapping[str, Any]) -> None:
        """Post an Event, unless it is above a limit or was posted before. Raises errors.ApiError."""
        key, now = event_identity(body), self._api.clock.monotonic()
        decision = self._limits.admit(key, now)
        if decision.verdict is Verdict.POST:
            try:
                await events.post(self._api, events.with_similar(body, decision.similar))
            except BaseException:
                self._limits.withdraw(key)
                raise
        elif (report := self._limits.report(now)) is not None:
            _LOG.warning("%s", report)

    async def try_post(self, body: Mapping[str, Any]) -> None:
        """Post an Event. One that cannot be posted is logged and lost."""
        try:
            await self.post(body)
        except errors.ApiError as error:
            regarding = body["regarding"]
            _LOG.warning("%s/%s: cannot post an Event: %s", regarding["namespace"], regarding["name"], error.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteLimits:
    """The limits of one process. `queue` gives each write its place."""

    queue: WriteQueue
    events: EventPoster

    @classmethod
    def build(  # noqa: PLR0913 - the five settings
        cls, api: Api, *, places: int, write_rate: float, write_burst: float, event_rate: float, event_burst: float
    ) -> Self:
        """Build them. Rates are tokens a second for each namespace."""
        return cls(
            queue=WriteQueue(api.clock, places=places, rate=write_rate, burst=write_burst),
            events=EventPoster(api, EventLimits(rate=event_rate, burst=event_burst)),
        )
