"""What waits still wait for, said on their TaskRuns and in the log: what the last look found, and when the next one is.

Each write is a change of the object that others watch, so all waits together have a few a second, and each has one a
minute at most: where its last look found something else, or after some minutes, where only the tries were counted on.
Namespaces take turns, so that one with very many waits does not keep the others silent.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Never

from torpor_api.timing import Clock
from torpor_wire import times

from torpor_triggerer.reporting.events import Budget
from torpor_triggerer.running.state import LastProgress, Run

EVERY = 1.0
LOOKED_AT = 1000
"""How many waits are looked at in one go, a few microseconds each."""
FIRST_AFTER = 10.0
AGAIN_AFTER = 60.0
COUNTED_AFTER = 600.0

log = logging.getLogger(__name__)


class Progress:
    """Goes round all runs; `tell` writes one sentence, best effort."""

    def __init__(
        self,
        clock: Clock,
        budget: Budget,
        *,
        runs: Callable[[], Collection[Run]],
        tell: Callable[[Run, str], Awaitable[None]],
    ) -> None:
        self._clock = clock
        self._budget = budget
        self._runs = runs
        self._tell = tell
        self._lines: dict[str, deque[Run]] = {}

    async def run(self) -> Never:
        """Tell, for ever."""
        while True:
            await self._clock.sleep(EVERY)
            await self._go_on()

    async def _go_on(self) -> None:
        self._refill()
        for _ in range(min(LOOKED_AT, sum(map(len, self._lines.values())))):
            namespace = next(iter(self._lines))
            line = self._lines.pop(namespace)
            run = line.popleft()
            if line:
                self._lines[namespace] = line  # as the last
            look = run.last_look
            if not self._is_due(run, look):
                continue
            if not self._budget.take(namespace):
                self._lines.setdefault(namespace, line).appendleft(run)
                return
            await self._say(run, look)

    def _refill(self) -> None:
        """Go round the waits of a namespace again once all were looked at; those of others do not wait for it."""
        found: dict[str, deque[Run]] = {}
        for run in self._runs():
            if run.wait.namespace not in self._lines:
                found.setdefault(run.wait.namespace, deque()).append(run)
        self._lines |= found

    def _is_due(self, run: Run, look: str) -> bool:
        now = self._clock.now()
        if not look or run.left or run.reporting or run.verdict is not None or now < run.wait.deferred_at + FIRST_AFTER:
            return False
        if run.told is None:
            return True
        changed = hash(look) != run.told.look
        counted = run.looks.tries != run.told.tries
        return (changed and now >= run.told.at + AGAIN_AFTER) or (counted and now >= run.told.at + COUNTED_AFTER)

    async def _say(self, run: Run, look: str) -> None:
        now = self._clock.now()
        run.told = LastProgress(now, hash(look), run.looks.tries)
        said = run.page.black_out(sentence(run, look, now))
        with run.page.speaking():
            log.info("%s", said)
        try:
            await self._tell(run, said)
        except Exception:
            log.exception("%s/%s: what it waits for cannot be said", run.wait.namespace, run.wait.name)


def sentence(run: Run, look: str, now: float) -> str:
    """What is waited for, what was found, how often, when last, and when it is looked for again.

    The sentence stands for minutes: its times are moments, so that it reads as of when it was written.
    """
    looks = run.looks
    parts = ["; ".join(words for words in (f"Waiting {run.wait.awaited}: {look}", run.asks) if words)]
    if looks.tries:
        parts.append(f"{looks.tries} {'try' if looks.tries == 1 else 'tries'}")
    parts.append(f"{'last' if looks.tries else 'seen'} at {_clock(looks.last_at or now)}")
    if looks.next_at > now:
        parts.append(f"next at {_clock(looks.next_at)}")
    return ", ".join(parts)


def _clock(moment: float) -> str:
    """A moment to the second, in UTC."""
    return f"{times.rfc3339(moment)[:19]}Z"
