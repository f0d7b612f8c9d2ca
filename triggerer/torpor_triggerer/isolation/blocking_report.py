"""Reports blocks of the event loop to the waits that caused them, and restarts waits whose class moves to a thread.

The first few waits of a class get an Event, once a minute. An Event needs the loop, so it follows the block; a block
without end is named in the log.
"""

import logging
from collections.abc import Collection

from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.isolation.placement import Blocked
from torpor_triggerer.isolation.trigger_proxy import TriggerProxy
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.reporting.events import EventRecorder
from torpor_triggerer.running.scheduler import Scheduler
from torpor_triggerer.running.state import WaitRun

EVENTS_MAX = 20
REPORT_EVERY = 60.0

log = logging.getLogger(__name__)


class BlockingReport:
    """One for a process."""

    def __init__(self, scheduler: Scheduler, events: EventRecorder, clock: Clock) -> None:
        self._scheduler = scheduler
        self._events = events
        self._clock = clock
        self._reported_at: dict[str, float] = {}

    def handle(self, blocked: Blocked) -> None:
        """Report one block after it has ended. Never raises."""
        try:
            causing = _whose(self._scheduler.runs, blocked.subject)
            self._report(causing or _made_for(blocked.subject), blocked)
            if blocked.moved:
                self._scheduler.restart_runs(lambda run: _moves(run, blocked, causing))
        except Exception:
            log.exception("Failed to report a block by trigger %s", blocked.class_name)

    def _report(self, causing: Collection[WaitRun | TriggerWait], blocked: Blocked) -> None:
        message = _message(blocked)
        log.warning("%s", message)
        now = self._clock.monotonic()
        if not blocked.moved and now - self._reported_at.get(blocked.class_name, float("-inf")) < REPORT_EVERY:
            return
        self._reported_at[blocked.class_name] = now
        for cause in list(causing)[:EVENTS_MAX]:
            if isinstance(cause, TriggerWait):
                self._events.warning(cause, Reason.LOOP_BLOCKED, message)
                continue
            self._events.warning(cause.wait, Reason.LOOP_BLOCKED, message)
            with cause.wait_log.active():
                log.warning("%s", message)


def _whose(runs: Collection[WaitRun], subject: object) -> dict[WaitRun, None]:
    """The runs whose trigger was executing, alone or in a batch, or was being made."""
    if isinstance(subject, TriggerWait):
        return {run: None for run in runs if run.packed.uid == subject.segment_id.uid}
    triggers = {id(trigger) for trigger in (subject if isinstance(subject, list | tuple) else (subject,))}
    return {run: None for run in runs if id(run.trigger) in triggers}


def _made_for(subject: object) -> Collection[TriggerWait]:
    """The wait whose trigger was being made, if it has a timer and no run."""
    return (subject,) if isinstance(subject, TriggerWait) else ()


def _moves(run: WaitRun, blocked: Blocked, causing: Collection[WaitRun]) -> bool:
    """Whether the run still uses the class itself, perhaps as a part of another trigger."""
    named = run.packed.class_name == blocked.class_name
    return (named or run in causing) and run.trigger is not None and not isinstance(run.trigger, TriggerProxy)


def _message(blocked: Blocked) -> str:
    follows = (
        "it runs in a thread of its own from now on"
        if blocked.moved
        else "at the third time within an hour it gets a thread of its own"
    )
    return (
        f"trigger {blocked.class_name} blocked the event loop for {blocked.seconds:.1f} s, at {blocked.place}: "
        f"all other waits of this replica were late by that time; {follows}"
    )
