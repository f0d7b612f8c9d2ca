"""Sensors: tasks that poke until a condition holds.

A class defines one check (`poke`). How it waits between two checks is decided at run time (ADR 0008). A deferrable
sensor with an async `poke` runs as a trigger in the triggerer. A deferrable sensor with a blocking `poke` gets a new
pod for each check. Any other sensor keeps its pod and sleeps.
"""

import os
import time
from collections.abc import AsyncIterator, Mapping
from types import CoroutineType
from typing import Any, NamedTuple, Self

from torpor_wire import constants, times, typed_json
from torpor_wire.trigger import describe

from torpor import clock
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
"""Seconds. A blocking sensor with a shorter interval defers only on request, because a new pod takes seconds to start.
"""


class PokeResult(NamedTuple):
    """The result of a poke: `done`, and the JSON `value` that the sensor returns then (`xcom_value` in Airflow)."""

    done: bool
    value: Any = None


class BaseSensor(BaseOperator):
    """A task that succeeds when `poke` returns true. The arguments are those of Airflow; `deferrable` replaces `mode`.

        class FileSensor(BaseSensor):
            def __init__(self, *, path, **kwargs):
                super().__init__(**kwargs)
                self.path = path

            async def poke(self, context):
                return await exists(self.path)

    Args:
        poke_interval: Time between two pokes: a timedelta, seconds, or text such as `90s`. The default is one minute.
        timeout: The time limit from the first poke. The default is `7d`; None leaves only the timeout of the task.
        deferrable: Whether to release the pod between two pokes. None takes the setting of the Workflow, else of the
            installation.
        task_id: Ignored; accepted as in Airflow.
    """

    runs_in_triggerer = True
    """Whether an async `poke` may run in the triggerer. The triggerer must register the class by its dotted path."""

    last_look = ""
    _services: Services
    _given: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep the arguments, from which the triggerer creates the sensor again."""
        sensor = super().__new__(cls)
        sensor._given = args, kwargs
        return sensor

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
            deferrable = _by_default() and (self.poke_interval >= POD_INTERVAL_MIN or self._pokes_in_triggerer())
        self.deferrable = deferrable

    def poke(self, context: Context) -> Any:
        """Check once: return true or a PokeResult when the condition holds. May be async.

        In the triggerer, one poke may serve every TaskRun that waits for the same. There, `context` only has the
        namespace.
        """
        raise NotImplementedError(f"{type(self).__name__} has no poke(context)")

    def timed_out(self, context: Context) -> Any:  # noqa: ARG002 - for subclasses
        """Called when the timeout is over. Fails the task without a retry; override it to return a result instead."""
        raise TaskFailed(f"{type(self).__name__} timed out after {times.human(self.timeout or 0)}")

    def execute(self, context: Context, event: object = None) -> Any:  # noqa: ARG002 - the event of a `trigger:` of the task
        """Poke until the condition holds and return the value; a coroutine if `poke` is async."""
        return self._wait(context, None if self.timeout is None else clock.now() + self.timeout)

    def poke_again(self, context: Context, event: object, until: float | None) -> Any:  # noqa: ARG002 - the event is only a time
        """Resume in a new pod for the next poke."""
        return self._wait(context, until)

    def poked(self, context: Context, event: object) -> Any:  # noqa: ARG002 - for subclasses
        """Resume after the triggerer found that the condition holds; returns the event, which is the value."""
        return event

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the sensor as a trigger: its class path and its arguments.

        Raises DeferralError for positional arguments.
        """
        positional, named = self._given
        if positional:
            raise DeferralError(
                f"{type(self).__name__} must be created with keyword arguments, so that the triggerer can recreate it"
            )
        return f"{type(self).__module__}.{type(self).__qualname__}", named

    def bind(self, services: Services) -> None:
        """Set the services of the triggerer, before `run`. Raises ValueError if `poke` would block the triggerer."""
        if not self._is_async():
            raise ValueError(f"poke of {type(self).__name__} is not async: it would block the triggerer")
        self._services = services

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poke in the triggerer until the condition holds."""
        from torpor.triggers.support import polling  # noqa: PLC0415 - not for task pods

        context, pokes = RemoteContext(self._services.namespace), 0

        async def poke_once() -> PokeResult | None:
            nonlocal pokes
            poked, pokes = _result(await self.poke(context)), pokes + 1
            self.last_look = f"not done after {pokes} pokes"
            return poked if poked.done else None

        interval = max(self.poke_interval, polling.INTERVAL_MIN)
        yield TriggerEvent((await polling.poll(self._services, poke_once, interval)).value)

    def _wait(self, context: Context, until: float | None) -> Any:
        returned = self.poke(context)
        if isinstance(returned, CoroutineType):
            return self._wait_async(context, until, returned)
        while not (result := _result(returned)).done:
            pause = self._pause(until)
            if pause is None:
                return self.timed_out(context)
            self._defer_or_keep_pod(until, pause)
            time.sleep(pause)
            returned = self.poke(context)
        return result.value

    async def _wait_async(self, context: Context, until: float | None, returned: "CoroutineType[Any, Any, Any]") -> Any:
        import asyncio  # noqa: PLC0415 - 25 ms, only for async sensors

        while not (result := _result(await returned)).done:
            pause = self._pause(until)
            if pause is None:
                late = self.timed_out(context)
                return await late if isinstance(late, CoroutineType) else late
            self._defer_or_keep_pod(until, pause)
            await asyncio.sleep(pause)
            returned = self.poke(context)
        return result.value

    def _pause(self, until: float | None) -> float | None:
        """Return the seconds until the next poke, None if the timeout is over."""
        if until is None:
            return self.poke_interval
        left = until - clock.now()
        return None if left <= 0 else min(self.poke_interval, left)

    def _defer_or_keep_pod(self, until: float | None, pause: float) -> None:
        """Defer, if the sensor is deferrable."""
        if not self.deferrable or _default_mode() == constants.UNSERVED:
            return
        if not self._pokes_in_triggerer():
            trigger = _PokePause(times.rfc3339(clock.now() + pause), self._described())
            self.defer(trigger=trigger, method_name="poke_again", kwargs={"until": until})
        left = None if until is None else max(until - clock.now(), 0.0)
        fails = until is None or type(self).timed_out is BaseSensor.timed_out
        raise TaskDeferred(
            trigger=self,
            method_name="poked",
            timeout=left,
            on_timeout=None if fails else "timed_out",
            timeout_is_final=fails,
        )

    def _described(self) -> str:
        """Return what the sensor waits for, in one line, from its arguments."""
        _, named = self._given
        try:
            return describe(type(self).__name__, typed_json.encode(named))
        except (TypeError, ValueError, RecursionError):  # an argument that cannot be serialized
            return type(self).__name__

    def _pokes_in_triggerer(self) -> bool:
        return self.runs_in_triggerer and self._is_async()

    def _is_async(self) -> bool:
        import inspect  # noqa: PLC0415 - 7 ms, only for sensors

        return inspect.iscoroutinefunction(self.poke)


class _PokePause(Time):
    """The time between two pokes of a blocking sensor, with the description of the sensor."""

    def __init__(self, at: str, waits_for: str) -> None:
        super().__init__(at)
        self.waits_for = waits_for


def _default_mode() -> str:
    return os.environ.get(constants.ENV_DEFERRABLE, "true")


def _by_default() -> bool:
    return _default_mode() == "true"


def _result(returned: Any) -> PokeResult:
    """Return what `poke` returned as a PokeResult; accepts Airflow's own class."""
    if isinstance(returned, PokeResult):
        return returned
    if hasattr(returned, "is_done"):
        return PokeResult(bool(returned.is_done), getattr(returned, "xcom_value", None))
    return PokeResult(bool(returned))
