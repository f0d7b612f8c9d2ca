"""How a failure is told: in one line on the TaskRun, in full on stderr, which is the pod's log.

The exception is user code's and so are its text and its frames: nothing here raises, whatever they do.
"""

import sys
from types import TracebackType

from torpor_wire.reason import Reason

from torpor.deferral import DeferralError
from torpor.errors import RejectedError

_FRAMES = 3
_TEXT_MAX = 600
_INSIDE = (__file__.rpartition("/")[0], "<frozen ")


def describe(error: BaseException) -> str:
    """Type, text and innermost frames of an exception, in one line."""
    text = f"{type(error).__name__}: {said(error)}"
    if isinstance(error, BaseExceptionGroup):
        text += "".join(f"; {type(one).__name__}: {said(one)}" for one in error.exceptions[:_FRAMES])
    frames = _frames(error.__traceback__)
    return text + (f" (at {', in '.join(frames)})" if frames else "")


def said(error: BaseException) -> str:
    """The beginning of an exception's text."""
    try:
        return str(error)[:_TEXT_MAX]
    except Exception:  # noqa: BLE001 - any exception's __str__ is user code
        return "(its text cannot be had)"


def show(error: BaseException) -> None:
    """Prints a failure on stderr: its traceback from the first frame of user code on, as far as it can be printed."""
    if isinstance(error, DeferralError) and not _frames(error.__traceback__):
        print(f"torpor: {Reason.DEFERRAL_INVALID}: {said(error)}", file=sys.stderr)  # noqa: T201 - the pod's log
        return
    if isinstance(error, RejectedError):
        print(f"torpor: {error.reason}: {error.message}", file=sys.stderr)  # noqa: T201 - the pod's log
        if error.__cause__ is None or not _frames(error.__cause__.__traceback__):
            return
        error = error.__cause__
    import traceback  # noqa: PLC0415 - 3 ms that only a failure pays

    try:
        traceback.print_exception(error.with_traceback(_outside(error.__traceback__)))
    except Exception:  # noqa: BLE001 - user code's __str__ and __repr__ run in there
        print(describe(error), file=sys.stderr)  # noqa: T201 - the pod's log


def _frames(found: TracebackType | None) -> list[str]:
    """The innermost frames outside of this package, the last call first."""
    frames: list[str] = []
    while found is not None:
        code = found.tb_frame.f_code
        if not code.co_filename.startswith(_INSIDE):
            name = "/".join(code.co_filename.rsplit("/", 2)[-2:])
            frames = [f"{name}:{found.tb_lineno} {code.co_name}", *frames[: _FRAMES - 1]]
        found = found.tb_next
    return frames


def _outside(found: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames that lead up to user code; all of it where there is no such code."""
    at = found
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_INSIDE):
        at = at.tb_next
    return at or found
