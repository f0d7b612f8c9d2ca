"""A run as the views read it: the Workflow with its tasks and groups, and its TaskRuns. Pure.

`Run.parse` takes the JSON of the objects and never raises for their content: an unknown state, a missing status or a
field of a wrong type is shown as far as possible. Times are seconds since the epoch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from torpor_wire.state import RUN_ENDED, RunState

from torpor_views import json_fields
from torpor_views import task as task_module
from torpor_views.instance import HistoryEntry, InstanceView, TriggerView
from torpor_views.json_fields import Fields, duration, moment, number, read_from, text, truth
from torpor_views.notifications import NotificationView, is_notification, parse_notifications
from torpor_views.task import GroupView, TaskCounts, TaskView

__all__ = [
    "ConditionView",
    "GroupView",
    "HistoryEntry",
    "InstanceView",
    "RunEvent",
    "RunView",
    "TaskCounts",
    "TaskView",
    "TriggerView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """An entry of `status.history` of a Workflow. `by`: the user, where known. `count`: as in HistoryEntry."""

    at: float
    type: str = read_from("type", text)
    by: str = read_from("by", text)
    state: str = read_from("state", text)
    message: str = read_from("message", text)
    count: int = read_from("count", json_fields.count)

    @classmethod
    def parse(cls, body: Fields) -> Self | None:
        """Return the entry; None without a time."""
        at = moment(body.get("at"))
        return None if at is None else cls(at=at, **json_fields.read(cls, body))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionView:
    """A condition of a Workflow. `status` is True, False or Unknown."""

    type: str = read_from("type", text)
    status: str = read_from("status", text)
    reason: str = read_from("reason", text)
    message: str = read_from("message", text)
    since: float | None = read_from("lastTransitionTime", moment)


def _word(value: object) -> str:
    return text(value) or RunState.PENDING


def _state(value: object) -> RunState | None:
    return json_fields.word(RunState, _word(value))


def _parallelism(value: object) -> int:
    return number(value, 50)


def _labels(value: object) -> Mapping[str, str]:
    return {name: text(label) for name, label in json_fields.fields(value).items()}


def _names(value: object) -> tuple[str, ...]:
    return tuple(text(task.get("name")) for task in json_fields.objects(value))


def _conditions(value: object) -> Mapping[str, ConditionView]:
    conditions = (ConditionView(**json_fields.read(ConditionView, body)) for body in json_fields.objects(value))
    return {condition.type: condition for condition in conditions}


def _history(value: object) -> tuple[RunEvent, ...]:
    return tuple(event for event in map(RunEvent.parse, json_fields.objects(value)) if event is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A Workflow with its TaskRuns.

    `tasks` are in topological order, tasks of equal rank in the order of the spec, hooks last. `instances` has the
    TaskRuns of each task in the order of their paths; it is empty if the TaskRuns were not given. `state` is None for
    a state that this version does not know; `word` is the state as written.
    """

    now: float
    namespace: str = read_from("metadata.namespace", text)
    name: str = read_from("metadata.name", text)
    uid: str = read_from("metadata.uid", text)
    generation: int = read_from("metadata.generation", number)
    labels: Mapping[str, str] = read_from("metadata.labels", _labels)
    created: float | None = read_from("metadata.creationTimestamp", moment)
    deleting: float | None = read_from("metadata.deletionTimestamp", moment)
    params: Mapping[str, Any] = read_from("spec.params", json_fields.fields)
    template: str = read_from("spec.templateRef.name", text)
    image: str = read_from("spec.image", text)
    parallelism: int = read_from("spec.parallelism", _parallelism)
    count_deferred: bool = read_from("spec.countDeferred", truth)
    suspend: bool = read_from("spec.suspend", truth)
    stop: bool = read_from("spec.stop", truth)
    cancel: bool = read_from("spec.cancel", truth)
    timeout: float | None = read_from("spec.timeout", duration)
    ttl: float | None = read_from("spec.ttlAfterFinished", duration)
    observed_generation: int = read_from("status.observedGeneration", number)
    state: RunState | None = read_from("status.state", _state)
    word: str = read_from("status.state", _word)
    progress: str = read_from("status.progress", text)
    started: float | None = read_from("status.startTime", moment)
    reopened: float | None = read_from("status.reopenedTime", moment)
    completed: float | None = read_from("status.completionTime", moment)
    clearing: tuple[str, ...] = read_from("status.clearing.tasks", _names)
    conditions: Mapping[str, ConditionView] = read_from("status.conditions", _conditions)
    history: tuple[RunEvent, ...] = read_from("status.history", _history)
    groups: tuple[GroupView, ...] = ()
    tasks: tuple[TaskView, ...] = ()
    instances: Mapping[str, tuple[InstanceView, ...]] = field(default_factory=dict)
    notifications: tuple[NotificationView, ...] = ()

    @classmethod
    def parse(cls, workflow: Fields, taskruns: Iterable[Fields] = (), *, now: float) -> Self:
        """Return the run of a Workflow's JSON and of its TaskRuns', in any order. Never raises for their content.

        `now` is in seconds since the epoch. TaskRuns of an earlier Workflow of the same name are left out, and so are
        those that a clear has replaced.
        """
        spec, values = json_fields.fields(workflow.get("spec")), json_fields.read(cls, workflow)
        bodies = [json_fields.fields(body) for body in taskruns]
        return cls(
            now=now,
            groups=task_module.parse_groups(spec),
            tasks=task_module.parse_tasks(spec, json_fields.fields(workflow.get("status"))),
            instances=_instances(bodies, values["uid"]),
            notifications=parse_notifications(workflow, filter(is_notification, bodies)),
            **values,
        )

    def with_instances(self, instances: Iterable[InstanceView]) -> Self:
        """Return the run with these instances, in any order."""
        return replace(self, instances=instances_by_task(instances, self.uid))

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self.state in RUN_ENDED

    @property
    def cancelled(self) -> bool:
        """Whether the run ended, or ends, since a user stopped, cancelled or deleted it."""
        verdict = self.conditions.get("Succeeded")
        return self.state is RunState.FAILED and verdict is not None and verdict.reason == "Cancelled"

    def task(self, name: str) -> TaskView | None:
        """Return the task of this name."""
        return next((task for task in self.tasks if task.name == name), None)

    def instances_of(self, task: str) -> tuple[InstanceView, ...]:
        """Return the instances of a task, by path."""
        return self.instances.get(task, ())

    def word_of(self, task: TaskView) -> str:
        """Return the state of a task to show: that of its only instance, which is fresher and more precise."""
        instances = self.instances_of(task.name)
        return task.word if task.several or len(instances) != 1 or task.broken else instances[0].word

    def all_instances(self) -> tuple[InstanceView, ...]:
        """Return all instances, in the order of the tasks."""
        known = {task.name for task in self.tasks}
        others = (name for name in self.instances if name not in known)
        return tuple(
            instance for name in (*(task.name for task in self.tasks), *others) for instance in self.instances_of(name)
        )


def _instances(taskruns: Iterable[Fields], uid: str) -> Mapping[str, tuple[InstanceView, ...]]:
    bodies = (body for body in taskruns if not is_notification(body))
    return instances_by_task(map(InstanceView.parse, bodies), uid)


def instances_by_task(instances: Iterable[InstanceView], uid: str) -> Mapping[str, tuple[InstanceView, ...]]:
    """Return the instances of the Workflow with this uid by task, in the order of their paths.

    Of two at one path it is the one that was created after more clears.
    """
    by_task: dict[str, dict[Sequence[int], InstanceView]] = {}
    for instance in instances:
        if uid and instance.workflow_uid and instance.workflow_uid != uid:
            continue
        former = by_task.setdefault(instance.task, {}).get(instance.path)
        if former is None or _age(former) < _age(instance):
            by_task[instance.task][instance.path] = instance
    return {task: tuple(instance for _, instance in sorted(paths.items())) for task, paths in by_task.items()}


def _age(instance: InstanceView) -> tuple[int, float]:
    return instance.clears, instance.created or 0.0
