"""What a segment came to, checked so that it can be stored: a result, a wait, or a failure with its reason.

Whatever user code does ends here as one of three values. A message names what a person can change. A result or a
deferral that cannot be stored is not tried again: the work was done, and doing it twice would not make it fit.
"""

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import NamedTuple, TypeAlias

from torpor_wire import canonical, keys, times, trigger
from torpor_wire.reason import Reason

from torpor.deferral import Deferral, DeferralError, Timeout
from torpor.errors import RejectedError, TaskFailed
from torpor.runtime import failure

_FINAL = ("AirflowFailException",)
"""Names of other libraries' exceptions that say: not again."""


class Success(NamedTuple):
    """The task returned; `result` is JSON text."""

    result: str


class Suspension(NamedTuple):
    """The task waits; `state` is JSON text, `timeout` in seconds."""

    trigger: trigger.Trigger
    method: str
    state: str
    timeout: float | None


class Failure(NamedTuple):
    """The task failed; where not `retryable`, another attempt would find the same."""

    reason: Reason
    message: str
    retryable: bool


Outcome: TypeAlias = Success | Suspension | Failure


class Place(NamedTuple):
    """Where and when a trigger is written down: parts of its key, and the start of a duration."""

    namespace: str
    pool: str
    now: float
    account: str = keys.TASK_ACCOUNT
    taskrun: str = ""


def of_return(returned: object, place: Callable[[], Place]) -> Success | Suspension:
    """The outcome of a task that returned. Raises RejectedError for what cannot be stored."""
    if isinstance(returned, Deferral):
        return _suspension(returned, place())
    text = _text(returned, keys.RESULT_MAX, Reason.RESULT_INVALID, "the result")
    return Success(text)


def of_exception(error: BaseException) -> Success | Failure:
    """The outcome of a task that raised."""
    match error:
        case RejectedError():
            return Failure(error.reason, error.message, retryable=False)
        case DeferralError():
            return Failure(Reason.DEFERRAL_INVALID, failure.said(error), retryable=False)
        case TaskFailed():
            return Failure(Reason.ERROR, failure.said(error), retryable=error.retryable)
        case SystemExit(code=None | 0):
            return Success("null")
        case SystemExit():
            return Failure(Reason.ERROR, f"the task called sys.exit({error.code!r:.200})", retryable=True)
        case _:
            final = any(parent.__name__ in _FINAL for parent in type(error).__mro__)
            return Failure(Reason.ERROR, failure.describe(error), retryable=not final)


def _suspension(deferral: Deferral, place: Place) -> Suspension:
    if "event" in deferral.state:
        raise DeferralError("the state may not be called `event`: that is what the trigger passes")
    class_name, kwargs = _serialized(deferral.trigger)
    try:
        waiting = trigger.build(
            class_name,
            kwargs,
            namespace=place.namespace,
            pool=place.pool,
            now=place.now,
            account=place.account,
            taskrun=place.taskrun,
        )
    except trigger.TriggerError as error:
        raise RejectedError(Reason.DEFERRAL_INVALID, str(error)) from error
    state = _text(dict(deferral.state), keys.NEXT_MAX, Reason.DEFERRAL_INVALID, "the state of the deferral")
    return Suspension(waiting, deferral.then, state, _seconds(deferral.timeout))


def _serialized(given: object) -> tuple[str, Mapping[str, canonical.Json]]:
    serialize = getattr(given, "serialize", None)
    if serialize is None or isinstance(given, type):
        kind = f"the class {given.__name__}" if isinstance(given, type) else f"an object of type {type(given).__name__}"
        raise DeferralError(f"{kind} is not a trigger: pass an instance with serialize(), as in torpor.triggers")
    match serialize():
        case (str() as class_name, Mapping() as kwargs):
            pass
        case other:
            raise DeferralError(f"{type(given).__name__}.serialize() returned {other!r:.200}, not (name, kwargs)")
    if any(str(name).startswith(trigger.SEALED) for name in kwargs):
        raise DeferralError(f"{class_name}: sealed kwargs ({trigger.SEALED}...) cannot be stored by this version")
    return class_name, kwargs


def _seconds(timeout: Timeout) -> float | None:
    match timeout:
        case None:
            return None
        case timedelta():
            seconds = timeout.total_seconds()
        case str():
            try:
                seconds = times.seconds(timeout)
            except ValueError as error:
                raise DeferralError(f"timeout: {error}") from error
        case bool() | _ if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise DeferralError(f"timeout takes a timedelta, seconds or a text such as 6h, not {timeout!r:.100}")
        case _:
            seconds = float(timeout)
    if not math.isfinite(seconds) or seconds < 0:
        raise DeferralError(f"timeout is {seconds} seconds")
    return seconds


def _text(value: object, limit: int, reason: Reason, what: str) -> str:
    try:
        text = canonical.plain(value)
    except canonical.NotJsonError as error:
        raise RejectedError(reason, f"{what} is not JSON: {error}") from error
    except Exception as error:
        raise RejectedError(reason, f"{what} cannot be written as JSON: {failure.describe(error)}") from error
    size = len(text.encode())
    if size > limit:
        raise RejectedError(
            reason, f"{what} is {size} bytes of JSON and {limit} fit: store it, and pass on where it is"
        )
    return text
