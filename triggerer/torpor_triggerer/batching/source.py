"""Polls one source for all waits on it, in rounds. Between two rounds it has no task.

A round polls all waits that are due, in as few batches as their limits allow. A failure counts as the source's if
nothing else was answered since the last failure, else as that of the batch: a wait that spoils its query ends up alone,
and an unavailable server does not scatter its waits.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, Protocol

from torpor.triggers.services import Services
from torpor.triggers.support import polling
from torpor_kubernetes.timing import Clock

from torpor_triggerer.batching import batches, results
from torpor_triggerer.batching.batches import Member
from torpor_triggerer.model.outcome import error_text
from torpor_triggerer.timers import Timer

GATHER_SECONDS = 0.25
"""The pause between rounds for new waits, so that thousands that arrive one by one need few queries."""
AT_ONCE = 1000
INSTANT = 0.5
"""A poll rejected as too large within so many seconds says nothing about how long a poll may take."""
SLICE = 100
"""Events delivered before other tasks run."""
ERROR = 10
"""The weight of an error in that count, since its traceback is formatted."""

log = logging.getLogger(__name__)


class PollContext(NamedTuple):
    """How a source is polled. `owner`: whose waits share it. `services_for`: its services until a stack is closed."""

    owner: tuple[str, str]
    clock: Clock
    jitter: Callable[[], float]
    services_for: Callable[[AsyncExitStack], Services]


class PollSchedule(Protocol):
    """Decides when sources are polled."""

    def hasten(self, source: "PollSource", moment: float) -> None:
        """Poll a source that rests no later than at a moment, monotonic."""

    def expel(self, source: "PollSource", member: Member) -> None:
        """Take over a wait that is polled alone from now on."""


class _OpenClients(AsyncExitStack):
    """The clients that a source keeps open from one round to the next."""

    @property
    def is_empty(self) -> bool:
        return not self._exit_callbacks  # type: ignore[attr-defined]


class PollSource:
    """`kind`: the class of its triggers. `timer`: for the next round, while it rests."""

    __slots__ = (
        "_began",
        "_clock",
        "_error",
        "_failures",
        "_healthy",
        "_newcomers",
        "_open_clients",
        "_schedule",
        "_services",
        "_too_long",
        "closed",
        "context",
        "kind",
        "limit",
        "members",
        "timer",
    )

    def __init__(self, kind: Any, context: PollContext, schedule: PollSchedule) -> None:
        self.kind = kind
        self.context = context
        self.members: dict[Member, None] = {}
        self.closed = False
        self.limit = max(1, int(getattr(kind, "poll_at_once", AT_ONCE)))
        self.timer: Timer[PollSource] | None = None
        self._clock = context.clock
        self._schedule = schedule
        self._open_clients: _OpenClients | None = None
        self._services: Services | None = None
        self._began = float("-inf")
        self._newcomers = False
        self._healthy = False
        self._too_long = float("inf")
        self._failures = 0
        self._error: OSError | None = None

    def join(self, member: Member) -> None:
        """Add a wait. It is polled at once, unless the source is backing off."""
        member.source, member.limit = self, min(member.limit, self.limit)
        self.members[member] = None
        self._newcomers = True
        if self._error is not None:
            results.show_error(member.trigger, self._error)
        elif self.timer is not None:
            self._schedule.hasten(self, self._began + GATHER_SECONDS)

    async def poll(self) -> float | None:
        """Poll the waits that are due. Return the seconds until the next round; None if the source is closed."""
        try:
            await self._round(self._open_services())
            if self.members:
                self._drop_unused_services()
                return self._pause()
        except asyncio.CancelledError:
            self.closed = True
            await self.release()
            raise
        except Exception as error:
            log.exception("Failed to poll a source of %s", self.kind.__name__)
            for member in self.members:
                results.fail(member.answer, error)
        self.closed = True
        return None

    @property
    def holds_clients(self) -> bool:
        """Whether `release` has something to do."""
        return self._open_clients is not None

    async def release(self) -> None:
        """Close the clients that the source keeps open from one round to the next."""
        clients, self._open_clients, self._services = self._open_clients, None, None
        if clients is not None:
            await clients.aclose()

    def _open_services(self) -> Services:
        if self._services is None:
            self._open_clients = _OpenClients()
            self._services = self.context.services_for(self._open_clients)
        return self._services

    def _drop_unused_services(self) -> None:
        """Keep no services between two rounds if no client of theirs stays open."""
        if self._open_clients is not None and self._open_clients.is_empty:
            self._open_clients = self._services = None

    async def _round(self, services: Services) -> None:
        self._began, self._newcomers = self._clock.monotonic(), False
        polled: list[Member] = []
        left = batches.make_batches(batches.due(self.members, self._clock.now()))
        while left:
            batch = [member for member in left.pop(0) if member in self.members]
            if not batch:
                continue
            polled += batch
            began = self._clock.monotonic()
            answers = await results.poll(self.kind, [member.trigger for member in batch], services)
            took = self._clock.monotonic() - began
            match answers:
                case PermissionError():
                    await self._deliver(batch, [answers] * len(batch))
                case OSError():
                    if isinstance(answers, TimeoutError) and took > INSTANT:
                        self._too_long = took
                    if not self._handle_error(batch, answers):
                        break
                case Exception() if len(batch) > 1:
                    log.info(
                        "A poll for %d waits of %s failed: %s", len(batch), self.kind.__name__, error_text(answers)
                    )
                    left[:0] = batches.halves(batch)
                case Exception():
                    await self._deliver(batch, [answers])
                case _:
                    await self._deliver(batch, answers)
                    self._recover(batch, took)
        self._record(polled)

    def _recover(self, batch: Sequence[Member], took: float) -> None:
        self._healthy, self._failures, self._error = True, 0, None
        if took < self._too_long / 2:  # a larger batch would time out
            batches.grow(batch, self.limit)

    def _handle_error(self, batch: Sequence[Member], error: OSError) -> bool:
        """Attribute a failed poll to the source or to the batch. Return whether the round continues."""
        is_theirs, self._healthy = self._healthy, False
        if is_theirs and len(batch) == 1 and batch[0].limit == 1 and len(self.members) > 1:
            results.show_error(batch[0].trigger, error)
            self._isolate(batch[0])
            return True
        is_theirs = is_theirs and isinstance(error, TimeoutError)
        blamed: Iterable[Member] = batch if is_theirs else self.members
        for member in blamed:
            results.show_error(member.trigger, error)
        if isinstance(error, TimeoutError):
            batches.shrink(batch if is_theirs else tuple(self.members), len(batch) // 2)
        if not is_theirs:
            self._failures += 1
            self._error = error
        return False

    def _isolate(self, member: Member) -> None:
        del self.members[member]
        member.record_poll(self._clock.now(), self._factor())
        self._schedule.expel(self, member)

    def _record(self, polled: Iterable[Member]) -> None:
        now, factor = self._clock.now(), self._factor()
        for member in polled:
            if member in self.members:
                member.record_poll(now, factor)

    async def _deliver(self, batch: Sequence[Member], answers: Sequence[Any]) -> None:
        delivered, traces = 0, {id(error): error.__traceback__ for error in answers if isinstance(error, Exception)}
        for member, answer in zip(batch, answers, strict=True):
            if answer is None or member not in self.members:
                continue
            del self.members[member]
            if isinstance(answer, Exception):  # perhaps many's: each raise would add to its trace
                answer.with_traceback(traces[id(answer)])
            results.deliver(member.answer, answer)
            delivered += ERROR if isinstance(answer, Exception) else 1
            if delivered >= SLICE:
                delivered = 0
                await asyncio.sleep(0)

    def _pause(self) -> float:
        """The seconds until a wait is due; `join` shortens them."""
        if self._error is not None:
            return self._back_off(self._error)
        if self._newcomers:
            return self._began + GATHER_SECONDS - self._clock.monotonic()
        return min(member.next_at for member in self.members) - self._clock.now()

    def _back_off(self, error: OSError) -> float:
        if self._failures == 1:
            log.info("No answer for %d waits of %s: %s", len(self.members), self.kind.__name__, error_text(error))
        interval = batches.fastest(self.members)
        pause = batches.backoff(interval, self._failures, results.retry_after(error), self.context.jitter())
        for member in self.members:
            member.next_at = member.poll_stats.next_at = self._clock.now() + pause
        return pause

    def _factor(self) -> float:
        return polling.vary(1.0, self.context.jitter())
