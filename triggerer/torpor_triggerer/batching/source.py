"""One source and all who wait on it here: polled in rounds by one task, for as long as there is anybody.

A round asks for all whose turn it is, in as few calls as their limits allow (`crowd`). What fails is the source's
trouble where nothing else was answered since the last trouble, else that of those who were asked for: so one wait that
spoils its query ends up by itself, and a server that is down does not scatter those who wait on it.
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
"""Between two rounds for those who have just come, so that thousands who come one by one are a few queries."""
AT_ONCE = 1000
INSTANT = 0.5
"""A poll that is refused as too large within so many seconds tells nothing of how long one may take."""
SLICE = 100
"""How many events are handed out before others have the loop."""
ERROR = 10
"""As how many an error counts there, whose traceback is written."""

log = logging.getLogger(__name__)


class PollContext(NamedTuple):
    """How a source is polled. `owner`: whose waits may share it; `lend`: services for it, until a stack is unwound."""

    owner: tuple[str, str]
    clock: Clock
    jitter: Callable[[], float]
    services_for: Callable[[AsyncExitStack], Services]


class Source:
    """`kind`: the class of its triggers; `expel` takes a wait that is to be asked for by itself from now on."""

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
        self._is_well = False
        self._too_long = float("inf")
        self._failures = 0
        self._trouble: OSError | None = None

    def join(self, member: Member) -> None:
        """Ask for a wait too: at once, unless the source is left in peace."""
        member.source, member.limit = self, min(member.limit, self.limit)
        self.members[member] = None
        self._newcomers = True
        if self._trouble is not None:
            results.say(member.trigger, self._trouble)
        elif self._sleeper is not None:
            self._sleeper.cancel()

    async def run(self) -> None:
        """Poll until nobody is left."""
        try:
            async with AsyncExitStack() as until:
                services = self.context.services_for(until)
                while self.members:
                    await self._round(services)
                    if self.members:
                        await self._rest()
                self.closed = True
        except Exception as error:
            log.exception("a source of %s cannot be polled", self.kind.__name__)
            for member in self.members:
                results.fail(member.answer, error)
        finally:
            self.closed = True

    async def _round(self, services: Services) -> None:
        self._began, self._newcomers = self._clock.monotonic(), False
        asked: list[Member] = []
        left = batches.make_batches(batches.due(self.members, self._clock.now()))
        while left:
            batch = [one for one in left.pop(0) if one in self.members]
            if not batch:
                continue
            asked += batch
            began = self._clock.monotonic()
            found = await results.of(self.kind, [one.trigger for one in batch], services)
            took = self._clock.monotonic() - began
            match found:
                case PermissionError():
                    await self._hand_out(batch, [found] * len(batch))
                case OSError():
                    if isinstance(found, TimeoutError) and took > INSTANT:
                        self._too_long = took
                    if not self._bear(batch, found):
                        break
                case Exception() if len(batch) > 1:
                    log.info("a poll for %d waits of %s fails: %s", len(batch), self.kind.__name__, error_text(found))
                    left[:0] = batches.halves(batch)
                case Exception():
                    await self._hand_out(batch, [found])
                case _:
                    await self._hand_out(batch, found)
                    self._recover(batch, took)
        self._note(asked)

    def _recover(self, batch: Sequence[Member], took: float) -> None:
        self._is_well, self._failures, self._trouble = True, 0, None
        if took < self._too_long / 2:  # else the next one that is larger would be asked for in vain
            batches.grow(batch, self.limit)

    def _bear(self, batch: Sequence[Member], trouble: OSError) -> bool:
        """Take no answer for what it is. Whether the others are still to be asked for in this round."""
        is_theirs, self._is_well = self._is_well, False
        if is_theirs and len(batch) == 1 and batch[0].limit == 1 and len(self.members) > 1:
            results.say(batch[0].trigger, trouble)
            self._part(batch[0])
            return True
        is_theirs = is_theirs and isinstance(trouble, TimeoutError)
        blamed: Iterable[Member] = batch if is_theirs else self.members
        for one in blamed:
            results.say(one.trigger, trouble)
        if isinstance(trouble, TimeoutError):
            batches.shrink(batch if is_theirs else tuple(self.members), len(batch) // 2)
        if not is_theirs:
            self._failures += 1
            self._trouble = trouble
        return False

    def _part(self, member: Member) -> None:
        del self.members[member]
        member.record_look(self._clock.now(), self._factor())
        self._expel(self, member)

    def _note(self, asked: Iterable[Member]) -> None:
        now, factor = self._clock.now(), self._factor()
        for one in asked:
            if one in self.members:
                one.record_look(now, factor)

    async def _hand_out(self, batch: Sequence[Member], found: Sequence[Any]) -> None:
        told, traces = 0, {id(one): one.__traceback__ for one in found if isinstance(one, Exception)}
        for member, answer in zip(batch, found, strict=True):
            if answer is None or member not in self.members:
                continue
            del self.members[member]
            if isinstance(answer, Exception):  # perhaps many's: each raise would add to its trace
                answer.with_traceback(traces[id(answer)])
            results.tell(member.answer, answer)
            told += ERROR if isinstance(answer, Exception) else 1
            if told >= SLICE:
                told = 0
                await asyncio.sleep(0)

    async def _rest(self) -> None:
        """Until it is somebody's turn, or somebody comes."""
        if self._trouble is not None:
            await self._leave_in_peace(self._trouble)
            return
        pause = min(one.next_at for one in self.members) - self._clock.now()
        if pause > 0 and not self._newcomers:
            await self._nap(pause)
        since = self._clock.monotonic() - self._began
        if self._newcomers and since < GATHER_SECONDS:
            await self._clock.sleep(GATHER_SECONDS - since)

    async def _leave_in_peace(self, trouble: OSError) -> None:
        if self._failures == 1:
            log.info("no answer to %d waits of %s: %s", len(self.members), self.kind.__name__, error_text(trouble))
        interval = batches.fastest(self.members)
        pause = batches.backoff(interval, self._failures, results.retry_after(trouble), self.context.jitter())
        for one in self.members:
            one.next_at = one.looks.next_at = self._clock.now() + pause
        await self._clock.sleep(pause)

    async def _nap(self, seconds: float) -> None:
        """A sleep that ends where somebody comes."""
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
