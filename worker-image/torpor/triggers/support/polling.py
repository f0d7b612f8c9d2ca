"""Polling and conditions, for triggers without a notification."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, TypeAlias, TypeVar

from torpor.triggers.services import NotYetError, Services

INTERVAL = 5.0
INTERVAL_MIN = 0.1


class BusyError(OSError):
    """There is no answer now; ask again after `retry_after` seconds."""

    def __init__(self, words: str, retry_after: float) -> None:
        super().__init__(words)
        self.retry_after = retry_after


def interval_of(trigger: Any) -> float:
    """Return the seconds between two polls of a trigger. Raises ValueError if they are fewer than `INTERVAL_MIN`."""
    interval = float(getattr(trigger, "interval", INTERVAL))
    if not isfinite(interval) or interval < INTERVAL_MIN:
        raise ValueError(f"interval is {interval:g} seconds; it must be {INTERVAL_MIN:g} or more")
    return interval


def vary(seconds: float, jitter: float) -> float:
    """Return a pause that varies by a tenth, so that many deferrals do not poll at the same time.

    `jitter` is a number from 0 to 1.
    """
    return seconds * (0.9 + 0.2 * jitter)


async def poll_alone(trigger: Any) -> Any:
    """Return the event of a trigger with `poll_many` outside of Torpor's triggerer, such as in Airflow's."""
    import asyncio

    interval = interval_of(trigger)
    while True:
        try:
            (answer,) = await type(trigger).poll_many([trigger], None)
        except PermissionError:
            raise
        except OSError as error:
            answer, trigger.last_look = None, str(error)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        await asyncio.sleep(interval)


async def poll(services: Services, check: Callable[[], Awaitable[Any]], interval: float) -> Any:
    """Call `check` until it returns a value that is not None. `interval` is in seconds, and varies."""
    while (payload := await check()) is None:
        await services.sleep(vary(interval, services.jitter()))
    return payload


async def poll_once(trigger: Any) -> Any:
    """Call `poll` of a trigger: in a worker thread if its class blocks."""
    return await (trigger.services.in_thread(trigger.poll) if trigger.blocking else trigger.poll())


class ConditionResult(NamedTuple):
    """Whether a condition holds, and a description for people."""

    holds: bool
    words: str


def condition_text(condition: object, name: str = "condition") -> str | None:
    """Return a condition. Raises TypeError if it is not text."""
    if condition is not None and not isinstance(condition, str):
        raise TypeError(f"{name} must be a CEL expression as text, not {type(condition).__name__}")
    return condition


async def evaluate_condition(
    services: Services, condition: str, variables: Mapping[str, Any], name: str = "condition"
) -> ConditionResult:
    """Evaluate a condition; it does not hold while it has no value, such as for a missing field.

    Raises TypeError if the value is not a boolean, ValueError if it can have none.
    """
    try:
        value = await services.evaluate(condition, variables)
    except NotYetError as error:
        return ConditionResult(holds=False, words=f"{name}: {error}")
    if not isinstance(value, bool):
        raise TypeError(f"{name} yields a value of type {type(value).__name__}, not true or false: {condition}")
    return ConditionResult(value, f"{name} is {str(value).lower()}")


T = TypeVar("T")

Pending: TypeAlias = "Coroutine[Any, Any, T | None] | Exception | None"

_AT_ONCE = 8


async def gather_results(verdicts: "Sequence[Pending[T]]") -> "list[T | Exception | None]":
    """Return the values, with coroutines replaced by what they return or raise."""
    import asyncio

    results: list[Any] = list(verdicts)
    left = [number for number, result in enumerate(results) if isinstance(result, Coroutine)]
    try:
        while left:
            now, left = left[:_AT_ONCE], left[_AT_ONCE:]
            ended = await asyncio.gather(*(results[number] for number in now), return_exceptions=True)
            for number, end in zip(now, ended, strict=True):
                results[number] = end
    finally:
        for number in left:
            results[number].close()
    return results
