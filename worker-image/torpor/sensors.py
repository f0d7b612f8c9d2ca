"""Sensors: tasks that look again and again until something is so, in whichever way costs least.

A class says how to look once (`poke`); how it waits between two looks is decided when it runs (ADR 0008). Given leave
to defer, a sensor whose poke is async is itself the trigger that runs in the triggerer, and one whose poke blocks gets
a new pod for each look; else it keeps its pod and sleeps. Nothing here opens a connection.
"""

import os
import time
from collections.abc import AsyncIterator, Mapping
from types import CoroutineType
from typing import Any, NamedTuple, Self

from torpor_wire import constants, times, typed_json
from torpor_wire.trigger import describe

from torpor.context import Context, RemoteContext
from torpor.deferral import DeferralError, TaskDeferred, Timeout
from torpor.errors import TaskFailed
from torpor.operators import BaseOperator
from torpor.triggers import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support.arguments import seconds
from torpor.triggers.time import Time

POKE_INTERVAL = 60.0
TIMEOUT = "7d"
POD_INTERVAL_MIN = 10.0
"""More often than this no pod is made for a look, unless the sensor was asked to defer: one takes seconds to start."""


class PokeResult(NamedTuple):
    """What a look found: whether it is `done`, and the `value` that the sensor then returns, JSON."""

    done: bool
    value: Any = None


class BaseSensor(BaseOperator):
    """A task that is done when `poke` says so. Arguments are Airflow's, but that `mode` is `deferrable`.

    `poke_interval` and `timeout` are a timedelta, seconds or text such as `6h`; `timeout` counts from the first look,
    None leaves it to the task's own. `deferrable` None is what the Workflow says, else the installation.
    """

    runs_in_triggerer = True
    """Whether an async poke may run in the triggerer: it must be registered there under the class's dotted path."""

    last_look = ""
    _services: Services
    _given: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keeps the arguments, from which the triggerer makes the sensor again."""
        made = super().__new__(cls)
        made._given = args, kwargs
        return made

    def __init__(
        self,
        *,
        poke_interval: Timeout = POKE_INTERVAL,
        timeout: Timeout = TIMEOUT,
        deferrable: bool | None = None,
        task_id: str | None = None,
    ) -> None:
        super().__init__(task_id=task_id)
        self.poke_interval = seconds(POKE_INTERVAL if poke_interval is None else poke_interval, "poke_interval")
        self.timeout = None if timeout is None else seconds(timeout, "timeout")
        if deferrable is None:
            deferrable = _by_default() and (self.poke_interval >= POD_INTERVAL_MIN or self._looks_elsewhere())
        self.deferrable = deferrable

    def poke(self, context: Context) -> Any:
        """Looks once: true, or PokeResult, when it is so; a plain or an async method.

        In the triggerer one look may serve every TaskRun that waits for the same, so `context` there knows its
        namespace and nothing else.
        """
        raise NotImplementedError(f"{type(self).__name__} has no poke(context)")

    def timed_out(self, context: Context) -> Any:  # noqa: ARG002 - for who overrides it
        """What follows when the time is over: the task fails and is not retried, or as a class makes it here."""
        raise TaskFailed(f"{type(self).__name__} was not done within {self.timeout:g} seconds")

    def execute(self, context: Context, event: object = None) -> Any:  # noqa: ARG002 - of a wait that came first
        """Waits until `poke` says that it is so, and returns its value; a coroutine where `poke` is async."""
        return self._wait(context, None if self.timeout is None else time.time() + self.timeout)

    def poke_again(self, context: Context, event: object, until: float | None) -> Any:  # noqa: ARG002 - a moment
        """Goes on in another pod: the next look."""
        return self._wait(context, until)

    def poked(self, context: Context, event: object) -> Any:  # noqa: ARG002 - for who overrides it
        """Goes on when the triggerer has found that it is so."""
        return event

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """The sensor as a trigger: its dotted path, and the arguments it was made with."""
        positional, named = self._given
        if positional:
            raise DeferralError(f"{type(self).__name__} can be made again only of arguments that are given by name")
        return f"{type(self).__module__}.{type(self).__qualname__}", named

    def bind(self, services: Services) -> None:
        """In the triggerer, before `run`; raises ValueError where a look would block it."""
        if not self._is_async():
            raise ValueError(f"poke of {type(self).__name__} is not async: it would block the triggerer")
        self._services = services

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Looks until it is so. In the triggerer."""
        from torpor.triggers.support import polling  # noqa: PLC0415 - not for task pods

        context, looks = RemoteContext(self._services.namespace), 0

        async def look() -> PokeResult | None:
            nonlocal looks
            found, looks = _result(await self.poke(context)), looks + 1
            self.last_look = f"not so when it was poked last, {looks} times by now"
            return found if found.done else None

        interval = max(self.poke_interval, polling.INTERVAL_MIN)
        yield TriggerEvent((await polling.found(self._services, look, interval)).value)

    def _wait(self, context: Context, until: float | None) -> Any:
        returned = self.poke(context)
        if isinstance(returned, CoroutineType):
            return self._wait_async(context, until, returned)
        while not (found := _result(returned)).done:
            pause = self._pause(until)
            if pause is None:
                return self.timed_out(context)
            self._give_back(until, pause)
            time.sleep(pause)
            returned = self.poke(context)
        return found.value

    async def _wait_async(self, context: Context, until: float | None, returned: "CoroutineType[Any, Any, Any]") -> Any:
        import asyncio  # noqa: PLC0415 - 25 ms that only async sensors pay

        while not (found := _result(await returned)).done:
            pause = self._pause(until)
            if pause is None:
                late = self.timed_out(context)
                return await late if isinstance(late, CoroutineType) else late
            self._give_back(until, pause)
            await asyncio.sleep(pause)
            returned = self.poke(context)
        return found.value

    def _pause(self, until: float | None) -> float | None:
        """How long to wait for the next look, which is never after the end; None where that was the last."""
        if until is None:
            return self.poke_interval
        left = until - time.time()
        return None if left <= 0 else min(self.poke_interval, left)

    def _give_back(self, until: float | None, pause: float) -> None:
        """Defers, where the sensor may."""
        if not self.deferrable or _told() == constants.UNSERVED:
            return
        if not self._looks_elsewhere():
            trigger = _Pause(times.rfc3339(time.time() + pause), self._described())
            self.defer(trigger=trigger, method_name="poke_again", kwargs={"until": until})
        left = None if until is None else max(until - time.time(), 0.0)
        fails = until is None or type(self).timed_out is BaseSensor.timed_out
        raise TaskDeferred(
            trigger=self,
            method_name="poked",
            timeout=left,
            on_timeout=None if fails else "timed_out",
            timeout_is_final=fails,
        )

    def _described(self) -> str:
        """What it waits for, in one line, from the arguments that it was made with."""
        _, named = self._given
        try:
            return describe(type(self).__name__, typed_json.encode(named))
        except (TypeError, ValueError, RecursionError):  # an argument that cannot be written down
            return type(self).__name__

    def _looks_elsewhere(self) -> bool:
        return self.runs_in_triggerer and self._is_async()

    def _is_async(self) -> bool:
        import inspect  # noqa: PLC0415 - 7 ms that only sensors pay

        return inspect.iscoroutinefunction(self.poke)


class _Pause(Time):
    """The time between two looks of a sensor that gets a pod for each: people see what it waits for."""

    def __init__(self, at: str, waits_for: str) -> None:
        super().__init__(at)
        self.waits_for = waits_for


def _told() -> str:
    return os.environ.get(constants.ENV_DEFERRABLE, "true")


def _by_default() -> bool:
    return _told() == "true"


def _result(found: Any) -> PokeResult:
    """What a look returned, also as Airflow's sensors say it."""
    if isinstance(found, PokeResult):
        return found
    if hasattr(found, "is_done"):
        return PokeResult(bool(found.is_done), getattr(found, "xcom_value", None))
    return PokeResult(bool(found))
