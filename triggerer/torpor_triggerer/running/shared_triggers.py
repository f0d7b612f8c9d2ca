"""Runs triggers, each for all the waits that ask for the same: one poke for many (AIP-17).

Waits share a trigger that agree in their key, in what is hidden in their kwargs, and in the class's own `timeout`; of
their intervals the shortest counts. Joining and leaving is possible at any time until the trigger's first event, and
whoever comes after that gets a new one. `cleanup` is called when the last has left, `on_kill` where the last was
cancelled by a person: what one wait was cancelled for, others may still wait for.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Mapping
from typing import Any, TypeAlias

from torpor_api.timing import Clock
from torpor_wire import canonical, trigger

from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model import outcome
from torpor_triggerer.model.deferred_taskrun import Asked
from torpor_triggerer.model.outcome import Ended, Failed
from torpor_triggerer.running.state import Run, SharedTrigger, Spawn
from torpor_triggerer.secrets import resolver
from torpor_triggerer.services.services import TriggerServices
from torpor_triggerer.usercode import invoke
from torpor_triggerer.usercode.invoke import Hosts

Over: TypeAlias = Callable[[Run, Ended | None], Coroutine[Any, Any, None]]
"""What follows for a wait whose trigger has ended, None where it ends by its own verdict."""

log = logging.getLogger(__name__)


def key_of(asked: Asked, kwargs: Mapping[str, Any]) -> Hashable:
    """What waits must agree in to share a trigger; `kwargs` are as they are when nothing in them is hidden any more.

    A wait that comes after a Secret has changed does not join those that still use what it was. What was sealed for
    one is not for another.
    """
    stand = trigger.parse(asked.kwargs)
    if resolver.is_sealed(stand):
        return None
    hidden = canonical.digest(kwargs) if resolver.is_hidden(stand) else ""
    return asked.key, canonical.plain({"timeout": stand.get("timeout")}), hidden


class Pokes:
    """All running triggers of this process."""

    def __init__(self, hosts: Hosts, journal: TriggerLog, clock: Clock, spawn: Spawn, over: Over) -> None:
        self._hosts = hosts
        self._clock = clock
        self._journal = journal
        self._spawn = spawn
        self._over = over
        self._open: dict[Hashable, SharedTrigger] = {}

    def find(self, key: Hashable, asked: Asked) -> SharedTrigger | None:
        """The running trigger that a wait can join as it is: the very same kwargs, interval and all."""
        found = self._open.get(key)
        return found if found is not None and found.asked.kwargs == asked.kwargs else None

    def join(self, run: Run, poke: SharedTrigger) -> None:
        """Let a wait take part."""
        run.trigger, run.poke = poke.trigger, poke
        poke.members.append(run)
        run.page.hear(poke.page)
        if len(poke.members) > 1:
            log.info("shares %s with %d others", poke.name, len(poke.members) - 1)

    def serve(self, run: Run, asked: Asked, made: Any, services: TriggerServices, key: Hashable) -> None:
        """Run a trigger for a wait, or let the wait join the one that runs where that looks as often."""
        key = key if invoke.shareable(made) else None
        former = None if key is None else self._open.get(key)
        if former is not None and invoke.pace(former.trigger) <= invoke.pace(made):
            self.join(run, former)
            return
        poke = SharedTrigger(
            key=key,
            asked=asked,
            namespace=run.wait.namespace,
            trigger=made,
            services=services,
            journal=self._journal,
        )
        self._begin(poke, run)
        if former is not None:
            self._take_over(poke, former)

    def part(self, run: Run, *, kill: bool = False) -> bool:
        """Let a wait leave. Whether its trigger is stopped with it: then what follows for the wait follows that."""
        poke = run.poke
        if poke is None or poke.closed:
            return poke is not None
        if len(poke.members) > 1:
            poke.members.remove(run)
            run.poke = run.trigger = None
            return False
        poke.killed = kill
        self._stop(poke)
        return True

    def _begin(self, poke: SharedTrigger, run: Run) -> None:
        poke.page.hide_as(run.page)
        if poke.key is not None:
            self._open[poke.key] = poke
        self.join(run, poke)
        poke.task = self._spawn(self._conduct(poke))

    def _take_over(self, poke: SharedTrigger, former: SharedTrigger) -> None:
        """The waits of one that looks more seldom."""
        waits = list(former.members)
        former.members.clear()
        self._stop(former)
        for run in waits:
            with run.page.speaking():
                self.join(run, poke)

    def _stop(self, poke: SharedTrigger) -> None:
        """Whatever its task still has to do, it does; one that has not begun will never."""
        self._close(poke)
        if poke.task is not None:
            poke.task.cancel()
        if not poke.looking:
            poke.task = self._spawn(self._wind_up(poke, None))

    def _close(self, poke: SharedTrigger) -> None:
        poke.closed = True
        if self._open.get(poke.key) is poke:
            del self._open[poke.key]

    async def _conduct(self, poke: SharedTrigger) -> None:
        poke.page.open()
        poke.looking = True
        try:
            ends = await self._first_event(poke)
        except asyncio.CancelledError as error:
            if poke.closed or not self._outlives(poke, outcome.raised(error)):
                await self._tell(poke, "cleanup")
            raise
        await self._wind_up(poke, ends)

    def _outlives(self, poke: SharedTrigger, ends: Failed) -> bool:
        """Whether its waits go on in another task; where the process ends, which cancels all, none can be begun."""
        work = self._wind_up(poke, ends)
        try:
            poke.task = self._spawn(work)
        except RuntimeError:
            work.close()
            return False
        self._note_end(poke)
        return True

    async def _first_event(self, poke: SharedTrigger) -> Ended | None:
        """None where it was stopped: what a trigger makes of its cancellation is no outcome."""
        ends: Ended | None = None
        task = asyncio.current_task()
        try:
            ends = await self._hosts.first_event(poke.asked.class_name, poke.trigger)
        except asyncio.CancelledError:
            if not poke.closed or all(run.left for run in poke.members):
                raise
        if poke.closed:
            if task is not None:
                task.uncancel()
            return None
        self._note_end(poke)
        return ends

    def _note_end(self, poke: SharedTrigger) -> None:
        self._close(poke)
        now = self._clock.now()
        for run in poke.members:
            run.reporting, run.due = True, now

    async def _wind_up(self, poke: SharedTrigger, ends: Ended | None) -> None:
        """The end of a trigger; what one that was never run here began elsewhere is to be killed too."""
        poke.page.open()
        try:
            if poke.killed:
                await self._tell(poke, "on_kill")
        finally:
            await self._tell(poke, "cleanup")
        await self._end(poke, ends)

    async def _tell(self, poke: SharedTrigger, method: str) -> None:
        await self._hosts.tell(poke.asked.class_name, poke.trigger, method)

    async def _end(self, poke: SharedTrigger, ends: Ended | None) -> None:
        for run in poke.members[1:]:
            run.task = self._spawn(self._over(run, ends))
        for run in poke.members[:1]:
            await self._over(run, ends)
