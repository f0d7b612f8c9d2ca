"""What can come of a wait, and the one fenced patch that says so.

Pure. Whatever a trigger does, there is an outcome for it with a sentence that a person can act on.
"""

import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType, TracebackType
from typing import Any, Protocol, TypeAlias, assert_never

from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError
from torpor_wire import canonical, constants, retry, transitions, typed_json
from torpor_wire.reason import Reason

from torpor_triggerer.model import error_events
from torpor_triggerer.model.deferred_taskrun import Wait

_TEXT_MAX = 600
_NOT_OF_TRIGGERS = (str(PurePath(__file__).parents[1]), str(PurePath(json.__file__).parents[2] / "asyncio"), "<")
"""The code that calls a trigger: this package and asyncio."""
_TRACE_MAX = 3 * 1024
_FRAMES_MAX = 20
_TYPES = '"__type"'
_AGAIN_THE_SAME = frozenset(
    {
        Reason.TRIGGER_INVALID,
        Reason.EXPRESSION_INVALID,
        Reason.RESULT_INVALID,
        Reason.REPORT_REFUSED,
        Reason.FAILED_BY_EVENT,
    }
)
"""Another attempt would find the same: the same kwargs or expression, a server that refuses what we write, or a
trigger that says by its event that the task has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """The event's JSON text."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The JSON text of what a task that is only a wait returns, from its event; or what the archive said of it."""

    result: str | None
    stored: Mapping[str, canonical.Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """The trigger says that there is nothing to do for the task."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    """The wait took too long, and the task said where it goes on then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why the wait has come to nothing; `log` is what was said before, and the traceback, for who asks for more."""

    reason: Reason
    message: str
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """A person, or the Workflow's end, cancelled it."""


class Said(Protocol):
    """What a trigger said, and what of it may not be shown."""

    @property
    def lines(self) -> Sequence[str]:
        """Its last lines, oldest first."""

    def black_out(self, text: str) -> str:
        """Text without secrets."""

    def clean(self, event: str) -> str:
        """An event's JSON text without secrets."""


Ended: TypeAlias = Fired | Done | Skipped | Failed
"""What can come of a trigger; the rest comes of the wait."""

Outcome: TypeAlias = Ended | TimedOut | Cancelled


def patch(wait: Wait, outcome: Outcome, now: float) -> transitions.Patch:
    """The transition that the outcome is."""
    match outcome:
        case Fired(event=event):
            if wait.resumes:
                return transitions.fire(wait.pin, event, deferred=wait.deferred(now), now=now)
            return transitions.succeed(wait.pin, event, now=now)
        case Done(result=result, stored=stored):
            return transitions.succeed(wait.pin, result, stored=stored, now=now)
        case Skipped(message=message):
            return transitions.skip(wait.pin, message=message, now=now)
        case TimedOut():
            return transitions.fire(wait.pin, None, deferred=wait.deferred(now), now=now)
        case Failed(reason=reason, message=message, log=log):
            final = reason in _AGAIN_THE_SAME or (reason == Reason.DEFERRAL_TIMEOUT and wait.timeout_is_final)
            policy = retry.Policy() if final else wait.retries
            return transitions.fail(wait.pin, policy, reason=reason, message=message, log=log, now=now)
        case Cancelled():
            return transitions.cancel(wait.pin, message=f"cancelled while it waited: {wait.subject}", now=now)
        case _:
            assert_never(outcome)


def of_event(event: object) -> Fired | Failed:
    """What a trigger yielded."""
    try:
        payload = event.payload  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - a trigger's own class
        return _invalid_event(f"the trigger yielded a {type(event).__name__}, not a TriggerEvent")
    return of_payload(payload)


def of_payload(payload: object) -> Fired | Failed:
    """An event's payload, in the encoding of `typed`; one that reports an error is never too large."""
    try:
        text = typed_json.text(payload)
        if len(text.encode()) > constants.EVENT_STORED_MAX and error_events.is_error(payload):
            return Fired(event=error_events.trimmed(payload))
    except (canonical.NotJsonError, RecursionError) as error:
        return _invalid_event(f"the event is not JSON: {error}")
    except Exception as error:  # noqa: BLE001 - a payload may be a Mapping of the trigger's own
        return _invalid_event(f"the event cannot be read: {type(error).__name__}: {said(error)}")
    size = len(text.encode())
    if size > constants.EVENT_STORED_MAX:
        fit = f"{constants.EVENT_MAX} fit on a TaskRun and {constants.EVENT_STORED_MAX} in the archive"
        return _invalid_event(f"the event is {size} bytes of JSON; {fit}: pass on where to find it")
    return Fired(event=text)


def fitting(fired: Fired, page: Said) -> Fired:
    """The event; one that reports an error as it fits on its TaskRun.

    It loses its secrets first: of one that is cut in two, the halves would not be found.
    """
    if len(fired.event.encode()) <= constants.EVENT_MAX or not error_events.is_error(_payload(fired.event)):
        return fired
    return Fired(event=error_events.shortened(_payload(page.clean(fired.event))))


def _payload(event: str) -> Any:
    return typed_json.decode(json.loads(event))


def without_types(fired: Fired, page: Said) -> Fired:
    """The event as expressions and results have it, which are plain JSON: no pod decodes it."""
    return Fired(event=plain(fired.event, page))


def plain(text: str, page: Said) -> str:
    """Text in the encoding of `typed` as plain JSON.

    Secrets are looked for in bytes while these still are bytes: within base64 they cannot be found.
    """
    return canonical.plain(typed_json.readable(json.loads(page.clean(text)))) if _TYPES in text else text


def raised(error: BaseException) -> Failed:
    """A trigger raised: type, text, and the last frame."""
    match error:
        case AnswerTooLargeError():
            return Failed(reason=Reason.ANSWER_TOO_LARGE, message=said(error))
        case AddressDeniedError():
            return Failed(reason=Reason.ADDRESS_DENIED, message=said(error))
        case _:
            message = f"{type(error).__name__}: {said(error)}{_frame(error.__traceback__)}"
            return Failed(reason=Reason.TRIGGER_FAILED, message=message, log=trace(error))


def ended() -> Failed:
    """A trigger ended without an event."""
    return Failed(
        reason=Reason.TRIGGER_ENDED, message="the trigger ended without an event: its run() must yield a TriggerEvent"
    )


def too_late(wait: Wait, last_look: str) -> Failed | TimedOut:
    """The deadline of the wait, or of the whole attempt, has passed."""
    task = wait.deadline_is_the_tasks
    if wait.on_timeout and not task:
        return TimedOut()
    message = f"{wait.subject} did not happen before {'the timeout of the task' if task else 'the deadline'}"
    if last_look:
        message += f"; at the last look: {last_look}"
    return Failed(reason=Reason.TIMEOUT if task else Reason.DEFERRAL_TIMEOUT, message=message)


def said(error: BaseException) -> str:
    """The text of an exception; never raises, whatever the exception does."""
    try:
        return str(error)[:_TEXT_MAX]
    except BaseException:  # noqa: BLE001 - any exception's __str__ is a stranger's code, which may call sys.exit
        return "(its text cannot be had)"


def trace(error: BaseException) -> str:
    """The traceback without the frame that called the trigger; of each exception in the chain the last frames."""
    inner = error.__traceback__.tb_next if error.__traceback__ else None
    try:
        return "".join(traceback.format_exception(type(error), error, inner, limit=-_FRAMES_MAX))
    except BaseException:  # noqa: BLE001 - it formats what strangers wrote
        return f"{type(error).__name__}: its traceback cannot be had"


def told(outcome: Outcome, page: Said) -> Outcome:
    """The outcome as it may be written: without secrets, a failure with the last lines that its trigger logged."""
    match outcome:
        case Fired(event=event):
            return Fired(event=page.clean(event))
        case Done(result=str() as result):
            return Done(result=page.clean(result))
        case Skipped(message=message):
            return Skipped(message=page.black_out(message))
        case Failed(reason=reason, message=message, log=log):
            log = _log(page.lines, page.black_out(log))
            return Failed(reason=reason, message=page.black_out(message), log=log)
        case TimedOut() | Cancelled() | Done():
            return outcome
        case _:
            assert_never(outcome)


def _log(lines: Sequence[str], trace: str) -> str:
    """The traceback whole, if it fits, and as many of the last lines as fit before it."""
    text = transitions.shorten(trace.rstrip("\n"), _TRACE_MAX)
    for line in reversed(lines):
        longer = f"{line}\n{text}" if text else line
        if len(longer.encode(errors="replace")) > constants.LOG_MAX:
            break
        text = longer
    return text


def _invalid_event(message: str) -> Failed:
    return Failed(reason=Reason.EVENT_INVALID, message=message)


def _frame(trace: TracebackType | None) -> str:
    """Where the trigger's own code raised, or called the library that did."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(trace)]
    if not frames:
        return ""
    own = [place for place in frames if not place[0].co_filename.startswith(_NOT_OF_TRIGGERS)]
    home = str(PurePath(own[0][0].co_filename).parent) if own else ""
    last = next((place for place in reversed(own) if place[0].co_filename.startswith(home)), frames[-1])
    library = "" if last is frames[-1] else f", raised in {_place(*frames[-1])}"
    return f" (at {_place(*last)}{library})"


def _place(code: CodeType, line: int) -> str:
    return f"{PurePath(code.co_filename).name}:{line} in {code.co_name}"
