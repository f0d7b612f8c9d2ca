"""Polls one source for all waits on it, in rounds, with one task.

A round polls all waits that are due, in as few batches as their limits allow. A failure counts as the source's if
nothing else was answered since the last failure, else as that of the batch: a wait that spoils its query ends up alone,
and an unavailable server does not scatter its waits.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from torpor.triggers.services import Services
from torpor_api.timing import Clock

from torpor_triggerer.batching import batches, results
from torpor_triggerer.batching.batches import Member
from torpor_triggerer.model.outcome import error_text

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


class Source:
    """`kind`: the class of its triggers. `expel` takes over a wait that is polled alone from now on."""

    def __init__(self, kind: Any, context: PollContext, expel: Callable[["Source", Member], None]) -> None:
        self.kind = kind
        self.context = context
        self.members: dict[Member, None] = {}
        self.closed = False
        self.limit = max(1, int(getattr(kind, "poll_at_once", AT_ONCE)))
        self._clock = context.clock
        self._expel = expel
        self._sleeper: asyncio.Future[None] | None = None
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
        elif self._sleeper is not None:
            self._sleeper.cancel()

    async def run(self) -> None:
        """Poll until no wait is left."""
        try:
            async with AsyncExitStack() as until:
                services = self.context.services_for(until)
                while self.members:
                    await self._round(services)
                    if self.members:
                        await self._rest()
                self.closed = True
        except Exception as error:
            log.exception("Failed to poll a source of %s", self.kind.__name__)
            for member in self.members:
                results.fail(member.answer, error)
        finally:
            self.closed = True

    async def _round(self, services: Services) -> None:
        self._began, self._newcomers = self._clock.monotonic(), False
        polled: list[Member] = []
        left = batches.make_batches(batches.due(self.members, self._clock.now()))
        while left:
            batch = [one for one in left.pop(0) if one in self.members]
            if not batch:
                continue
            polled += batch
            began = self._clock.monotonic()
            answers = await results.poll(self.kind, [one.trigger for one in batch], services)
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
        for one in blamed:
            results.show_error(one.trigger, error)
        if isinstance(error, TimeoutError):
            batches.shrink(batch if is_theirs else tuple(self.members), len(batch) // 2)
        if not is_theirs:
            self._failures += 1
            self._error = error
        return False

    def _isolate(self, member: Member) -> None:
        del self.members[member]
        member.record_look(self._clock.now(), self._factor())
        self._expel(self, member)

    def _record(self, polled: Iterable[Member]) -> None:
        now, factor = self._clock.now(), self._factor()
        for one in polled:
            if one in self.members:
                one.record_look(now, factor)

    async def _deliver(self, batch: Sequence[Member], answers: Sequence[Any]) -> None:
        delivered, traces = 0, {id(one): one.__traceback__ for one in answers if isinstance(one, Exception)}
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

    async def _rest(self) -> None:
        """Sleep until a wait is due or a new one joins."""
        if self._error is not None:
            await self._back_off(self._error)
            return
        pause = min(one.next_at for one in self.members) - self._clock.now()
        if pause > 0 and not self._newcomers:
            await self._nap(pause)
        since = self._clock.monotonic() - self._began
        if self._newcomers and since < GATHER_SECONDS:
            await self._clock.sleep(GATHER_SECONDS - since)

    async def _back_off(self, error: OSError) -> None:
        if self._failures == 1:
            log.info("No answer for %d waits of %s: %s", len(self.members), self.kind.__name__, error_text(error))
        interval = batches.fastest(self.members)
        pause = batches.backoff(interval, self._failures, results.retry_after(error), self.context.jitter())
        for one in self.members:
            one.next_at = one.looks.next_at = self._clock.now() + pause
        await self._clock.sleep(pause)

    async def _nap(self, seconds: float) -> None:
        """A sleep that ends when a wait joins."""
        sleeper = self._sleeper = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait((sleeper,))
        finally:
            self._sleeper = None
            sleeper.cancel()
        if not sleeper.cancelled():
            sleeper.result()

    def _factor(self) -> float:
        return 0.9 + 0.2 * self.context.jitter()
