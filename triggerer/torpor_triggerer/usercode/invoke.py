"""Runs one trigger until its first event, and survives anything it does.

The boundary to trigger classes: each exception becomes an outcome, each end method has a time limit, and a cancellation
that a trigger raises itself is not taken for one of ours.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from math import inf, isnan
from typing import Any, NamedTuple, Protocol, TypeAlias

from torpor.triggers import BaseTrigger, TriggerEvent, base
from torpor.triggers.support import polling
from torpor_kubernetes import timing
from torpor_kubernetes.timing import Clock

from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Ended, Failed, Fired
from torpor_triggerer.usercode import attribution, task_end_events
from torpor_triggerer.usercode.attribution import Attribution

_LOOK_MAX = 300

log = logging.getLogger(__name__)


class NotYet(NamedTuple):
    """A trigger has not fired. It is polled again after `seconds`; None if its source delivers the event."""

    seconds: float | None


Step: TypeAlias = Callable[[Any], Coroutine[Any, Any, Ended | NotYet]]
"""Runs a trigger to its first event, or polls it once."""


class TriggerHost(Protocol):
    """Runs triggers."""

    async def run(self, class_name: str, trigger: Any, step: Step) -> Ended | NotYet:
        """Return what a step of a trigger returns. Raises CancelledError if the current task was cancelled."""

    async def tell(self, class_name: str, trigger: Any, method: str) -> None:
        """Call `cleanup` or `on_kill`, if the class implements it; within the time limit, and never raises."""


async def first_event(trigger: Any) -> Ended:
    """Return the outcome of a trigger. Raises CancelledError if the current task was cancelled."""
    events: AsyncIterator[object] | None = None
    try:
        events = trigger.run()
        async for event in events:
            return task_end_events.of_event(event)
        return outcome.without_event()
    except BaseException as error:
        if is_own_cancellation(error):
            raise
        return from_error(error)
    finally:
        await _close(events)


def only_polls(trigger: Any) -> bool:
    """Whether the trigger does nothing between two polls: its class leaves `run` to Torpor's base class."""
    return isinstance(trigger, BaseTrigger) and type(trigger).run is BaseTrigger.run


def polls_many(trigger: Any) -> bool:
    """Whether the trigger is polled with others of its source."""
    return only_polls(trigger) and hasattr(type(trigger), "poll_many")


async def poll(trigger: Any, jitter: Callable[[], float]) -> Ended | NotYet:
    """Poll a trigger once. `jitter` is as for `polling.poll`, which does the same in a task."""
    try:
        interval = polling.interval_of(trigger)
        payload = await polling.poll_once(trigger)
        if payload is not None:
            return task_end_events.of_event(TriggerEvent(payload))
        return NotYet(polling.vary(interval, jitter()))
    except BaseException as error:
        if is_own_cancellation(error):
            raise
        return from_error(error)


async def join(trigger: Any, join_source: Callable[[Any], object]) -> Ended | NotYet:
    """Join the source of a trigger with `poll_many`. The source delivers the event."""
    try:
        join_source(trigger)
    except BaseException as error:  # noqa: BLE001 - a stranger's `source`
        return from_error(error)
    return NotYet(None)


def from_error(error: BaseException) -> Ended:
    """Return the outcome of what a trigger raised, and log it: with the lines of code unless the error is expected."""
    ends = task_end_events.of_error(error)
    if isinstance(ends, Failed):
        log.warning("the trigger raised: %s", ends.message, exc_info=error if ends.log else None)
    return ends


def implements(trigger: Any, method: str) -> bool:
    """Whether the class implements an end method; those of Torpor's base class do nothing."""
    implementation = getattr(type(trigger), method, None)
    return implementation is not None and implementation is not getattr(BaseTrigger, method)


async def tell(clock: Clock, trigger: Any, method: str, *, seconds: float) -> None:
    """Call `cleanup` or `on_kill`, for `seconds` at most."""
    try:
        await timing.within(clock, seconds, getattr(trigger, method)())
    except BaseException as error:
        if is_own_cancellation(error):
            raise
        log.warning("%s() of the trigger failed", method, exc_info=error)


async def _close(events: AsyncIterator[object] | None) -> None:
    close = getattr(events, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except BaseException as error:
        if is_own_cancellation(error):
            raise
        log.warning("closing run() of the trigger failed", exc_info=error)


def is_own_cancellation(error: BaseException) -> bool:
    """Whether the current task was cancelled: a trigger can raise CancelledError itself."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > 0)


def shareable(trigger: Any) -> bool:
    """Whether one trigger can serve several waits: Torpor's own, and classes that declare it.

    A foreign class with a timeout counts it from its start, which is too early for a wait that joins later.
    """
    try:
        if not attribution.call(_attribution(trigger), lambda: base.is_shareable(trigger)):
            return False
    except BaseException as error:
        log.warning("shareable of the trigger failed", exc_info=error)
        return False
    return isinstance(trigger, BaseTrigger) or _read(trigger, "timeout", None) is None


def interval(trigger: Any) -> float:
    """Return the seconds between two polls, as far as the trigger declares them."""
    for name in ("interval", "poke_interval"):
        match _read(trigger, name, None):
            case bool():
                continue
            case timedelta() as value:
                return value.total_seconds()
            case int() | float() as value:
                with suppress(OverflowError):
                    return float(value)
    return inf


def _read(trigger: Any, name: str, default: object) -> object:
    try:
        return attribution.call(_attribution(trigger), lambda: getattr(trigger, name, default))
    except BaseException as error:
        log.warning("%s of the trigger failed", name, exc_info=error)
        return default


def due(trigger: Any) -> float | None:
    """Return the moment at which the trigger fires, if it knows; then it needs no task."""
    try:
        known = callable(getattr(trigger, "due", None)) and callable(getattr(trigger, "payload", None))
        moment = float(attribution.call(_attribution(trigger), trigger.due)) if known else None
    except BaseException as error:
        log.warning("due() of the trigger failed; it is run instead", exc_info=error)
        return None
    return None if moment is None or isnan(moment) else moment


def can_be_made_again(trigger: Any) -> bool:
    """Whether an equal trigger, made later, can replace one that knows its moment.

    Only for classes of Torpor without end methods: they keep nothing that their kwargs do not contain.
    """
    return base.is_builtin(type(trigger)) and not any(implements(trigger, method) for method in ("cleanup", "on_kill"))


def payload(trigger: Any) -> Fired | Failed:
    """Return the outcome at that moment."""
    try:
        return outcome.from_payload(attribution.call(_attribution(trigger), trigger.payload))
    except BaseException as error:
        log.warning("payload() of the trigger failed", exc_info=error)
        return outcome.from_exception(error)


def at_deadline(trigger: Any) -> Fired | Failed | None:
    """Return the outcome that a trigger of Torpor's base class has at the deadline; None if it has none."""
    if not implements(trigger, "at_deadline"):
        return None
    try:
        payload = attribution.call(_attribution(trigger), trigger.at_deadline)
    except BaseException as error:
        log.warning("at_deadline() of the trigger failed", exc_info=error)
        return None
    return None if payload is None else outcome.from_payload(payload)


def _attribution(trigger: Any) -> Attribution:
    """By class only: the caller knows no registered name."""
    return Attribution(class_name="", subject=trigger)


def last_look(trigger: Any) -> str:
    """Return the result of the last look in the trigger's words; empty if it declares none."""
    return _words(trigger, "last_look")


def asks(trigger: Any) -> str:
    """Return what a person can do to end the wait; empty for nearly all triggers."""
    return _words(trigger, "asks")


def _words(trigger: Any, name: str) -> str:
    words = _read(trigger, name, "")
    return words[:_LOOK_MAX] if isinstance(words, str) else ""
