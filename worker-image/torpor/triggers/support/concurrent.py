"""Triggers that run beside each other in one process, each in a task of its own, whatever they do.

As for a trigger that runs alone, everything that one raises is an outcome: a stranger's SystemExit must not end the
loop, nor a CancelledError of its own the wait.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from torpor.triggers.support import end_events

STOP_SECONDS = 5.0


class End(NamedTuple):
    """How the trigger of this number has ended: with a payload, or what it raised."""

    number: int
    payload: Any
    error: BaseException | None


class Beside:
    """Triggers that run from now on."""

    def __init__(self, made: Sequence[Any]) -> None:
        self._running = [asyncio.create_task(_first(number, one)) for number, one in enumerate(made)]

    async def next_end(self) -> End | None:
        """How the next of them ends, in their order where several have; None where all are told of."""
        if not self._running:
            return None
        done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        task = next(one for one in self._running if one in done)
        self._running.remove(task)
        return task.result()

    async def stop(self) -> None:
        """Stop those that run, and wait a moment for them: one that does not stop holds nobody up."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=STOP_SECONDS)
        self._running = []


async def tell(made: Sequence[Any], method: str) -> list[BaseException]:
    """Call a method of all that have it, and give back what was raised."""
    told = await asyncio.gather(*(_told(one, method) for one in made))
    return [error for error in told if error is not None]


async def _first(number: int, one: Any) -> End:
    events = None
    try:
        events = one.run()
        async for event in events:
            return End(number, end_events.payload_of(event), None)
        return End(number, None, RuntimeError("it ended without an event"))
    except BaseException as error:
        if _is_ours(error):
            raise
        return End(number, None, error)
    finally:
        await _told(events, "aclose")


async def _told(one: Any, method: str) -> BaseException | None:
    try:
        await getattr(one, method, _nothing)()
    except BaseException as error:
        if _is_ours(error):
            raise
        return error
    return None


async def _nothing() -> None:
    pass


def _is_ours(error: BaseException) -> bool:
    """Whether it is the cancellation of the task that this runs in, or an interruption of the process."""
    task = asyncio.current_task()
    cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    return cancelled or isinstance(error, KeyboardInterrupt)
