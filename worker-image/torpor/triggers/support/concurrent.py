"""Runs several triggers concurrently, each in its own task.

Everything that a trigger raises is an outcome: SystemExit or CancelledError raised by foreign code must not end the
loop or the deferral.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from torpor.triggers.events import payload_of

STOP_SECONDS = 5.0


class End(NamedTuple):
    """How the trigger with this number ended: with a payload, or with an error."""

    number: int
    payload: Any
    error: BaseException | None


class ConcurrentTriggers:
    """Triggers that run concurrently, started on creation."""

    def __init__(self, triggers: Sequence[Any]) -> None:
        self._running = [asyncio.create_task(_first(number, trigger)) for number, trigger in enumerate(triggers)]

    async def next_end(self) -> End | None:
        """Return how the next trigger ends, in order if several have; None after the last."""
        if not self._running:
            return None
        done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        task = next(running for running in self._running if running in done)
        self._running.remove(task)
        return task.result()

    async def stop(self) -> None:
        """Cancel the running triggers and wait up to STOP_SECONDS for them."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=STOP_SECONDS)
        self._running = []


async def call_each(triggers: Sequence[Any], method: str) -> list[BaseException]:
    """Call a method of all triggers that have it, and return the errors."""
    errors = await asyncio.gather(*(_call(trigger, method) for trigger in triggers))
    return [error for error in errors if error is not None]


async def _first(number: int, trigger: Any) -> End:
    events = None
    try:
        events = trigger.run()
        async for event in events:
            return End(number, payload_of(event), None)
        return End(number, None, RuntimeError("it ended without an event"))
    except BaseException as error:
        if _is_ours(error):
            raise
        return End(number, None, error)
    finally:
        await _call(events, "aclose")


async def _call(called: Any, method: str) -> BaseException | None:
    try:
        await getattr(called, method, _nothing)()
    except BaseException as error:
        if _is_ours(error):
            raise
        return error
    return None


async def _nothing() -> None:
    pass


def _is_ours(error: BaseException) -> bool:
    """Return whether it is the cancellation of the current task, or an interrupt of the process."""
    task = asyncio.current_task()
    cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    return cancelled or isinstance(error, KeyboardInterrupt)
