"""Exceptions of Airflow, recognized by class names in their MRO.

Torpor never imports Airflow. An image with Airflow's operators keeps their behavior, and others pay nothing.
"""

from collections.abc import Mapping
from datetime import datetime

from torpor.errors import TaskSkipped

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
