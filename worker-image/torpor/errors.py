"""Errors that a task raises on purpose, and the one by which bad input found around a task is told.

`TaskFailed` and `TaskSkipped` are for task authors. `RejectedError` carries a reason from the inside of this package to
the report; it is never raised by user code.
"""

from torpor_wire.reason import Reason


class TaskFailed(Exception):  # noqa: N818 - a statement about the task, named as the reason that kubectl shows
    """The task has failed for good: it is not tried again, unless `retryable`."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class TaskSkipped(Exception):  # noqa: N818 - a statement about the task, named as the state that kubectl shows
    """There is nothing to do: the task ends Skipped and is not tried again; `why` is the message that people see."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)


class UnreadableError(Exception):
    """The result of another task cannot be read at the moment; another attempt may."""


class RejectedError(Exception):
    """The task cannot be run, or its outcome cannot be stored; another attempt would find the same."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
