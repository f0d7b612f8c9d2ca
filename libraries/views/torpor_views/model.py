"""A run as the views read it: the Workflow with its tasks and groups, and its TaskRuns. Pure.

`Run.parse` takes the JSON of the objects and never raises for their content: an unknown state, a missing status or a
field of a wrong type is shown as far as possible. Times are seconds since the epoch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from torpor_wire.state import RUN_ENDED, RunState

from torpor_views import json_fields
from torpor_views import task as task_module
from torpor_views.instance import HistoryEntry, InstanceView, TriggerView
from torpor_views.json_fields import Fields
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

    type: str
    at: float
    by: str = ""
    state: str = ""
    message: str = ""
    count: int = 1

    @classmethod
    def parse(cls, body: Fields) -> Self | None:
        """Return the entry; None without a time."""
        at = json_fields.moment(body.get("at"))
        if at is None:
            return None
        text = {name: json_fields.text(body.get(name)) for name in ("type", "by", "state", "message")}
        return cls(at=at, count=max(json_fields.number(body.get("count"), 1), 1), **text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionView:
    """A condition of a Workflow. `status` is True, False or Unknown."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A Workflow with its TaskRuns.

    `tasks` are in topological order, tasks of equal rank in the order of the spec, hooks last. `instances` has the
    TaskRuns of each task in the order of their paths; it is empty if the TaskRuns were not given. `state` is None for
    a state that this version does not know; `word` is the state as written.
    """

    namespace: str
    name: str
    uid: str
    now: float
    generation: int = 0
    observed_generation: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    created: float | None = None
    deleting: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    image: str = ""
    parallelism: int = 50
    count_deferred: bool = False
    suspend: bool = False
    stop: bool = False
    cancel: bool = False
    timeout: float | None = None
    ttl: float | None = None
    state: RunState | None = RunState.PENDING
    word: str = RunState.PENDING
    progress: str = ""
    started: float | None = None
    reopened: float | None = None
    completed: float | None = None
    clearing: tuple[str, ...] = ()
    conditions: Mapping[str, ConditionView] = field(default_factory=dict)
    history: tuple[RunEvent, ...] = ()
    groups: tuple[GroupView, ...] = ()
    tasks: tuple[TaskView, ...] = ()
    instances: Mapping[str, tuple[InstanceView, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, workflow: Fields, taskruns: Iterable[Fields] = (), *, now: float) -> Self:
        """Return the run of a Workflow's JSON and of its TaskRuns', in any order. Never raises for their content.

        `now` is in seconds since the epoch. TaskRuns of an earlier Workflow of the same name are left out, and so are
        those that a clear has replaced.
        """
        metadata, spec = json_fields.fields(workflow.get("metadata")), json_fields.fields(workflow.get("spec"))
        status = json_fields.fields(workflow.get("status"))
        text, number, moment = json_fields.text, json_fields.number, json_fields.moment
        uid = text(metadata.get("uid"))
        word = text(status.get("state")) or RunState.PENDING
        clearing = json_fields.objects(json_fields.fields(status.get("clearing")).get("tasks"))
        history = (RunEvent.parse(item) for item in json_fields.objects(status.get("history")))
        return cls(
            namespace=text(metadata.get("namespace")),
            name=text(metadata.get("name")),
            uid=uid,
            now=now,
            generation=number(metadata.get("generation")),
            observed_generation=number(status.get("observedGeneration")),
            labels={key: text(value) for key, value in json_fields.fields(metadata.get("labels")).items()},
            created=moment(metadata.get("creationTimestamp")),
            deleting=moment(metadata.get("deletionTimestamp")),
            params=MappingProxyType(dict(json_fields.fields(spec.get("params")))),
            image=text(spec.get("image")),
            parallelism=number(spec.get("parallelism"), 50),
            count_deferred=json_fields.truth(spec.get("countDeferred")),
            suspend=json_fields.truth(spec.get("suspend")),
            stop=json_fields.truth(spec.get("stop")),
            cancel=json_fields.truth(spec.get("cancel")),
            timeout=json_fields.duration(spec.get("timeout")),
            ttl=json_fields.duration(spec.get("ttlAfterFinished")),
            state=json_fields.word(RunState, word),
            word=word,
            progress=text(status.get("progress")),
            started=moment(status.get("startTime")),
            reopened=moment(status.get("reopenedTime")),
            completed=moment(status.get("completionTime")),
            clearing=tuple(text(cleared.get("name")) for cleared in clearing),
            conditions=_conditions(status),
            history=tuple(entry for entry in history if entry is not None),
            groups=task_module.parse_groups(spec),
            tasks=task_module.parse_tasks(spec, status),
            instances=_instances(taskruns, uid),
        )

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


def _conditions(status: Fields) -> Mapping[str, ConditionView]:
    text = json_fields.text
    conditions = (
        ConditionView(
            type=text(entry.get("type")),
            status=text(entry.get("status")),
            reason=text(entry.get("reason")),
            message=text(entry.get("message")),
            since=json_fields.moment(entry.get("lastTransitionTime")),
        )
        for entry in json_fields.objects(status.get("conditions"))
    )
    return {condition.type: condition for condition in conditions}


def _instances(taskruns: Iterable[Fields], uid: str) -> Mapping[str, tuple[InstanceView, ...]]:
    """Return the TaskRuns by task; of two at one path, the one that was created after more clears."""
    by_task: dict[str, dict[Sequence[int], InstanceView]] = {}
    for body in taskruns:
        instance = InstanceView.parse(json_fields.fields(body))
        if uid and instance.workflow_uid and instance.workflow_uid != uid:
            continue
        former = by_task.setdefault(instance.task, {}).get(instance.path)
        if former is None or _age(former) < _age(instance):
            by_task[instance.task][instance.path] = instance
    return {task: tuple(instance for _, instance in sorted(paths.items())) for task, paths in by_task.items()}


def _age(instance: InstanceView) -> tuple[int, float]:
    return instance.clears, instance.created or 0.0
