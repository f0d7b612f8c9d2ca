"""Exceptions of other libraries, recognized by the name of a class anywhere in their MRO.

Torpor never imports Airflow, so an image that carries Airflow's operators keeps their meaning, and one without it pays
nothing.
"""

from collections.abc import Mapping
from datetime import datetime

from torpor.errors import TaskSkipped

FINAL = frozenset({"AirflowFailException", "AirflowSensorTimeout", "AirflowTaskTerminated"})
"""The task has failed for good: it is not retried."""

SKIPPED = frozenset({"AirflowSkipException"})
"""The task ends Skipped."""

INSTEAD: Mapping[str, str] = {
    "AirflowRescheduleException": "it has no reschedule_date, a datetime at which the task begins again",
    "DownstreamTasksSkipped": (
        "a task of Torpor chooses what follows it by `branch: true` in the workflow, and returns the names of those "
        "tasks"
    ),
    "DagRunTriggerException": (
        "create a Workflow with a Kubernetes client instead, and wait for it with torpor.triggers.WorkflowEnd"
    ),
}
"""What Airflow's own machinery does and Torpor does not, by the exception that asks for it: what to do instead."""

_RESCHEDULE = frozenset({"AirflowRescheduleException"})


def rescheduled_to(error: BaseException) -> datetime | None:
    """When the task is to begin again, where the exception asks for that (Airflow's `mode="reschedule"`)."""
    if not is_named(error, _RESCHEDULE):
        return None
    moment = getattr(error, "reschedule_date", None)
    return moment if isinstance(moment, datetime) else None


def instead(error: BaseException) -> str | None:
    """What to do instead of raising this, for what Torpor does in another way."""
    return next((INSTEAD[parent.__name__] for parent in type(error).__mro__ if parent.__name__ in INSTEAD), None)


def is_sensor(operator: object) -> bool:
    """Whether it is a sensor of Airflow's, which is not retried when its deferral takes too long either."""
    return any(parent.__name__ == "BaseSensorOperator" for parent in type(operator).__mro__)


def is_named(error: BaseException, names: frozenset[str]) -> bool:
    """Whether the class of an exception, or one of its base classes, has one of these names."""
    return any(parent.__name__ in names for parent in type(error).__mro__)


def skip_of(error: BaseException) -> BaseException | None:
    """The exception by which a task skips itself: TaskSkipped, or Airflow's; None where the error is none.

    A TaskGroup wraps what is raised within it, so a group of one skip and nothing else is that skip.
    """
    if isinstance(error, BaseExceptionGroup):
        return skip_of(error.exceptions[0]) if len(error.exceptions) == 1 else None
    return error if isinstance(error, TaskSkipped) or is_named(error, SKIPPED) else None
