"""Runs one wait: admit its trigger, run it, end it, complete the wait. The scheduler decides which waits run.

    start -> _admit_when_ready -> _admit -> _make_and_run    from the TaskRun to a trigger that runs
    _end -> SharedTriggers.leave -> _on_end                  from an outcome, a timer or a cancellation to
         -> Completion.complete                              the patch of the status

A trigger that knows its moment has a timer and no task. If an equal one can be made again, its wait has not even a run
until that moment: `start` returns a run that is `timed`, and `fire` starts another one. Every other trigger runs as a
SharedTrigger. `cleanup` follows once a trigger was made, `on_kill` only if the wait was cancelled and no other wait
shares the trigger. Both end, or reach their limit, before the outcome is written: the next attempt starts after them.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, assert_never

from torpor_kubernetes import timing
from torpor_wire.reason import Reason

from torpor_triggerer.model import outcome as outcomes
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Cancelled, Ended, Failed, Outcome
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.running.dependencies import Dependencies
from torpor_triggerer.running.shared_triggers import SharedTriggers, sharing_key
from torpor_triggerer.running.state import Due, Timed, WaitRun
from torpor_triggerer.running.wait_timers import WaitTimers
from torpor_triggerer.secrets.resolver import Resolved
from torpor_triggerer.settings import Settings
from torpor_triggerer.usercode import invoke, validation
from torpor_triggerer.usercode.validation import TriggerInvocation

NEW_SECONDS = 5.0
"""A wait that was deferred longer ago was announced by another replica."""

log = logging.getLogger(__name__)


class Lifecycle:
    """The lifecycle of all runs of this process.

    `on_timed` gets a run that needs nothing but its timer. `on_due` gets the wait of such a timer when it expires, and
    calls `fire`.
    """

    def __init__(
        self,
        deps: Dependencies,
        settings: Settings,
        *,
        on_timed: Callable[[WaitRun], None],
        on_due: Callable[[PackedWait], None],
    ) -> None:
        self._wait_timers = WaitTimers(deps.clock, settings.look_seconds, on_timer=self._on_timer, on_timed=on_timed)
        self.timers = self._wait_timers.timers
        self._on_due = on_due
        self._deps = deps
        self._clock = deps.clock
        self._settings = settings
        self._tasks: set[asyncio.Task[None]] = set()
        self._forget = self._tasks.discard
        self._empty_context = Context()
        self._shared = SharedTriggers(deps.host, deps.trigger_log, deps.clock, self._track, self._on_end)
        self.polls = self._shared.polls

    def start(self, wait: PackedWait) -> WaitRun:
        """Serve a wait. If this raises, nothing runs for it."""
        run = WaitRun(packed=wait, wait_log=self._deps.trigger_log.create(wait))
        self._begin(run, self._start)
        return run

    def fire(self, wait: PackedWait, moment: float) -> WaitRun:
        """Start the run of a wait whose timer expired at `moment`: it fires, has reached its deadline, or waits on.

        If this raises, nothing runs for it.
        """
        run = WaitRun(packed=wait, wait_log=self._deps.trigger_log.create(wait), due_at=moment)
        self._begin(run, self._fire)
        return run

    def cancel(self, run: WaitRun) -> None:
        """End a wait that a person, or the Workflow's end, cancelled."""
        self._end(run, Cancelled())

    def release(self, run: WaitRun) -> None:
        """Stop serving a wait without an outcome. A write in flight continues."""
        run.released = True
        self._wait_timers.discard(run)
        if run.task is not None:
            if not run.reporting:
                run.task.cancel()
        elif run.shared is not None:
            self._shared.leave(run)
        elif invoke.implements(run.trigger, "cleanup"):
            self._spawn(run, self._tell(run, "cleanup"))

    def moment(self, run: WaitRun) -> float | None:
        """Return when a run ends, in seconds since the epoch; None if its trigger runs or its outcome is written."""
        return None if run.task is not None or run.shared is not None or run.timer is None else run.timer.moment

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

    def _begin(self, run: WaitRun, begin: Callable[[WaitRun], None]) -> None:
        with run.wait_log.active():
            try:
                begin(run)
            except Exception:
                self.release(run)
                raise

    def _fire(self, run: WaitRun) -> None:
        call = validation.read(run.wait)
        if isinstance(call, Failed):
            self._end(run, call)
            return
        self._admit(run, call)
        if run.shared is not None:
            self._wait_timers.set_deadline(run, run.wait)

    def _start(self, run: WaitRun) -> None:
        wait = run.wait
        call = validation.read(wait)
        if isinstance(call, Failed):
            self._end(run, Cancelled() if wait.cancelled else call)
            return
        answer = self._deps.answer(wait)
        if answer is not None:
            self._end(run, Cancelled() if wait.cancelled else answer)
            return
        self._wait_timers.set_deadline(run, wait)
        if self._deps.admission.is_immediate(wait, call):
            self._admit(run, call)
        else:
            self._spawn(run, self._admit_when_ready(run, call))

    async def _admit_when_ready(self, run: WaitRun, call: TriggerInvocation) -> None:
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
            case Failed() if not run.packed.cancelled:
                self._end(run, resolved)
            case _:
                self._end(run, Cancelled())

    def _admit(self, run: WaitRun, call: TriggerInvocation) -> None:
        try:
            self._make_and_run(run, call)
        except Exception as error:
            log.exception("Failed to make the trigger")
            message = f"failed to make the trigger: {type(error).__name__}: {outcomes.error_text(error)}"
            self._end(run, Failed(reason=Reason.TRIGGER_INVALID, message=message))

    def _make_and_run(self, run: WaitRun, call: TriggerInvocation) -> None:
        """Join a running trigger, run a new one, or set a timer for a known moment."""
        wait = run.wait
        stored = wait.trigger
        if stored is None:
            return
        key = sharing_key(stored, call.kwargs)
        running = self._shared.find(key, stored)
        problem: Failed | None = None
        if running is None:
            services = self._deps.services_for(wait)
            result = validation.admit(wait, call, self._deps.registry, services)
            run.trigger, problem = result.trigger, result.problem
        if wait.cancelled or problem is not None:
            self._end(run, Cancelled() if wait.cancelled or problem is None else problem)
            return
        if run.due_at is None:
            self._announce(wait)
        if running is not None:
            self._shared.join(run, running)
            return
        due = invoke.due(run.trigger)
        if due is None:
            self._shared.serve(run, run.trigger, services, key)
        elif run.due_at is None:
            self._wait_timers.set_moment(run, due)
        else:
            self._end_or_wait_on(run, wait, due, run.due_at)

    def _end_or_wait_on(self, run: WaitRun, wait: TriggerWait, due: float, expired_at: float) -> None:
        """End a wait whose timer expired. The trigger, made again, may have a later moment than before."""
        if due <= expired_at:
            self._end(run, invoke.payload(run.trigger))
        elif wait.deadline is not None and wait.deadline <= expired_at:
            self._end(run, outcomes.timed_out(wait, ""))
        else:
            run.due_at = None
            self._wait_timers.set_deadline(run, wait)
            self._wait_timers.set_moment(run, due)

    def _announce(self, wait: TriggerWait) -> None:
        log.info("waits %s", wait.awaited)
        if self._clock.now() - wait.deferred_at < NEW_SECONDS:
            self._deps.events.normal(wait, Reason.WAITING, f"waits {wait.awaited}")

    def _on_timer(self, item: Timed) -> None:
        if isinstance(item, PackedWait):
            self._on_due(item)
            return
        run, due = item
        if run.timer is not None:
            run.due_at, run.timer = run.timer.moment, None
        with run.wait_log.active():
            match due:
                case Due.PAYLOAD:
                    self._end(run, invoke.payload(run.trigger))
                case Due.DEADLINE:
                    own = None if run.wait.deadline_is_attempts else invoke.at_deadline(run.trigger)
                    self._end(run, own or outcomes.timed_out(run.wait, run.last_look))
                case Due.GIVE_UP:
                    self._give_up(run)
                case _:
                    assert_never(due)

    def _end(self, run: WaitRun, outcome: Outcome) -> None:
        """End a run with this outcome, unless it is ending already. A trigger that runs stops first (`_on_end`)."""
        if run.is_ending:
            return
        run.outcome = outcome
        self._wait_timers.discard(run)
        if run.task is not None:
            run.task.cancel()
        if run.shared is not None and self._shared.leave(run, kill=isinstance(outcome, Cancelled)):
            limit = 2 * self._settings.kill_seconds + self._settings.stop_seconds
            self._wait_timers.set_end_limit(run, limit)
        else:
            self._spawn(run, self._tell_and_complete(run, outcome))

    def _give_up(self, run: WaitRun) -> None:
        if run.reporting or run.released or run.outcome is None:
            return
        log.error("The trigger does not stop after its cancellation")
        self._spawn(run, self._complete(run, run.outcome))

    async def _on_end(self, run: WaitRun, ended: Ended | None) -> None:
        """Complete a wait whose trigger ended by itself, or was stopped (`ended` is None)."""
        outcome = ended or run.outcome
        if outcome is None or run.released or (ended is None and run.reporting):
            return
        run.wait_log.activate()
        self._wait_timers.discard(run)
        await self._complete(run, outcome)

    async def _tell_and_complete(self, run: WaitRun, outcome: Outcome) -> None:
        """Complete a wait whose trigger does not run here. It may have started something in another replica."""
        run.wait_log.activate()
        if isinstance(outcome, Cancelled):
            await self._tell(run, "on_kill")
        await self._tell(run, "cleanup")
        await self._complete(run, outcome)

    async def _complete(self, run: WaitRun, outcome: Outcome) -> None:
        """Write the outcome, then call `settled`. A wait that was released may have been settled by another replica."""
        trigger = run.trigger
        await self._deps.completion.complete(run, outcome)
        if trigger is not None and not isinstance(outcome, Cancelled):
            await self._deps.host.tell(run.packed.class_name, trigger, "settled")

    async def _tell(self, run: WaitRun, method: str) -> None:
        if run.trigger is not None:
            await self._deps.host.tell(run.packed.class_name, run.trigger, method)

    def _spawn(self, run: WaitRun, work: Coroutine[Any, Any, None]) -> None:
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
