"""Represents a trigger whose class runs in a thread: makes, runs and ends it there.

In the main loop it is a trigger like any other, also as a part of another. A caller that gives up continues at once,
independent of the thread.
"""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, assert_never

from torpor.triggers import BaseTrigger, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent, base
from torpor.triggers.support import arguments
from torpor_wire import typed_json

from torpor_triggerer.isolation.services_proxy import ServicesProxy
from torpor_triggerer.isolation.thread_loop import ThreadLoop
from torpor_triggerer.model.outcome import Done, Ended, Failed, Fired, Skipped
from torpor_triggerer.services.trigger_services import TriggerServices
from torpor_triggerer.usercode import attribution, invoke, validation
from torpor_triggerer.usercode.attribution import Attribution
from torpor_triggerer.usercode.registry import TriggerClass

LONGEST_SLEEP = 30.0


class ProxyError(Exception):
    """The trigger failed in its thread."""


class TriggerProxy:
    """Represents the trigger that `made_by` makes from the kwargs."""

    def __init__(self, thread_loop: ThreadLoop, made_by: TriggerClass, kwargs: Mapping[str, Any]) -> None:
        self._thread_loop = thread_loop
        self._made_by = made_by
        self._kwargs = kwargs
        self._services: ServicesProxy | None = None
        self._trigger: Any = None
        self._problem: Failed | None = None
        self._running: asyncio.Task[Any] | None = None

    def bind(self, services: TriggerServices | ServicesProxy) -> None:
        """Keep the services until the trigger is made."""
        self._services = ServicesProxy(
            services.services if isinstance(services, ServicesProxy) else services, self._thread_loop
        )

    async def outcome(self) -> Ended:
        """Return the outcome of the trigger. Raises CancelledError if the caller is cancelled."""
        return await self._thread_loop.call(self._run())

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Run as a part of another trigger."""
        match await self.outcome():
            case Fired(event=event):
                yield TriggerEvent(typed_json.decode(json.loads(event)))
            case Done(result=result):
                yield TaskSuccessEvent(typed_json.decode(json.loads(result or "null")))
            case Skipped(message=message):
                yield TaskSkippedEvent(message)
            case Failed(message=message):
                raise ProxyError(message)
            case other:
                assert_never(other)

    async def cleanup(self) -> None:
        """Call `cleanup` after the trigger has stopped, if it was made."""
        await self._thread_loop.call(self._tell("cleanup"))

    async def on_kill(self) -> None:
        """Call `on_kill`, also if the trigger never ran here: it may have started something in another replica."""
        await self._thread_loop.call(self._kill())

    @property
    def shareable(self) -> bool:
        """As `invoke.shareable`."""
        counts = "timeout" in self._kwargs and not _is_ours(self._made_by)
        says = base.decides_sharing(self._made_by)
        return says and not counts and getattr(self._made_by, "shareable", False) is True

    @property
    def interval(self) -> float | None:
        """The seconds between two polls, if the kwargs or the class declare them."""
        for name in ("interval", "poke_interval"):
            if name in self._kwargs:
                return _seconds(self._kwargs[name])
        return _seconds(getattr(self._made_by, "interval", None))

    @property
    def last_look(self) -> str:
        """What blocks the thread, and the result of the last look."""
        return "; ".join(part for part in (self._thread_loop.blocked_reason, self._attribute("last_look")) if part)

    @property
    def asks(self) -> str:
        """What a person can do to end the wait."""
        return self._attribute("asks")

    def _attribute(self, name: str) -> str:
        """What it computes to say it is not asked for, since that is not to be done here."""
        if isinstance(inspect.getattr_static(type(self._trigger), name, ""), str):
            value = getattr(self._trigger, name, "")
            return value if isinstance(value, str) else ""
        return ""

    async def _run(self) -> Ended:
        self._running = asyncio.current_task()
        self._make()
        if self._problem is not None:
            return self._problem
        due = invoke.due(self._trigger)
        if due is None:
            return await attribution.running(self._mark, invoke.first_event(self._trigger))
        await self._until(due)
        return invoke.payload(self._trigger)

    async def _until(self, moment: float) -> None:
        """Sleep until a moment of the wall clock, which may be changed meanwhile."""
        left = moment - self._services_proxy.now()
        if left > 0:
            await asyncio.sleep(min(left, LONGEST_SLEEP))
            await self._until(moment)

    async def _kill(self) -> None:
        self._make()
        await self._tell("on_kill")

    async def _tell(self, method: str) -> None:
        if self._running is not None:
            await asyncio.wait((self._running,))
        if invoke.implements(self._trigger, method):
            await attribution.running(self._mark, getattr(self._trigger, method)())

    def _make(self) -> None:
        if self._trigger is None and self._problem is None:
            result = validation.make(
                self._thread_loop.class_name, self._made_by, lambda: self._made_by(**self._kwargs), self._services_proxy
            )
            self._trigger, self._problem = result.trigger, result.problem

    @property
    def _services_proxy(self) -> ServicesProxy:
        if self._services is None:
            raise RuntimeError("it was never bound")
        return self._services

    @property
    def _mark(self) -> Attribution:
        return Attribution(class_name=self._thread_loop.class_name, subject=self._trigger)


def _is_ours(made_by: TriggerClass) -> bool:
    """Whether the class derives from Torpor's base class."""
    return isinstance(made_by, type) and issubclass(made_by, BaseTrigger)


def _seconds(given: Any) -> float | None:
    try:
        return arguments.seconds(given, "interval")
    except (TypeError, ValueError):
        return None
