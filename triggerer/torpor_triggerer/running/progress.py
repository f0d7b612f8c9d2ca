"""Writes progress messages of waits to their TaskRuns and to the log: the last poll's result, the next poll's time.

Each write is a change that clients watch. So all waits together have a few a second, and each wait has one a minute at
most: if the result changed, or after ten minutes if only the number of tries did. Namespaces take turns.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Never

from torpor_kubernetes.timing import Clock
from torpor_wire import times

from torpor_triggerer.reporting.events import SharedTokenBucket
from torpor_triggerer.running.state import LastProgress, WaitRun

EVERY = 1.0
CHECKED_AT_ONCE = 1000
"""Waits in one pass, a few microseconds each."""
FIRST_AFTER = 10.0
CHANGED_AFTER = 60.0
COUNTED_AFTER = 600.0

log = logging.getLogger(__name__)


class ProgressReporter:
    """Visits all runs in turn; `write` writes one message, best effort."""

    def __init__(
        self,
        clock: Clock,
        budget: SharedTokenBucket,
        *,
        runs: Callable[[], Collection[WaitRun]],
        write: Callable[[WaitRun, str], Awaitable[None]],
    ) -> None:
        self._clock = clock
        self._budget = budget
        self._runs = runs
        self._write = write
        self._lines: dict[str, deque[WaitRun]] = {}

    async def run(self) -> Never:
        """Write messages until cancelled."""
        while True:
            await self._clock.sleep(EVERY)
            await self._pass()

    async def _pass(self) -> None:
        self._refill()
        for _ in range(min(CHECKED_AT_ONCE, sum(map(len, self._lines.values())))):
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
            await self._report(run, look)

    def _refill(self) -> None:
        """Start the next round of each namespace whose round is complete; namespaces do not wait for each other."""
        lines: dict[str, deque[WaitRun]] = {}
        for run in self._runs():
            if run.packed.namespace not in self._lines:
                lines.setdefault(run.packed.namespace, deque()).append(run)
        self._lines |= lines

    def _is_due(self, run: WaitRun, look: str) -> bool:
        now, last = self._clock.now(), run.last_progress
        if not look or run.is_ending or now < run.packed.deferred_at + FIRST_AFTER:
            return False
        if last is None:
            return True
        changed = hash(look) != last.look
        counted = run.poll_stats.tries != last.tries
        return (changed and now >= last.at + CHANGED_AFTER) or (counted and now >= last.at + COUNTED_AFTER)

    async def _report(self, run: WaitRun, look: str) -> None:
        now = self._clock.now()
        run.last_progress = LastProgress(now, hash(look), run.poll_stats.tries)
        text = run.wait_log.redact(message(run, look, now))
        with run.wait_log.active():
            log.info("%s", text)
        try:
            await self._write(run, text)
        except Exception:
            log.exception("%s/%s: failed to write progress", run.packed.namespace, run.packed.name)


def message(run: WaitRun, look: str, now: float) -> str:
    """Return the progress message: what the wait is for, the last result, the number of tries, and the times of stats.

    The message is read minutes later, so its times are absolute.
    """
    stats = run.poll_stats
    parts = ["; ".join(words for words in (f"Waiting {run.wait.awaited}: {look}", run.asks) if words)]
    if stats.tries:
        parts.append(f"{stats.tries} {'try' if stats.tries == 1 else 'tries'}")
    parts.append(f"{'last' if stats.tries else 'seen'} at {_clock(stats.last_at or now)}")
    if stats.next_at > now:
        parts.append(f"next at {_clock(stats.next_at)}")
    return ", ".join(parts)


def _clock(moment: float) -> str:
    """The moment in UTC, to the second."""
    return f"{times.rfc3339(moment)[:19]}Z"
