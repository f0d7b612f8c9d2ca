"""Completes a wait: from the decided outcome to the status patch, in this order.

1. `evaluate_event`: a task without a pod evaluates `failWhen` and `result` over its event.
2. `redacted`: secrets go; a failure gets the last log lines.
3. `LargeValueStore.store_large`: a value too large for the TaskRun goes to the archive. The result of a run in a run
   that is there already is copied.
4. `StatusWriter.write`: one conditional patch, then metrics and the Event.
5. `LogSender.add`: the log lines are queued for the archive.
"""

import logging
from dataclasses import dataclass

from torpor_kubernetes.timing import Clock
from torpor_wire.retry import Backoff

from torpor_triggerer.model import outcome as outcomes
from torpor_triggerer.model.outcome import Done, Fired, Outcome
from torpor_triggerer.model.task_result import Evaluate, evaluate_event, run_with_archived_result
from torpor_triggerer.reporting.log_sender import LogSender
from torpor_triggerer.reporting.status_writer import StatusWriter
from torpor_triggerer.running.state import WaitRun
from torpor_triggerer.services.archive import LargeValueStore

RETRY = Backoff(first=1.0, cap=60.0, jitter=0.0)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Writes outcomes; one for a process."""

    evaluate: Evaluate
    archive: LargeValueStore
    status_writer: StatusWriter
    log_sender: LogSender
    clock: Clock

    async def complete(self, run: WaitRun, outcome: Outcome) -> None:
        """Write the outcome, until it is written or not needed. No error may block a TaskRun forever."""
        run.reporting = True
        failures = 0
        while not run.released:
            try:
                final = await self._final(run, outcome)
                await self.status_writer.write(run.wait, final, lambda: run.released, due=run.due_at)
            except Exception:
                failures += 1
                delay = RETRY.delay(failures)
                log.exception("Failed to write the outcome; retrying in %.0f s", delay)
                await self.clock.sleep(delay)
            else:
                self.log_sender.add(run.wait, final, run.wait_log)
                return

    async def _final(self, run: WaitRun, outcome: Outcome) -> Outcome:
        """The outcome as it is written."""
        if isinstance(outcome, Fired | Done):
            archived = run_with_archived_result(run.wait, outcome)
            outcome = await evaluate_event(self.evaluate, run.wait, outcome, run.wait_log)
            if archived is not None and isinstance(outcome, Done):
                return await self.archive.copy_run_result(run.wait, archived)
        return await self.archive.store_large(run.wait, outcomes.redacted(outcome, run.wait_log))
