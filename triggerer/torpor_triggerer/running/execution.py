"""The life of one wait: admitted, looked for, told to end, reported. What runs at all is the runner's to say.

A trigger whose moment is known lies in a heap and has no task; each other is run by a poke, which several waits may
share. Whatever happens, `cleanup` is called once a trigger was made, `on_kill` only where a wait was cancelled and
nobody else waits for the same, and both before the outcome is written: so the next attempt begins after them, or after
their limit.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from torpor_api import timing
from torpor_api.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model import outcome, task_result
from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.model.outcome import Cancelled, Done, Ended, Failed, Fired, Outcome
from torpor_triggerer.model.task_result import Evaluate
from torpor_triggerer.reporting.events import Notices
from torpor_triggerer.reporting.fire_permission import FirePermission
from torpor_triggerer.reporting.status_writer import Reporter
from torpor_triggerer.running.shared_triggers import Pokes, key_of
from torpor_triggerer.running.state import Due, Run, SharedTrigger, Spawn
from torpor_triggerer.running.timers import Alarms
from torpor_triggerer.secrets import resolver
from torpor_triggerer.secrets.resolver import Open, Revealer
from torpor_triggerer.services.archive import Archive
from torpor_triggerer.services.services import TriggerServices
from torpor_triggerer.settings import Settings
from torpor_triggerer.usercode import invoke, validation
from torpor_triggerer.usercode.invoke import Hosts
from torpor_triggerer.usercode.registry import Registry
from torpor_triggerer.usercode.validation import Call

FIRST_DELAY = 1.0
FRESH = 5.0
LAST_DELAY = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What runs work with, made by whoever starts them."""

    registry: Registry
    reporter: Reporter
    notices: Notices
    journal: TriggerLog
    clock: Clock
    evaluate: Evaluate
    permission: FirePermission
    revealer: Revealer
    archive: Archive
    hosts: Hosts
    lend: Callable[[Wait], TriggerServices]
    spawn: Spawn


class Lifecycle:
    """The lives of all runs of this process."""

    def __init__(self, means: Dependencies, settings: Settings) -> None:
        self.alarms: Alarms[tuple[Run, Due]] = Alarms(means.clock, self._ring)
        self._means = means
        self._clock = means.clock
        self._settings = settings
        self._tasks: set[asyncio.Task[None]] = set()
        self._forget = self._tasks.discard
        self._nobodys = Context()
        self.pokes = Pokes(means.hosts, means.journal, means.clock, self._track, self._over)

    def begin(self, wait: Wait) -> Run:
        """Serve a wait. Whatever is raised here leaves nothing behind that runs for it."""
        run = Run(wait=wait, page=self._means.journal.page(wait))
        with run.page.speaking():
            try:
                self._begin(run)
            except Exception:
                self.leave(run)
                raise
        return run

    def cancel(self, run: Run) -> None:
        """A person cancelled it."""
        self._conclude(run, Cancelled())

    def leave(self, run: Run) -> None:
        """Nothing waits for this run any more; a write that is under way may end, its answer is due anyway."""
        run.left = True
        if run.timer is not None:
            self.alarms.discard(run.timer)
        if run.task is not None:
            if not run.reporting:
                run.task.cancel()
        elif run.poke is not None:
            self.pokes.part(run)
        elif invoke.answers(run.trigger, "cleanup"):
            self._spawn(run, self._tell(run, "cleanup"))

    async def stop(self) -> None:
        """Give all that were left so long to end."""
        if not self._tasks:
            return
        try:
            await timing.within(self._clock, self._settings.stop_seconds, _all(self._tasks))
        except TimeoutError:
            log.warning("%d triggers did not stop in time", len(self._tasks))
        for task in self._tasks:
            task.cancel()

    def _begin(self, run: Run) -> None:
        call = validation.read(run.wait)
        if isinstance(call, Failed):
            self._conclude(run, Cancelled() if run.wait.cancelled else call)
            return
        deadline = self._deadline(run.wait)
        if deadline is not None:
            run.timer = self.alarms.add(deadline, (run, Due.DEADLINE))
        granted = self._means.permission.is_granted(run.wait.namespace)
        if granted and not resolver.is_hidden(call.kwargs):
            self._admit_or_fail(run, call)
        else:
            self._spawn(run, self._unlock(run, call))

    async def _unlock(self, run: Run, call: Call) -> None:
        """Begin once that is allowed here, and what is hidden in the kwargs is revealed."""
        run.page.open()
        try:
            await self._means.permission.granted(run.wait.namespace, partial(self._forbid, run))
            found = await self._means.revealer.revealed(run.wait, call, self._clock, partial(setattr, run, "hint"))
        except Exception as error:
            log.exception("its trigger cannot be begun")
            message = f"its trigger cannot be begun: {type(error).__name__}: {outcome.said(error)}"
            found = Failed(reason=Reason.TRIGGER_FAILED, message=message)
        run.task = None
        if isinstance(found, Open):
            run.page.hide(found.secrets)
            self._admit_or_fail(run, found.call)
        else:
            self._conclude(run, found if isinstance(found, Failed) and not run.wait.cancelled else Cancelled())

    def _forbid(self, run: Run, message: str, is_sure: bool) -> None:
        """An Event says it, once: who may not fire may not write the TaskRun's status either."""
        if is_sure and run.hint != message:
            self._means.notices.warn(run.wait, Reason.FIRE_FORBIDDEN, message)
        run.hint = message if is_sure else f"asking again: {message}"

    def _admit_or_fail(self, run: Run, call: Call) -> None:
        try:
            self._admit(run, call)
        except Exception as error:
            log.exception("its trigger cannot be made")
            message = f"its trigger cannot be made: {type(error).__name__}: {outcome.said(error)}"
            self._conclude(run, Failed(reason=Reason.TRIGGER_INVALID, message=message))

    def _admit(self, run: Run, call: Call) -> None:
        """Let it be looked for: by a trigger that runs, by one of its own, or by none where the moment is known."""
        asked = run.wait.asked
        if asked is None:
            return
        key = key_of(asked, call.kwargs)
        running = self.pokes.find(key, asked)
        if running is not None:
            self._join(run, running)
            return
        services = self._means.lend(run.wait)
        made = validation.admit(run.wait, call, self._means.registry, services)
        run.trigger = made.trigger
        if run.wait.cancelled or made.problem is not None:
            self._conclude(run, Cancelled() if run.wait.cancelled or made.problem is None else made.problem)
            return
        self._say_that_it_waits(run.wait)
        due = invoke.due(run.trigger)
        if due is None:
            self.pokes.serve(run, asked, made.trigger, services, key)
        elif run.timer is None or due <= run.timer.moment:
            if run.timer is not None:
                self.alarms.discard(run.timer)
            run.timer = self.alarms.add(due, (run, Due.PAYLOAD))

    def _join(self, run: Run, running: SharedTrigger) -> None:
        if run.wait.cancelled:
            self._conclude(run, Cancelled())
            return
        self._say_that_it_waits(run.wait)
        self.pokes.join(run, running)

    def _say_that_it_waits(self, wait: Wait) -> None:
        """Of one that is taken over it was said before."""
        log.info("waits %s", wait.awaited)
        if self._clock.now() - wait.deferred_at < FRESH:
            self._means.notices.say(wait, Reason.WAITING, f"waits {wait.awaited}")

    def _deadline(self, wait: Wait) -> float | None:
        """When it is given up: a wait that is taken over after its deadline is looked at once more."""
        now = self._clock.now()
        if wait.deadline is None or wait.deadline > now:
            return wait.deadline
        return now + self._settings.look_seconds

    def _ring(self, alarm: tuple[Run, Due]) -> None:
        run, due = alarm
        if run.timer is not None:
            run.due, run.timer = run.timer.moment, None
        with run.page.speaking():
            match due:
                case Due.PAYLOAD:
                    self._conclude(run, invoke.payload(run.trigger))
                case Due.DEADLINE:
                    self._conclude(run, outcome.too_late(run.wait, run.last_look))
                case Due.ABANDON:
                    self._abandon(run)
                case _:
                    assert_never(due)

    def _conclude(self, run: Run, verdict: Outcome) -> None:
        """End a run so, unless its end is being written already."""
        if run.reporting or run.verdict is not None or run.left:
            return
        run.verdict = verdict
        if run.timer is not None:
            self.alarms.discard(run.timer)
        if run.task is not None:
            run.task.cancel()
        if run.poke is not None and self.pokes.part(run, kill=isinstance(verdict, Cancelled)):
            patience = 2 * self._settings.kill_seconds + self._settings.stop_seconds
            run.timer = self.alarms.add(self._clock.now() + patience, (run, Due.ABANDON))
        else:
            self._spawn(run, self._end(run, verdict))

    def _abandon(self, run: Run) -> None:
        if run.reporting or run.left or run.verdict is None:
            return
        log.error("its trigger does not stop when it is cancelled")
        self._spawn(run, self._report(run, run.verdict))

    async def _over(self, run: Run, ends: Ended | None) -> None:
        """Its trigger has ended, by itself or because the wait was over."""
        verdict = ends or run.verdict
        if verdict is None or run.left or (ends is None and run.reporting):
            return
        run.page.open()
        if run.timer is not None:
            self.alarms.discard(run.timer)
        await self._report(run, verdict)

    async def _end(self, run: Run, ends: Outcome) -> None:
        """The end of a wait whose trigger does not run here; what it began elsewhere is still to be killed."""
        run.page.open()
        if isinstance(ends, Cancelled):
            await self._tell(run, "on_kill")
        await self._tell(run, "cleanup")
        await self._report(run, ends)

    async def _tell(self, run: Run, method: str) -> None:
        if run.trigger is not None and run.wait.asked is not None:
            await self._means.hosts.tell(run.wait.asked.class_name, run.trigger, method)

    async def _report(self, run: Run, ends: Outcome) -> None:
        """Until it is written or not needed: what nobody has thought of must not keep a TaskRun waiting for ever."""
        run.reporting = True
        delay = FIRST_DELAY
        while not run.left:
            try:
                told = await self._told(run, ends)
                await self._means.reporter.report(run.wait, told, lambda: run.left, due=run.due)
            except Exception:
                log.exception("its outcome cannot be written, trying again in %.0f s", delay)
                await self._clock.sleep(delay)
                delay = min(LAST_DELAY, 2 * delay)
            else:
                return

    async def _told(self, run: Run, ends: Outcome) -> Outcome:
        if isinstance(ends, Fired | Done):
            ends = await task_result.of_event(self._means.evaluate, run.wait, ends, run.page)
        return await self._means.archive.kept(run.wait, outcome.told(ends, run.page))

    def _spawn(self, run: Run, work: Coroutine[Any, Any, None]) -> None:
        run.task = self._track(work)

    def _track(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._means.spawn(work)
        self._tasks.add(task)
        # Without a context of its own, each task would hold a copy of that of whoever started it, to be forgotten by.
        task.add_done_callback(self._forget, context=self._nobodys)
        return task


async def _all(tasks: set[asyncio.Task[None]]) -> None:
    if tasks:  # they may all have ended before this one began
        await asyncio.wait(set(tasks))
