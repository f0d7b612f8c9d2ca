"""A limit on what is awaited, by the clock that was passed in, so that virtual time limits too."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from torpor_api.clock import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns or raises. Raises TimeoutError, and cancels it, where it takes longer."""
    working = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((working, timer), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise TimeoutError(f"not done within {seconds:g} s")
    finally:
        timer.cancel()
        if not working.done():
            # Not awaited: what does not end when it is cancelled would hold up whoever set the limit.
            working.add_done_callback(_retrieve)
            working.cancel()


def _retrieve(working: "asyncio.Future[Any]") -> None:
    if not working.cancelled():
        working.exception()
