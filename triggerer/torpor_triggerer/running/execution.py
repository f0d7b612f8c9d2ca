"""Runs one wait: admit its trigger, run it, end it, complete the wait. The scheduler decides which waits run.

    start -> _admit_when_ready -> _admit -> _make_and_run    from the TaskRun to a trigger that runs
    _end -> SharedTriggers.leave -> _on_end                  from an outcome, a timer or a cancellation to
         -> Completion.complete                              the patch of the status

A trigger that knows its moment has a timer and no task; every other trigger runs as a SharedTrigger. `cleanup` follows
once a trigger was made, `on_kill` only if the wait was cancelled and no other wait shares the trigger. Both end, or
reach their limit, before the outcome is written, so the next attempt starts after them.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from typing import Any, assert_never

from torpor_api import timing
from torpor_api.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model import outcome as outcomes
from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.model.outcome import Cancelled, Ended, Failed, Outcome
from torpor_triggerer.reporting.events import EventRecorder
from torpor_triggerer.running.admission import Admission
from torpor_triggerer.running.completion import Completion
from torpor_triggerer.running.shared_triggers import SharedTriggers, sharing_key
from torpor_triggerer.running.state import Due, Run, Spawn
from torpor_triggerer.running.timers import Timers
from torpor_triggerer.secrets.resolver import Resolved
from torpor_triggerer.services.services import TriggerServices
from torpor_triggerer.settings import Settings
from torpor_triggerer.usercode import invoke, validation
from torpor_triggerer.usercode.invoke import TriggerHost
from torpor_triggerer.usercode.registry import Registry
from torpor_triggerer.usercode.validation import Call

NEW_SECONDS = 5.0
"""A wait that was deferred longer ago was announced by another replica."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What runs need; the application builds it."""

    registry: Registry
    admission: Admission
    completion: Completion
    events: EventRecorder
    trigger_log: TriggerLog
    clock: Clock
    host: TriggerHost
    services_for: Callable[[Wait], TriggerServices]
    spawn: Spawn


class Lifecycle:
    """The lifecycle of all runs of this process."""

    def __init__(self, deps: Dependencies, settings: Settings) -> None:
        self.timers: Timers[tuple[Run, Due]] = Timers(deps.clock, self._on_timer)
        self._deps = deps
        self._clock = deps.clock
        self._settings = settings
        self._tasks: set[asyncio.Task[None]] = set()
        self._forget = self._tasks.discard
        self._empty_context = Context()
        self._shared = SharedTriggers(deps.host, deps.trigger_log, deps.clock, self._track, self._on_end)

    def start(self, wait: Wait) -> Run:
        """Serve a wait. If this raises, nothing runs for it."""
        run = Run(wait=wait, wait_log=self._deps.trigger_log.create(wait))
        with run.wait_log.active():
            try:
                self._start(run)
            except Exception:
                self.release(run)
                raise
        return run

    def cancel(self, run: Run) -> None:
        """End a wait that a person, or the Workflow's end, cancelled."""
        self._end(run, Cancelled())

    def release(self, run: Run) -> None:
        """Stop serving a wait without an outcome. A write in flight continues."""
        run.released = True
        if run.timer is not None:
            self.timers.discard(run.timer)
        if run.task is not None:
            if not run.reporting:
                run.task.cancel()
        elif run.shared is not None:
            self._shared.leave(run)
        elif invoke.implements(run.trigger, "cleanup"):
            self._spawn(run, self._tell(run, "cleanup"))

    async def stop(self) -> None:
        """Wait for released runs to end, for `stop_seconds` at most."""
        if not self._tasks:
            return
        try:
            await timing.within(self._clock, self._settings.stop_seconds, _all_done(self._tasks))
        except TimeoutError:
            log.warning("%d triggers did not stop in time", len(self._tasks))
        for task in self._tasks:
            task.cancel()

    def _start(self, run: Run) -> None:
        call = validation.read(run.wait)
        if isinstance(call, Failed):
            self._end(run, Cancelled() if run.wait.cancelled else call)
            return
        deadline = self._deadline(run.wait)
        if deadline is not None:
            run.timer = self.timers.add(deadline, (run, Due.DEADLINE))
        if self._deps.admission.is_immediate(run.wait, call):
            self._admit(run, call)
        else:
            self._spawn(run, self._admit_when_ready(run, call))

    def _deadline(self, wait: Wait) -> float | None:
        """The deadline. A wait taken over after its deadline gets `look_seconds` for one last look."""
        now = self._clock.now()
        if wait.deadline is None or wait.deadline > now:
            return wait.deadline
        return now + self._settings.look_seconds

    async def _admit_when_ready(self, run: Run, call: Call) -> None:
        """Admit once the pool may fire in the namespace and all secrets of the kwargs are resolved."""
        run.wait_log.activate()
        try:
            resolved = await self._deps.admission.resolve(run, call)
        except Exception as error:
            log.exception("Failed to start the trigger")
            message = f"failed to start the trigger: {type(error).__name__}: {outcomes.error_text(error)}"
            resolved = Failed(reason=Reason.TRIGGER_FAILED, message=message)
        run.task = None
        match resolved:
            case Resolved(call=call, secrets=secrets):
                run.wait_log.set_secrets(secrets)
                self._admit(run, call)
            case Failed() if not run.wait.cancelled:
                self._end(run, resolved)
            case _:
                self._end(run, Cancelled())

    def _admit(self, run: Run, call: Call) -> None:
        try:
            self._make_and_run(run, call)
        except Exception as error:
            log.exception("Failed to make the trigger")
            message = f"failed to make the trigger: {type(error).__name__}: {outcomes.error_text(error)}"
            self._end(run, Failed(reason=Reason.TRIGGER_INVALID, message=message))

    def _make_and_run(self, run: Run, call: Call) -> None:
        """Join a running trigger, run a new one, or set a timer for a known moment."""
        wait, stored = run.wait, run.wait.trigger
        if stored is None:
            return
        key = sharing_key(stored, call.kwargs)
        running = self._shared.find(key, stored)
        problem: Failed | None = None
        if running is None:
            services = self._deps.services_for(wait)
            made = validation.admit(wait, call, self._deps.registry, services)
            run.trigger, problem = made.trigger, made.problem
        if wait.cancelled or problem is not None:
            self._end(run, Cancelled() if wait.cancelled or problem is None else problem)
            return
        self._announce(wait)
        if running is not None:
            self._shared.join(run, running)
            return
        due = invoke.due(run.trigger)
        if due is None:
            self._shared.serve(run, stored, run.trigger, services, key)
        elif run.timer is None or due <= run.timer.moment:
            if run.timer is not None:
                self.timers.discard(run.timer)
            run.timer = self.timers.add(due, (run, Due.PAYLOAD))

    def _announce(self, wait: Wait) -> None:
        log.info("waits %s", wait.awaited)
        if self._clock.now() - wait.deferred_at < NEW_SECONDS:
            self._deps.events.normal(wait, Reason.WAITING, f"waits {wait.awaited}")

    def _on_timer(self, item: tuple[Run, Due]) -> None:
        run, due = item
        if run.timer is not None:
            run.due_at, run.timer = run.timer.moment, None
        with run.wait_log.active():
            match due:
                case Due.PAYLOAD:
                    self._end(run, invoke.payload(run.trigger))
                case Due.DEADLINE:
                    self._end(run, outcomes.timed_out(run.wait, run.last_look))
                case Due.GIVE_UP:
                    self._give_up(run)
                case _:
                    assert_never(due)

    def _end(self, run: Run, outcome: Outcome) -> None:
        """End a run with this outcome, unless it is ending already. A trigger that runs stops first (`_on_end`)."""
        if run.is_ending:
            return
        run.outcome = outcome
        if run.timer is not None:
            self.timers.discard(run.timer)
        if run.task is not None:
            run.task.cancel()
        if run.shared is not None and self._shared.leave(run, kill=isinstance(outcome, Cancelled)):
            limit = 2 * self._settings.kill_seconds + self._settings.stop_seconds
            run.timer = self.timers.add(self._clock.now() + limit, (run, Due.GIVE_UP))
        else:
            self._spawn(run, self._tell_and_complete(run, outcome))

    def _give_up(self, run: Run) -> None:
        if run.reporting or run.released or run.outcome is None:
            return
        log.error("The trigger does not stop after its cancellation")
        self._spawn(run, self._deps.completion.complete(run, run.outcome))

    async def _on_end(self, run: Run, ended: Ended | None) -> None:
        """Complete a wait whose trigger ended by itself, or was stopped (`ended` is None)."""
        outcome = ended or run.outcome
        if outcome is None or run.released or (ended is None and run.reporting):
            return
        run.wait_log.activate()
        if run.timer is not None:
            self.timers.discard(run.timer)
        await self._deps.completion.complete(run, outcome)

    async def _tell_and_complete(self, run: Run, outcome: Outcome) -> None:
        """Complete a wait whose trigger does not run here. It may have started something in another replica."""
        run.wait_log.activate()
        if isinstance(outcome, Cancelled):
            await self._tell(run, "on_kill")
        await self._tell(run, "cleanup")
        await self._deps.completion.complete(run, outcome)

    async def _tell(self, run: Run, method: str) -> None:
        if run.trigger is not None and run.wait.trigger is not None:
            await self._deps.host.tell(run.wait.trigger.class_name, run.trigger, method)

    def _spawn(self, run: Run, work: Coroutine[Any, Any, None]) -> None:
        run.task = self._track(work)

    def _track(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._deps.spawn(work)
        self._tasks.add(task)
        # Without this context each callback would keep a copy of its creator's.
        task.add_done_callback(self._forget, context=self._empty_context)
        return task


async def _all_done(tasks: set[asyncio.Task[None]]) -> None:
    if tasks:  # all may have ended before this coroutine starts
        await asyncio.wait(set(tasks))
