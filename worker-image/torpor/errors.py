"""Exceptions of tasks: `TaskFailed` and `TaskSkipped` for task authors, the others for the runtime."""

from torpor_wire.reason import Reason


class TaskFailed(Exception):  # noqa: N818 - named after the state of the task
    """Raise it to fail the task without a retry, as Airflow's `AirflowFailException`.

        raise TaskFailed(f"no such table: {table}")

    Args:
        message: The message on the TaskRun, up to 1 kB.
        retryable: Whether the retry policy applies, as it does for other exceptions.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class TaskSkipped(Exception):  # noqa: N818 - named after the state of the task
    """Raise it to end the task Skipped, without a retry, as Airflow's `AirflowSkipException`.

    `why` is the message on the TaskRun.
    """

    def __init__(self, why: str = "") -> None:
        super().__init__(why)


class UnreadableError(Exception):
    """The result of another task is not available at present; another attempt may read it."""


class RejectedError(Exception):
    """The task cannot run, or its outcome cannot be stored, and a retry would not help.

    `reason` is written to the TaskRun.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
