"""The boundary to `poll_many` of trigger classes: what it returns or raises becomes an outcome of its waits.

A poll that does not end is given up. Nothing that it raises ends the loop or looks like a cancellation of ours.
"""

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from torpor.triggers.services import Services

from torpor_triggerer.batching.batches import Answered
from torpor_triggerer.model.outcome import error_text
from torpor_triggerer.usercode import attribution, invoke
from torpor_triggerer.usercode.attribution import Attribution

POLL_SECONDS = 120.0
END_SECONDS = 5.0


async def poll(kind: Any, triggers: Sequence[Any], services: Services) -> list[Any] | Exception:
    """Return an answer for each trigger, or the error of the poll as a whole.

    The limit is in real time, as are those of its requests.
    """
    working = asyncio.ensure_future(_polled(kind, triggers, services))
    try:
        await asyncio.wait((working,), timeout=POLL_SECONDS)
    finally:
        if not working.done():
            working.cancel()
            # Wait, so that no client is closed while in use.
            await asyncio.wait((working,), timeout=END_SECONDS)
    if working.done() and not working.cancelled():
        return working.result()
    return TimeoutError(f"not done within {POLL_SECONDS:g} s")


def deliver(waiting: Answered, answer: object) -> None:
    """Deliver an answer to a wait: an event or an error."""
    if isinstance(answer, BaseException):
        fail(waiting, answer)
    elif not _is_event(answer):
        fail(
            waiting,
            TypeError(
                f"poll_many() gave a value of type {type(answer).__name__} in place of an event, an error or None"
            ),
        )
    elif not waiting.done():
        waiting.set_result(answer)


def fail(waiting: Answered, error: BaseException) -> None:
    """End a wait with an error."""
    if not waiting.done():
        waiting.set_exception(_safe(error))
        if isinstance(waiting, asyncio.Future):
            waiting.exception()  # avoid "exception was never retrieved" for a wait that has just ended


def show_error(trigger: Any, error: OSError) -> None:
    """Set the trigger's `last_look` to the error."""
    with suppress(Exception):
        trigger.last_look = error_text(error) or type(error).__name__


def retry_after(error: OSError) -> float:
    """Return the Retry-After of an error, in seconds; 0 if it has none."""
    try:
        retry_after_seconds = float(getattr(error, "retry_after", 0.0))
    except Exception:  # noqa: BLE001 - code of a trigger class may raise anything
        return 0.0
    return retry_after_seconds if math.isfinite(retry_after_seconds) else 0.0


async def _polled(kind: Any, triggers: Sequence[Any], services: Services) -> list[Any] | Exception:
    mark = Attribution(class_name=kind.__qualname__, subject=triggers)
    try:
        answers = list(await attribution.running(mark, _many(kind, triggers, services)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if invoke.is_own_cancellation(error):
            raise
        return _safe(error)
    if len(answers) != len(triggers):
        return RuntimeError(f"poll_many() gave {len(answers)} answers to {len(triggers)} waits")
    return answers


async def _many(kind: Any, triggers: Sequence[Any], services: Services) -> Any:
    return await kind.poll_many(triggers, services)


def _safe(error: BaseException) -> Exception:
    """An exception that a future accepts and that ends no loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    bearable = RuntimeError(f"poll_many() raised {type(error).__name__}: {error_text(error)}")
    bearable.__cause__ = error
    return bearable


def _is_event(answer: object) -> bool:
    try:
        return hasattr(answer, "payload")
    except Exception:  # noqa: BLE001 - a stranger's property
        return False
