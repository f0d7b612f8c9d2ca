"""The limits of writes and Events that all kinds of one process share."""

from dataclasses import dataclass
from typing import Self

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.events import EventPoster
from torpor_kubernetes.fairness.event_limits import EventLimits
from torpor_kubernetes.fairness.write_queue import WriteQueue

from torpor_operator.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteLimits:
    """The limits of one process. `queue` gives each write its place."""

    queue: WriteQueue
    events: EventPoster

    @classmethod
    def build(cls, api: Api, settings: Settings) -> Self:
        """Build the limits of the settings."""
        rate, burst = settings.namespace_write_rate, settings.namespace_write_burst
        limits = EventLimits(rate=settings.namespace_event_rate, burst=settings.namespace_event_burst)
        return cls(
            queue=WriteQueue(api.clock, places=settings.apply_concurrency, rate=rate, burst=burst),
            events=EventPoster(api, limits),
        )
