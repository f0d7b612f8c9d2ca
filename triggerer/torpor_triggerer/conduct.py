"""Runs one trigger until its first event, whatever it does on the way.

The border to a stranger's code: everything it raises becomes an outcome, everything it is asked to do at the end has a
limit, and what it does with a cancellation that was not ours is not taken for one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from torpor.triggers import BaseTrigger
from torpor_api import limits
from torpor_api.clock import Clock

from torpor_triggerer import outcome
from torpor_triggerer.outcome import Failed, Fired

_LOOK_MAX = 300

log = logging.getLogger(__name__)


async def first_event(trigger: Any) -> Fired | Failed:
    """The outcome of letting it run; CancelledError where the task it runs in was cancelled."""
    events: AsyncIterator[object] | None = None
    try:
        events = trigger.run()
        async for event in events:
            return outcome.of_event(event)
        return outcome.ended()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if _is_ours(error):
            raise
        log.warning("the trigger raised", exc_info=error)
        return outcome.raised(error)
    finally:
        await _close(events)


def answers(trigger: Any, method: str) -> bool:
    """Whether there is anything to tell it: Torpor's own base class does nothing at its end."""
    found = getattr(type(trigger), method, None)
    return found is not None and found is not getattr(BaseTrigger, method)


async def tell(clock: Clock, trigger: Any, method: str, *, seconds: float) -> None:
    """Call `cleanup` or `on_kill`, and give it so long."""
    try:
        await limits.within(clock, seconds, getattr(trigger, method)())
    except BaseException as error:
        if _is_ours(error):
            raise
        log.warning("%s() of the trigger failed", method, exc_info=error)


async def _close(events: AsyncIterator[object] | None) -> None:
    close = getattr(events, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except BaseException as error:
        if _is_ours(error):
            raise
        log.warning("closing run() of the trigger failed", exc_info=error)


def _is_ours(error: BaseException) -> bool:
    """Whether it is the cancellation of the task that this runs in: a stranger's code raises the same of its own."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > 0)


def due(trigger: Any) -> float | None:
    """The moment at which it will fire, where it knows; then it needs no task."""
    try:
        known = callable(getattr(trigger, "due", None)) and callable(getattr(trigger, "payload", None))
        return float(trigger.due()) if known else None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        log.warning("due() of the trigger failed; it is run instead", exc_info=error)
        return None


def payload(trigger: Any) -> Fired | Failed:
    """What it fires at that moment."""
    try:
        return outcome.of_payload(trigger.payload())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        log.warning("payload() of the trigger failed", exc_info=error)
        return outcome.raised(error)


def last_look(trigger: Any) -> str:
    """What it found when it last looked, in its own words; empty where it does not say."""
    try:
        found = getattr(trigger, "last_look", "")
        return found[:_LOOK_MAX] if isinstance(found, str) else ""
    except Exception as error:
        log.warning("last_look of the trigger failed", exc_info=error)
        return ""
