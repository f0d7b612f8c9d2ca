"""What the expressions of a metric see when a task or a run has ended. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from torpor_crds.models.base import Metadata
from torpor_crds.models.metrics import CustomMetric
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_expressions.value import JSON
from torpor_wire import constants, times

TASK_ROOTS = frozenset({"task", "result", "params"})
RUN_ROOTS = frozenset({"run", "result", "params"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScope:
    """Metrics to evaluate, and the variables. `subject` is what they belong to, as part of a sentence."""

    workflow: Metadata
    subject: str
    metrics: tuple[CustomMetric, ...]
    variables: Mapping[str, JSON]


def task_scope(taskrun: TaskRun, workflow: Workflow) -> MetricScope | None:
    """The metrics of a TaskRun that has ended; None if its task has none."""
    task = next((each for each in workflow.spec.tasks if each.name == taskrun.spec.task), None)
    status = taskrun.status
    if task is None or not task.metrics or status.completion_time is None:
        return None
    fields: dict[str, JSON] = {
        "name": task.name,
        "index": None if taskrun.spec.map_index == constants.UNMAPPED else taskrun.spec.map_index,
        "state": status.state.value,
        "reason": status.reason,
        "attempt": status.attempt,
        "duration": _seconds(taskrun.metadata.creation_timestamp, status.completion_time),
    }
    variables = {"task": fields, "result": _parsed(status.result), "params": dict(workflow.spec.params)}
    return MetricScope(
        workflow=workflow.metadata, subject=f"task {task.name}", metrics=task.metrics, variables=variables
    )


def run_scope(workflow: Workflow) -> MetricScope | None:
    """The metrics of a run that has ended; None if it has none."""
    status = workflow.status
    if not workflow.spec.metrics or status.completion_time is None or status.start_time is None:
        return None
    fields: dict[str, JSON] = {
        "name": workflow.metadata.name,
        "state": status.state,
        "duration": _seconds(status.start_time, status.completion_time),
    }
    variables = {"run": fields, "result": _parsed(status.result), "params": dict(workflow.spec.params)}
    return MetricScope(
        workflow=workflow.metadata, subject="the run", metrics=workflow.spec.metrics, variables=variables
    )


def _seconds(start: str, end: str) -> float:
    return max(times.epoch(end) - times.epoch(start), 0.0)


def _parsed(text: str | None) -> JSON:
    """The result, or null without one: that of a failed task, or one in the archive."""
    try:
        value: JSON = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return value
