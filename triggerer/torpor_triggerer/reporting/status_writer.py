"""Writes the outcome of a wait: one fenced patch, repeated only where nobody knows whether it was carried out.

Losing the race is success: another triggerer fired, or the wait was cancelled. The Event that tells of it follows the
write, never precedes it, and nothing waits for it.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable

from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import TASKRUNS
from torpor_wire import transitions
from torpor_wire.backoff import Backoff
from torpor_wire.reason import Reason
from torpor_wire.transitions import Patch

from torpor_triggerer.model import outcome as outcomes
from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.model.outcome import Cancelled, Done, Failed, Fired, Outcome, Skipped, TimedOut
from torpor_triggerer.reporting.events import Notices
from torpor_triggerer.reporting.metrics import Metrics

RETRY = Backoff(first=0.2, cap=10.0)
RETRY_FORBIDDEN = Backoff(first=1.0, cap=60.0)
HELD = Backoff(first=5.0, cap=5.0)
"""How long one that tries again keeps its place after a failure, where nobody gets through: so thousands that are due
ask no more often than as many as may write at a time. First tries have places of their own, so that what fails for
reasons of its own holds up nobody else."""

log = logging.getLogger(__name__)


class Reporter:
    """One for a process: it bounds how many writes are under way."""

    def __init__(self, api: Api, notices: Notices, metrics: Metrics, *, concurrency: int) -> None:
        self._api = api
        self._notices = notices
        self._metrics = metrics
        self._concurrency = concurrency
        self._room = asyncio.Semaphore(concurrency)
        self._again = asyncio.Semaphore(concurrency)
        self._failures = 0

    async def report(self, wait: Wait, outcome: Outcome, left: Callable[[], bool], *, due: float | None = None) -> None:
        """Write it, until it is written or there is nothing to write: `left` says the TaskRun no longer waits.

        `due` is the moment at which it should have been there, in seconds since the epoch.
        """
        for tries in itertools.count():
            if left():
                return
            # Anew for each try: the policy takes no moment that is long past.
            patch = outcomes.patch(wait, outcome, self._api.clock.now())
            try:
                await self._write(wait, patch, again=tries > 0)
            except (errors.LostRace, errors.NotFound) as error:
                log.info("the wait was over already: %s", error.message)
                self._metrics.lost(wait)
                return
            except errors.Refused as error:
                await self._refused(wait, outcome, error, left)
                return
            except (errors.Unavailable, errors.Conflict) as error:
                log.warning("cannot be written, trying again: %s", error.message)
                await self._pause(RETRY, tries + 1, error.retry_after)
            except errors.ApiError as error:
                await self._forbidden(wait, error, tries)
            else:
                self._metrics.ended(wait, outcome, None if due is None else self._api.clock.now() - due)
                self._written(wait, outcome)
                return

    async def explain(self, wait: Wait, reason: Reason, message: str) -> None:
        """Say on the TaskRun what it still waits for, best effort: the next sentence says more."""
        patch = transitions.explain(wait.pin, reason=reason, message=message)
        try:
            await self._api.patch(TASKRUNS, wait.namespace, wait.name, patch, subresource="status")
        except errors.ApiError as error:
            log.debug("not explained: %s", error.message)

    async def _write(self, wait: Wait, patch: Patch, *, again: bool) -> None:
        async with self._again if again else self._room:
            try:
                await self._api.patch(TASKRUNS, wait.namespace, wait.name, patch, subresource="status")
            except errors.Unavailable as error:
                self._failures += 1
                if again and self._failures > self._concurrency:
                    await self._pause(HELD, 1, error.retry_after)
                raise
            self._failures = 0

    def _written(self, wait: Wait, outcome: Outcome) -> None:
        match outcome:
            case Fired() | Done():
                log.info("fired")
                self._notices.say(wait, Reason.FIRED, f"the wait is over: {wait.subject}")
            case Skipped(message=message):
                log.info("skipped: %s", message)
                self._notices.say(wait, Reason.SKIPPED, message)
            case TimedOut():
                message = f"{wait.subject} did not happen before the deadline, and the task goes on"
                log.info("%s", message)
                self._notices.say(wait, Reason.TIMED_OUT, message)
            case Cancelled():
                log.info("cancelled")
            case Failed(reason=reason, message=message):
                log.info("%s: %s", reason, message)
                self._notices.warn(wait, reason, message)

    async def _refused(self, wait: Wait, outcome: Outcome, error: errors.Refused, left: Callable[[], bool]) -> None:
        """The server will never take this write, so the TaskRun fails with its reasons rather than wait for ever."""
        log.error("refused: %s", error.message)
        if not isinstance(outcome, Failed):
            failed = Failed(
                reason=Reason.REPORT_REFUSED, message=f"the outcome of the wait was refused: {error.message}"
            )
            await self.report(wait, failed, left)

    async def _forbidden(self, wait: Wait, error: errors.ApiError, tries: int) -> None:
        """An API server that has just started forbids everything for a moment; else somebody may put it right."""
        log.error("the triggerer may not write it: %s", error.message)
        if tries == 0:
            self._notices.warn(wait, Reason.REPORT_REFUSED, f"the triggerer may not write it: {error.message}")
        await self._pause(RETRY_FORBIDDEN, tries + 1, error.retry_after)

    async def _pause(self, backoff: Backoff, failures: int, retry_after: float | None) -> None:
        await self._api.clock.sleep(max(backoff.delay(failures, self._api.jitter()), retry_after or 0.0))
