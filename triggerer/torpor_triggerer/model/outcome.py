"""The outcomes of a wait, and the one conditional patch of each. Pure.

Every behaviour of a trigger leads to an outcome with a message that a person can act on.
"""

import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import CodeType, TracebackType
from typing import Any, Protocol, TypeAlias, assert_never

from torpor.runtime import exceptions
from torpor.triggers import base, composite
from torpor.triggers.support import polling
from torpor.triggers.support.metering import (
    AddressDeniedError,
    AnswerTooLargeError,
    NoResponseError,
    UnexpectedResponseError,
)
from torpor.triggers.workflow_end import RunFailedError
from torpor_wire import canonical, constants, retry, transitions, typed_json
from torpor_wire.reason import Reason

from torpor_triggerer.model import error_events
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.object_error import ObjectTaskError

_TEXT_MAX = 600
_STANDARD_LIBRARY = PurePath(json.__file__).parents[1]
_CALLERS = (
    *(str(PurePath(__file__).parents[1]), base.__file__, composite.__file__, polling.__file__),
    *(str(_STANDARD_LIBRARY / name) for name in ("asyncio", "concurrent", "threading.py")),
    "<",
)
"""Code that calls a trigger: this package, the base class of triggers, and asyncio with its threads."""
_TRACE_MAX = 3 * 1024
_FRAMES_MAX = 20
_TYPES = '"__type"'
FINAL_REASONS = frozenset(
    {
        Reason.TRIGGER_INVALID,
        Reason.EXPRESSION_INVALID,
        Reason.RESULT_INVALID,
        Reason.REPORT_REFUSED,
        Reason.FAILED_BY_EVENT,
    }
)
"""Reasons without a retry: another attempt would have the same kwargs or expression, the API server would reject the
same write, or the trigger reported a final failure.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """The event as JSON text."""

    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a task without a pod as JSON text, or what the archive stored of it."""

    result: str | None
    stored: Mapping[str, canonical.Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """The trigger skipped the task."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    """The wait reached its deadline, and the task continues with `onTimeout`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The wait failed. `log` has the last log lines and the traceback."""

    reason: Reason
    message: str
    log: str = ""
    details: retry.FailureDetails = retry.NO_DETAILS


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """A person, or the end of the Workflow, cancelled the wait."""


class RedactingLog(Protocol):
    """The log lines of a trigger, and the secrets that must not be written."""

    @property
    def lines(self) -> Sequence[str]:
        """The last lines, oldest first."""

    def redact(self, text: str) -> str:
        """Return the text without secrets."""

    def redact_event(self, event: str) -> str:
        """Return an event's JSON text without secrets."""


Ended: TypeAlias = Fired | Done | Skipped | Failed
"""The outcomes of a trigger; the others are outcomes of the wait."""

Outcome: TypeAlias = Ended | TimedOut | Cancelled


def patch(wait: TriggerWait, outcome: Outcome, now: float) -> transitions.Patch:
    """Return the status patch of an outcome."""
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
        case Failed(reason=reason, message=message, log=log, details=details):
            final = reason in FINAL_REASONS or (reason == Reason.DEFERRAL_TIMEOUT and wait.timeout_is_final)
            policy = retry.Policy() if final else wait.retries
            return transitions.fail(wait.pin, policy, reason=reason, message=message, log=log, now=now, details=details)
        case Cancelled():
            return transitions.cancel(wait.pin, message=f"cancelled while it waited: {wait.subject}", now=now)
        case _:
            assert_never(outcome)


def from_event(event: object) -> Fired | Failed:
    """Return the outcome of what a trigger yielded."""
    try:
        payload = event.payload  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - a trigger's own class
        return _invalid_event(f"the trigger yielded a value of type {type(event).__name__}, not a TriggerEvent")
    return from_payload(payload)


def from_payload(payload: object) -> Fired | Failed:
    """Return the outcome of an event's payload, encoded by `typed_json`. An error event is never too large."""
    try:
        text = typed_json.text(payload)
        if len(text.encode()) > constants.EVENT_STORED_MAX and error_events.is_error(payload):
            return Fired(event=error_events.trimmed(payload))
    except (canonical.NotJsonError, RecursionError) as error:
        return _invalid_event(f"the event is not JSON: {error}")
    except Exception as error:  # noqa: BLE001 - a payload may be a Mapping of the trigger's own
        return _invalid_event(f"failed to read the event: {type(error).__name__}: {error_text(error)}")
    size = len(text.encode())
    if size > constants.EVENT_STORED_MAX:
        fit = f"{constants.EVENT_MAX} fit on a TaskRun and {constants.EVENT_STORED_MAX} in the archive"
        return _invalid_event(f"the event is {size} bytes of JSON; {fit}; store the data and return its location")
    return Fired(event=text)


def shorten_error(fired: Fired, wait_log: RedactingLog) -> Fired:
    """Return the event; an error event is shortened to fit on its TaskRun.

    Secrets are redacted first: the halves of a secret that is cut in two would not be found.
    """
    if len(fired.event.encode()) <= constants.EVENT_MAX or not error_events.is_error(_payload(fired.event)):
        return fired
    return Fired(event=error_events.shortened(_payload(wait_log.redact_event(fired.event))))


def _payload(event: str) -> Any:
    return typed_json.decode(json.loads(event))


def without_types(fired: Fired, wait_log: RedactingLog) -> Fired:
    """Return the event as plain JSON, for expressions and results, which no pod decodes."""
    return Fired(event=plain(fired.event, wait_log))


def plain(text: str, wait_log: RedactingLog) -> str:
    """Return text encoded by `typed_json` as plain JSON.

    Secrets in bytes are redacted before the bytes become base64.
    """
    return canonical.plain(typed_json.readable(json.loads(wait_log.redact_event(text)))) if _TYPES in text else text


def from_exception(error: BaseException) -> Failed:
    """Return the outcome of an exception: type, text, and the last frame."""
    match error:
        case AnswerTooLargeError():
            return Failed(reason=Reason.ANSWER_TOO_LARGE, message=error_text(error))
        case ObjectTaskError(reason=reason, message=text):
            return Failed(reason=reason, message=text)
        case AddressDeniedError():
            return Failed(reason=Reason.ADDRESS_DENIED, message=error_text(error))
        case NoResponseError():
            return Failed(reason=Reason.NO_RESPONSE, message=error_text(error))
        case UnexpectedResponseError(status=status, retry_after=retry_after):
            details = retry.FailureDetails(http_status=status, retry_after=retry_after)
            return Failed(reason=Reason.UNEXPECTED_RESPONSE, message=error_text(error), details=details)
        case RunFailedError():  # an expected end, of which people read the message, and not where it was raised
            details = retry.FailureDetails(exceptions.class_name(error))
            return Failed(reason=Reason.TRIGGER_FAILED, message=error_text(error), details=details)
        case _:
            part = error.__cause__ if isinstance(error, composite.PartFailedError) else None
            message = f"{type(error).__name__}: {error_text(error)}{_frame((part or error).__traceback__)}"
            details = retry.FailureDetails(exceptions.class_name(error))
            return Failed(reason=Reason.TRIGGER_FAILED, message=message, log=traceback_text(error), details=details)


def without_event() -> Failed:
    """Return the outcome of a trigger that ended without an event."""
    return Failed(
        reason=Reason.TRIGGER_ENDED, message="the trigger ended without an event: its run() must yield a TriggerEvent"
    )


def timed_out(wait: TriggerWait, last_look: str) -> Failed | TimedOut:
    """Return the outcome of a wait that reached its deadline, or that of the attempt."""
    task = wait.deadline_is_attempts
    if wait.on_timeout and not task:
        return TimedOut()
    message = f"the {'task' if task else 'deferral'} timed out while waiting {wait.awaited}"
    if last_look:
        message += f"; last look: {last_look}"
    return Failed(reason=Reason.TIMEOUT if task else Reason.DEFERRAL_TIMEOUT, message=message)


def error_text(error: BaseException) -> str:
    """Return the text of an exception; never raises, even if the exception's own code does."""
    try:
        return str(error)[:_TEXT_MAX]
    except BaseException:  # noqa: BLE001 - any exception's __str__ is a stranger's code, which may call sys.exit
        return "(no text)"


def traceback_text(error: BaseException) -> str:
    """Return the traceback without the frame that called the trigger, and the last frames of each chained exception."""
    inner = error.__traceback__.tb_next if error.__traceback__ else None
    try:
        return "".join(traceback.format_exception(type(error), error, inner, limit=-_FRAMES_MAX))
    except BaseException:  # noqa: BLE001 - it formats what strangers wrote
        return f"{type(error).__name__}: no traceback"


def redacted(outcome: Outcome, wait_log: RedactingLog) -> Outcome:
    """Return the outcome without secrets; a failure gets the last log lines of its trigger."""
    match outcome:
        case Fired(event=event):
            return Fired(event=wait_log.redact_event(event))
        case Done(result=str() as result):
            return Done(result=wait_log.redact_event(result))
        case Skipped(message=message):
            return Skipped(message=wait_log.redact(message))
        case Failed(message=message, log=log):
            log = _log(wait_log.lines, wait_log.redact(log))
            return replace(outcome, message=wait_log.redact(message), log=log)
        case TimedOut() | Cancelled() | Done():
            return outcome
        case _:
            assert_never(outcome)


def _log(lines: Sequence[str], traceback_text: str) -> str:
    """The traceback, and before it as many of the last lines as fit."""
    text = transitions.shorten(traceback_text.rstrip("\n"), _TRACE_MAX)
    for line in reversed(lines):
        longer = f"{line}\n{text}" if text else line
        if len(longer.encode(errors="replace")) > constants.LOG_MAX:
            break
        text = longer
    return text


def _invalid_event(message: str) -> Failed:
    return Failed(reason=Reason.EVENT_INVALID, message=message)


def _frame(traceback_text: TracebackType | None) -> str:
    """Where the trigger's own code raised, or called the library that did."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(traceback_text)]
    if not frames:
        return ""
    own = [place for place in frames if not place[0].co_filename.startswith(_CALLERS)]
    home = str(PurePath(own[0][0].co_filename).parent) if own else ""
    last = next((place for place in reversed(own) if place[0].co_filename.startswith(home)), frames[-1])
    library = "" if last is frames[-1] else f", raised in {_place(*frames[-1])}"
    return f" (at {_place(*last)}{library})"


def _place(code: CodeType, line: int) -> str:
    return f"{PurePath(code.co_filename).name}:{line} in {code.co_name}"
