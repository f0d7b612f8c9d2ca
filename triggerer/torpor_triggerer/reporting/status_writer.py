"""Writes the outcome of a wait: one conditional patch, repeated only if it is unknown whether it was applied.

A lost race is a success: another triggerer fired, or the wait was cancelled. The Event follows the write; nothing waits
for it.
"""

import itertools
import logging
from collections.abc import Callable

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_kubernetes.fairness.write_queue import WriteQueue
from torpor_wire import transitions
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_triggerer.model import outcome as outcomes
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Cancelled, Done, Failed, Fired, Outcome, Skipped, TimedOut
from torpor_triggerer.reporting.events import EventRecorder
from torpor_triggerer.reporting.metrics import TriggererMetrics
from torpor_triggerer.settings import Settings

RETRY = Backoff(first=0.2, cap=10.0)
RETRY_FORBIDDEN = Backoff(first=1.0, cap=60.0)
HELD = Backoff(first=5.0, cap=5.0)
"""How long a failed retry keeps its slot while all writes fail, so that thousands of waits do not retry at once.

First tries have slots of their own, so a write that fails for reasons of its own delays no other."""

log = logging.getLogger(__name__)


class StatusWriter:
    """One for a process: it bounds the concurrent writes, and namespaces take turns."""

    def __init__(self, api: Api, events: EventRecorder, metrics: TriggererMetrics, settings: Settings) -> None:
        self._api = api
        self._events = events
        self._metrics = metrics
        self._concurrency = settings.concurrency
        self._first_tries = _queue(api, settings)
        self._retries = _queue(api, settings)
        self._failures = 0

    async def write(
        self, wait: TriggerWait, outcome: Outcome, released: Callable[[], bool], *, due: float | None = None
    ) -> None:
        """Write the outcome, until it is written or `released` returns True.

        `due` is when the event occurred, in seconds since the epoch.
        """
        for tries in itertools.count():
            if released():
                return
            try:
                sent = await self._patch(wait, outcome, released, again=tries > 0)
            except (errors.LostRace, errors.NotFound) as error:
                log.info("The wait has already ended: %s", error.message)
                self._metrics.lost(wait)
                return
            except errors.Refused as error:
                await self._on_invalid(wait, outcome, error, released)
                return
            except (errors.ApiUnavailable, errors.Conflict) as error:
                log.warning("Failed to write the outcome; retrying: %s", error.message)
                await self._pause(RETRY, tries + 1, error.retry_after)
            except errors.ApiError as error:
                await self._on_forbidden(wait, error, tries)
            else:
                if sent:
                    self._metrics.ended(wait, outcome, None if due is None else self._api.clock.now() - due)
                    self._on_written(wait, outcome)
                return

    async def explain(self, wait: TriggerWait, reason: Reason, message: str) -> None:
        """Write a progress message to the TaskRun, best effort."""
        patch = transitions.explain(wait.pin, reason=reason, message=message)
        try:
            await self._api.patch(TASKRUNS, wait.namespace, wait.name, patch, subresource="status")
        except errors.ApiError as error:
            log.debug("Failed to write progress: %s", error.message)

    async def _patch(self, wait: TriggerWait, outcome: Outcome, released: Callable[[], bool], *, again: bool) -> bool:
        """Send the patch when it is its turn; False if the wait was released before that.

        The resumption of a task precedes events of Schedules.
        """
        queue = self._retries if again else self._first_tries
        async with queue.place(wait.namespace, urgent=not wait.of_schedule):
            if released():
                return False
            # A new patch for each try: the admission policy rejects old times.
            patch = outcomes.patch(wait, outcome, self._api.clock.now())
            try:
                await self._api.patch(TASKRUNS, wait.namespace, wait.name, patch, subresource="status")
            except errors.ApiUnavailable as error:
                self._failures += 1
                if again and self._failures > self._concurrency:
                    await self._pause(HELD, 1, error.retry_after)
                raise
            self._failures = 0
        return True

    def _on_written(self, wait: TriggerWait, outcome: Outcome) -> None:
        match outcome:
            case Fired() | Done():
                log.info("fired")
                self._events.normal(wait, Reason.FIRED, f"the wait is over: {wait.subject}")
            case Skipped(message=message):
                log.info("skipped: %s", message)
                self._events.normal(wait, Reason.SKIPPED, message)
            case TimedOut():
                message = f"the deferral timed out while waiting {wait.awaited}; the task goes on"
                log.info("%s", message)
                self._events.normal(wait, Reason.TIMED_OUT, message)
            case Cancelled():
                log.info("cancelled")
            case Failed(reason=reason, message=message):
                log.info("%s: %s", reason, message)
                self._events.warning(wait, reason, message)

    async def _on_invalid(
        self, wait: TriggerWait, outcome: Outcome, error: errors.Refused, released: Callable[[], bool]
    ) -> None:
        """Fail the TaskRun with the server's reasons: the server will never accept this write."""
        log.error("The API server rejected the outcome: %s", error.message)
        if not isinstance(outcome, Failed):
            failed = Failed(
                reason=Reason.REPORT_REFUSED,
                message=f"the API server rejected the outcome of the wait: {error.message}",
            )
            await self.write(wait, failed, released)

    async def _on_forbidden(self, wait: TriggerWait, error: errors.ApiError, tries: int) -> None:
        """Retry: an API server that is starting forbids everything, and a role can be fixed."""
        log.error("The triggerer may not write the outcome: %s", error.message)
        if tries == 0:
            self._events.warning(
                wait, Reason.REPORT_REFUSED, f"the triggerer may not write the outcome: {error.message}"
            )
        await self._pause(RETRY_FORBIDDEN, tries + 1, error.retry_after)

    async def _pause(self, backoff: Backoff, failures: int, retry_after: float | None) -> None:
        await self._api.clock.sleep(max(backoff.delay(failures, self._api.jitter()), retry_after or 0.0))


def _queue(api: Api, settings: Settings) -> WriteQueue:
    return WriteQueue(
        api.clock,
        places=settings.concurrency,
        rate=settings.namespace_write_rate,
        burst=settings.namespace_write_burst,
    )
