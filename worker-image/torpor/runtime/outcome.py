"""The outcome of a segment, checked so that it can be stored: a result, a deferral, a skip, or a failure with a reason.

Every behaviour of user code becomes one of these values, or a body for the archive. A result or a deferral that
cannot be stored is not retried, because the work would be repeated and still not fit.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from torpor_wire import canonical, constants
from torpor_wire.reason import Reason

from torpor.deferral import Deferral, DeferralError
from torpor.errors import RejectedError, TaskFailed
from torpor.runtime import exceptions, json_text
from torpor.runtime.suspension import DeferralContext, Suspension

if TYPE_CHECKING:
    from torpor.runtime.result_encoding import Body

_NO_ARCHIVE = "install the archive for larger ones, or store it elsewhere and return its location"

_OF_DEBUGGER = frozenset({"BdbQuit"})
_NO_TERMINAL = "a debugger needs a terminal: run the task alone, with `torpor run FILE --task NAME`"


class Success(NamedTuple):
    """The task returned. `result` is JSON text, None if `stored` describes a body in the archive.

    `files` describes the stored outputs.
    """

    result: str | None
    stored: Mapping[str, canonical.Json] | None = None
    files: tuple[Mapping[str, canonical.Json], ...] = ()


class TaskFailure(NamedTuple):
    """The task failed. If it is not `retryable`, no other attempt follows. `exception`: the class of what it raised."""

    reason: Reason
    message: str
    retryable: bool
    exception: str = ""


class TaskSkip(NamedTuple):
    """The task skipped itself."""

    message: str


Outcome: TypeAlias = Success | Suspension | TaskSkip | TaskFailure


def from_return(
    returned: object, place: Callable[[], DeferralContext], *, archived: bool = False
) -> "Success | Suspension | Body":
    """Return the outcome of a task that returned. Raises RejectedError if it cannot be stored.

    With an archive (`archived`), a result that is too large for the TaskRun is a body.
    """
    if isinstance(returned, Deferral):
        from torpor.runtime import deferral  # noqa: PLC0415 - 3 ms, only for tasks that defer

        return deferral.prepare(returned, place())
    if archived:
        from torpor.runtime import result_encoding  # noqa: PLC0415 - only with an archive

        encoded = result_encoding.encode_result(returned, constants.RESULT_MAX)
        return Success(encoded) if isinstance(encoded, str) else encoded
    if isinstance(returned, bytes | bytearray | memoryview | os.PathLike):
        message = (
            f"the result is of type {type(returned).__name__}: bytes and files need the archive, which is not installed"
        )
        raise RejectedError(Reason.RESULT_INVALID, message)
    return Success(json_text.text(returned, constants.RESULT_MAX, Reason.RESULT_INVALID, "the result", _NO_ARCHIVE))


def from_exception(error: BaseException) -> Success | TaskSkip | TaskFailure:
    """Return the outcome of a task that raised."""
    if (skip := exceptions.skip_of(error)) is not None:
        return TaskSkip(exceptions.exception_text(skip) or "the task skipped itself")
    match error:
        case RejectedError():
            return TaskFailure(error.reason, error.message, retryable=False)
        case DeferralError():
            return TaskFailure(Reason.DEFERRAL_INVALID, exceptions.exception_text(error), retryable=False)
        case TaskFailed():
            name = exceptions.class_name(error)
            return TaskFailure(Reason.ERROR, exceptions.exception_text(error), error.retryable, name)
        case SystemExit(code=None | 0):
            return Success("null")
        case SystemExit():
            return TaskFailure(Reason.ERROR, f"the task called sys.exit({error.code!r:.200})", True, "SystemExit")
        case _ if exceptions.is_named(error, _OF_DEBUGGER):
            return TaskFailure(Reason.ERROR, f"{type(error).__name__}: {_NO_TERMINAL}", retryable=False)
        case _:
            instead = exceptions.instead(error)
            if instead is not None:
                message = f"{type(error).__name__} has no effect in Torpor: {instead}"
                return TaskFailure(Reason.ERROR, message, retryable=False)
            final = exceptions.is_named(error, exceptions.FINAL)
            return TaskFailure(Reason.ERROR, exceptions.describe(error), not final, exceptions.class_name(error))
