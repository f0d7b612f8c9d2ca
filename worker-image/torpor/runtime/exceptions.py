"""Exceptions of user code: one line for the TaskRun, the full traceback on stderr, and what Airflow's mean.

The exception, its text and its frames come from user code, so nothing here raises, even if their code does.
Airflow's classes are recognized by name, and Airflow is never imported.
"""

import os
import sys
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import NamedTuple

from torpor_wire.reason import Reason

from torpor.deferral import DeferralError
from torpor.errors import RejectedError, TaskSkipped

FINAL = frozenset({"AirflowFailException", "AirflowSensorTimeout", "AirflowTaskTerminated"})
"""The task fails without a retry."""

SKIPPED = frozenset({"AirflowSkipException"})
"""The task ends Skipped."""

INSTEAD: Mapping[str, str] = {
    "AirflowRescheduleException": "it has no reschedule_date, the datetime at which the task restarts",
    "DownstreamTasksSkipped": (
        "set `branch: true` for the task in the workflow, and return the names of the tasks to run"
    ),
    "DagRunTriggerException": (
        "create a Workflow with a Kubernetes client instead, and wait for it with torpor.triggers.WorkflowEnd"
    ),
}
"""Exceptions that ask for features of Airflow that Torpor does not have, with the alternative."""

_RESCHEDULE = frozenset({"AirflowRescheduleException"})

_FRAMES = 3
_TEXT_MAX = 600
_INSIDE = (__file__.rpartition("/")[0], "<frozen ")
_STANDARD = (f"{os.path.dirname(os.__file__)}/", "<")  # noqa: PTH120 - pathlib costs 5 ms
_INSTALLED = ("/site-packages/", "/dist-packages/")


def describe(error: BaseException) -> str:
    """Return type and text of an exception and its position in the task's own code, in one line."""
    text = f"{type(error).__name__}: {exception_text(error)}"
    if isinstance(error, BaseExceptionGroup):
        text += "".join(f"; {type(nested).__name__}: {exception_text(nested)}" for nested in error.exceptions[:_FRAMES])
    frames = _frames(error.__traceback__)
    return text + (f" (at {_listed(frames)})" if frames else "")


def class_name(error: BaseException) -> str:
    """Return the class of an exception with its module, such as `OSError` or `requests.exceptions.Timeout`."""
    try:
        module, name = str(type(error).__module__), str(type(error).__qualname__)
    except Exception:  # noqa: BLE001 - a metaclass is user code
        return ""
    return name if module in {"builtins", "__main__"} else f"{module}.{name}"


def _listed(frames: list[str]) -> str:
    return ", ".join(
        frame if not number or frame.startswith("raised") else f"in {frame}" for number, frame in enumerate(frames)
    )


def exception_text(error: BaseException) -> str:
    """Return the beginning of an exception's text."""
    try:
        return str(error)[:_TEXT_MAX]
    except Exception:  # noqa: BLE001 - any exception's __str__ is user code
        return "(its text is not available)"


def print_failure(error: BaseException) -> None:
    """Print a failure to stderr, with the traceback from the first frame of user code. For a skip, print the reason."""
    if isinstance(error, DeferralError) and not _frames(error.__traceback__):
        print(f"torpor: {Reason.DEFERRAL_INVALID}: {exception_text(error)}", file=sys.stderr)  # noqa: T201 - the pod's log
        return
    if (skip := skip_of(error)) is not None:
        print(f"torpor: {Reason.SKIPPED}: {exception_text(skip)}", file=sys.stderr)  # noqa: T201 - the pod's log
        return
    if isinstance(error, RejectedError):
        print(f"torpor: {error.reason}: {error.message}", file=sys.stderr)  # noqa: T201 - the pod's log
        if error.__cause__ is None or not _frames(error.__cause__.__traceback__):
            return
        error = error.__cause__
    import traceback  # noqa: PLC0415 - 3 ms, only for failures

    try:
        traceback.print_exception(error.with_traceback(_outside(error.__traceback__)))
    except Exception:  # noqa: BLE001 - user code's __str__ and __repr__ run in there
        print(describe(error), file=sys.stderr)  # noqa: T201 - the pod's log


def _frames(trace: TracebackType | None) -> list[str]:
    """Return the innermost frames of the task's own code, last call first, and where a library raised."""
    every: list[_Frame] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(_INSIDE):
            every.append(_Frame(code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    if not every:
        return []
    # The callers of the task are in the standard library (asyncio, importlib); the first other frame is its own.
    home = _package(next((frame.file for frame in every if not frame.file.startswith(_STANDARD)), every[0].file))
    own = [frame for frame in every if _is_own(frame.file, home)]
    shown = [str(frame) for frame in own[-_FRAMES:][::-1]]
    return shown if own[-1] is every[-1] else [*shown, f"raised in {every[-1]}"]


class _Frame(NamedTuple):
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{'/'.join(self.file.rsplit('/', 2)[-2:])}:{self.line} {self.function}"


def _is_own(file: str, home: str) -> bool:
    """Return whether a file is the task's own: part of the called package, or not installed with a library."""
    if file.startswith(home):
        return True
    return not file.startswith(_STANDARD) and not any(folder in file for folder in _INSTALLED)


def _package(file: str) -> str:
    """Return the file, or the package of an installed file."""
    for folder in _INSTALLED:
        before, separator, rest = file.partition(folder)
        if separator:
            return f"{before}{separator}{rest.partition('/')[0]}"
    return file


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame of user code; all of it if there is none."""
    at = trace
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_INSIDE):
        at = at.tb_next
    return at or trace


def rescheduled_to(error: BaseException) -> datetime | None:
    """Return when the task restarts, for Airflow's `mode="reschedule"`; else None."""
    if not is_named(error, _RESCHEDULE):
        return None
    moment = getattr(error, "reschedule_date", None)
    return moment if isinstance(moment, datetime) else None


def instead(error: BaseException) -> str | None:
    """Return the alternative to an exception that Torpor does not support."""
    return next((INSTEAD[parent.__name__] for parent in type(error).__mro__ if parent.__name__ in INSTEAD), None)


def is_sensor(operator: object) -> bool:
    """Return whether it is a sensor of Airflow, which is not retried after a timeout of its deferral."""
    return any(parent.__name__ == "BaseSensorOperator" for parent in type(operator).__mro__)


def is_named(error: BaseException, names: frozenset[str]) -> bool:
    """Return whether the class of an exception, or one of its bases, has one of these names."""
    return any(parent.__name__ in names for parent in type(error).__mro__)


def skip_of(error: BaseException) -> BaseException | None:
    """Return the exception by which a task skips itself: TaskSkipped or Airflow's; else None.

    A TaskGroup wraps exceptions, so a group with a single skip counts as that skip.
    """
    if isinstance(error, BaseExceptionGroup):
        return skip_of(error.exceptions[0]) if len(error.exceptions) == 1 else None
    return error if isinstance(error, TaskSkipped) or is_named(error, SKIPPED) else None
