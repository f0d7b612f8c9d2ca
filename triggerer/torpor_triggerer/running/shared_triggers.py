"""Runs triggers, each for all waits with the same key (AIP-17: one poke for many).

Waits share a trigger if they agree in key, secret kwargs and the class's own `timeout`; the shortest interval wins. A
wait joins or leaves at any time before the first event; later waits get a new trigger. `cleanup` runs when the last
wait leaves, `on_kill` only if the last wait was cancelled, because the others still need what the trigger started.

A trigger that only polls has a task for each poll, and none between two of them. One with `poll_many` has a task only
to join its source.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Mapping
from functools import partial
from typing import Any, TypeAlias

from torpor_kubernetes.timing import Clock
from torpor_wire import canonical, trigger

from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model import outcome as outcomes
from torpor_triggerer.model.deferred_taskrun import StoredTrigger
from torpor_triggerer.model.outcome import Ended, Failed
from torpor_triggerer.running.state import SharedTrigger, Spawn, WaitRun
from torpor_triggerer.secrets import resolver
from torpor_triggerer.services.trigger_services import TriggerServices
from torpor_triggerer.timers import Timers
from torpor_triggerer.usercode import invoke, task_end_events
from torpor_triggerer.usercode.invoke import NotYet, Step, TriggerHost

OnEnd: TypeAlias = Callable[[WaitRun, Ended | None], Coroutine[Any, Any, None]]
"""Ends a wait with the outcome of its trigger; None if the wait has an outcome of its own."""

log = logging.getLogger(__name__)


def sharing_key(stored: StoredTrigger, kwargs: Mapping[str, Any]) -> Hashable:
    """Return what waits must agree in to share a trigger; None for sealed kwargs. `kwargs` have their secrets resolved.

    A wait that starts after a Secret changed does not join waits that use the old value.
    """
    written = trigger.parse(stored.kwargs)
    if resolver.is_sealed(written):
        return None
    timeout = written.get("timeout")
    secret = canonical.digest(kwargs) if resolver.has_secrets(written) else ""
    return stored.key, "" if timeout is None else canonical.plain({"timeout": timeout}), secret


class SharedTriggers:
    """All running triggers of this process."""

    def __init__(self, host: TriggerHost, trigger_log: TriggerLog, clock: Clock, spawn: Spawn, on_end: OnEnd) -> None:
        self.polls: Timers[SharedTrigger] = Timers(clock, self._poll, now=clock.monotonic)
        self._host = host
        self._clock = clock
        self._trigger_log = trigger_log
        self._spawn = spawn
        self._on_end = on_end
        self._open: dict[Hashable, SharedTrigger] = {}

    def find(self, key: Hashable, stored: StoredTrigger) -> SharedTrigger | None:
        """Return the running trigger with identical kwargs, interval included."""
        shared = self._open.get(key)
        first = None if shared is None else shared.first.unpack().trigger
        return shared if first is not None and first.kwargs == stored.kwargs else None

    def join(self, run: WaitRun, shared: SharedTrigger) -> None:
        """Add a wait to a running trigger."""
        run.trigger, run.shared = shared.trigger, shared
        shared.members.append(run)
        run.wait_log.follow(shared.wait_log)
        if len(shared.members) > 1:
            log.info("shares %s with %d other waits", shared.name, len(shared.members) - 1)

    def serve(self, run: WaitRun, trigger: Any, services: TriggerServices, key: Hashable) -> None:
        """Join a running trigger that polls at least as often, or run this one."""
        key = key if invoke.shareable(trigger) else None
        former = None if key is None else self._open.get(key)
        if former is not None and invoke.interval(former.trigger) <= invoke.interval(trigger):
            self.join(run, former)
            return
        shared = SharedTrigger(
            key=key,
            first=run.packed,
            trigger=trigger,
            services=services,
            trigger_log=self._trigger_log,
        )
        self._start(shared, run)
        if former is not None:
            self._take_over(shared, former)

    def leave(self, run: WaitRun, *, kill: bool = False) -> bool:
        """Remove a wait. Return whether this stops its trigger; `on_end` then follows when the trigger has stopped."""
        shared = run.shared
        if shared is None or shared.closed:
            return shared is not None
        if len(shared.members) > 1:
            shared.members.remove(run)
            run.shared = run.trigger = None
            return False
        shared.killed = kill
        self._stop(shared)
        return True

    def _start(self, shared: SharedTrigger, run: WaitRun) -> None:
        shared.wait_log.copy_secrets(run.wait_log)
        if shared.key is not None:
            self._open[shared.key] = shared
        self.join(run, shared)
        shared.task = self._spawn(self._run(shared))

    def _take_over(self, shared: SharedTrigger, former: SharedTrigger) -> None:
        """Move the waits of a trigger with a longer interval."""
        waits = list(former.members)
        former.members.clear()
        self._stop(former)
        for run in waits:
            with run.wait_log.active():
                self.join(run, shared)

    def _stop(self, shared: SharedTrigger) -> None:
        """Cancel its task. A task that has not started never runs, so another one calls the trigger's end methods."""
        self._close(shared)
        if shared.timer is not None:
            self.polls.discard(shared.timer)
        if shared.member is not None:
            shared.services.leave_source(shared.member)
        if shared.task is not None:
            shared.task.cancel()
        if not shared.started:
            shared.task = self._spawn(self._finish(shared, None))

    def _close(self, shared: SharedTrigger) -> None:
        shared.closed = True
        if self._open.get(shared.key) is shared:
            del self._open[shared.key]

    async def _run(self, shared: SharedTrigger) -> None:
        shared.wait_log.activate()
        shared.started = True
        try:
            ended = await self._first_event(shared)
        except asyncio.CancelledError as error:
            if shared.closed or not self._finish_in_new_task(shared, outcomes.from_exception(error)):
                await self._tell(shared, "cleanup")
            raise
        if isinstance(ended, NotYet):
            self._rest(shared, ended.seconds)
        else:
            await self._finish(shared, ended)

    def _rest(self, shared: SharedTrigger, seconds: float | None) -> None:
        """Let the task end until the next poll, or until the source answers."""
        shared.task, shared.started = None, False
        if seconds is not None:
            shared.services.record_poll(seconds)
            shared.timer = self.polls.add(self._clock.monotonic() + seconds, shared)

    def _poll(self, shared: SharedTrigger) -> None:
        shared.timer = None
        shared.task = self._spawn(self._run(shared))

    def _step(self, shared: SharedTrigger) -> Step:
        if invoke.polls_many(shared.trigger):
            return partial(invoke.join, join_source=partial(self._join_source, shared))
        if invoke.only_polls(shared.trigger):
            return partial(invoke.poll, jitter=shared.services.jitter)
        return invoke.first_event

    def _join_source(self, shared: SharedTrigger, trigger: Any) -> None:
        shared.member = shared.services.join_source(trigger, _SourceAnswer(self, shared))

    def answer(self, shared: SharedTrigger, ended: Callable[[], Ended]) -> None:
        """End the waits of a trigger that its source has answered."""
        with shared.wait_log.active():
            self._mark_ended(shared)
            shared.task = self._spawn(self._finish(shared, ended()))

    def _finish_in_new_task(self, shared: SharedTrigger, failed: Failed) -> bool:
        """Fail the waits of a trigger whose task was cancelled from outside. False if the process ends."""
        work = self._finish(shared, failed)
        try:
            shared.task = self._spawn(work)
        except RuntimeError:
            work.close()
            return False
        self._mark_ended(shared)
        return True

    async def _first_event(self, shared: SharedTrigger) -> Ended | NotYet | None:
        """Return the outcome of the trigger; None if it was stopped, even if it ignores the cancellation."""
        ended: Ended | NotYet | None = None
        task = asyncio.current_task()
        try:
            ended = await self._host.run(shared.first.class_name, shared.trigger, self._step(shared))
        except asyncio.CancelledError:
            if not shared.closed or all(run.released for run in shared.members):
                raise
        if shared.closed:
            if task is not None:
                task.uncancel()
            return None
        if not isinstance(ended, NotYet):
            self._mark_ended(shared)
        return ended

    def _mark_ended(self, shared: SharedTrigger) -> None:
        self._close(shared)
        now = self._clock.now()
        for run in shared.members:
            run.reporting, run.due_at = True, now

    async def _finish(self, shared: SharedTrigger, ended: Ended | None) -> None:
        """Call the trigger's end methods, then end its waits. It may have run in another replica before."""
        shared.wait_log.activate()
        try:
            if shared.killed:
                await self._tell(shared, "on_kill")
        finally:
            await self._tell(shared, "cleanup")
        await self._end_members(shared, ended)

    async def _tell(self, shared: SharedTrigger, method: str) -> None:
        await self._host.tell(shared.first.class_name, shared.trigger, method)

    async def _end_members(self, shared: SharedTrigger, ended: Ended | None) -> None:
        for run in shared.members[1:]:
            run.task = self._spawn(self._on_end(run, ended))
        for run in shared.members[:1]:
            await self._on_end(run, ended)


class _SourceAnswer:
    """Takes the answer of a source for the waits of one trigger."""

    __slots__ = ("_shared", "_triggers")

    def __init__(self, triggers: SharedTriggers, shared: SharedTrigger) -> None:
        self._triggers = triggers
        self._shared = shared

    def done(self) -> bool:
        return self._shared.closed

    def set_result(self, result: Any, /) -> None:
        self._triggers.answer(self._shared, lambda: task_end_events.of_event(result))

    def set_exception(self, exception: BaseException, /) -> None:
        self._triggers.answer(self._shared, lambda: invoke.from_error(exception))
