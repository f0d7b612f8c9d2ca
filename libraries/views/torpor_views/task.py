"""A task of a run, parsed leniently: what the spec says of it, and its entry in the Workflow status. Pure."""

import json
from dataclasses import dataclass
from typing import Self

from torpor_wire import constants
from torpor_wire.enums import TriggerRule
from torpor_wire.state import TASK_BROKEN, TASK_ENDED, TaskState

from torpor_views import json_fields, task_graph
from torpor_views.json_fields import Fields

_BODIES = ("python", "container", "run", "object", "http")
"""The bodies of a task by their fields; a task with none of them is a trigger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """What the Workflow status counts of a task. `total` is 0 while the number of instances is unknown."""

    total: int = 0
    created: int = 0
    active: int = 0
    deferred: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    removed: int = 0

    @classmethod
    def parse(cls, body: Fields) -> Self:
        """Return the counts; those that are missing are 0."""
        return cls(**{name: max(json_fields.number(body.get(name)), 0) for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A mapped group. `chain`: the groups around it and itself, outermost first."""

    name: str
    chain: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task: what the spec says, and its entry in the Workflow status.

    `kind`: python, container, run, object, http, or trigger for a wait without a pod. `groups`: the groups that
    contain it, outermost first. `upstream`: the tasks that its rule counts. `before`: `upstream` and the tasks that
    produce the lists of its groups. `source`: the ConfigMap with the code of a python task; empty if its image has it.
    `containers`: those of its pod beside its own, in their order. `code`: the function, or the body as JSON. `state`
    is None for a state that this version does not know; `word` is the state as written.
    """

    name: str
    kind: str = "python"
    mapped: bool = False
    groups: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    rule: TriggerRule = TriggerRule.ALL_SUCCESS
    hook: str = ""
    branch: bool = False
    may_fail: bool = False
    when: str = ""
    image: str = ""
    source: str = ""
    containers: tuple[str, ...] = ()
    code: str = ""
    pool: str = ""
    trigger_pool: str = constants.DEFAULT_POOL
    trigger_class: str = ""
    max_active: int | None = None
    state: TaskState | None = TaskState.PENDING
    word: str = TaskState.PENDING
    counts: TaskCounts = TaskCounts()
    reason: str = ""
    message: str = ""

    @property
    def ended(self) -> bool:
        """Whether the task has ended."""
        return self.state in TASK_ENDED

    @property
    def broken(self) -> bool:
        """Whether the task ended without success."""
        return self.state in TASK_BROKEN

    @property
    def several(self) -> bool:
        """Whether the task can have several instances: it is mapped or in a group."""
        return self.mapped or bool(self.groups)

    @property
    def needs_pod(self) -> bool:
        """Whether its instances run in pods."""
        return self.kind not in {"trigger", "run", "object", "http"}


def parse_groups(spec: Fields) -> tuple[GroupView, ...]:
    """Return the mapped groups in the order of the spec."""
    chains = task_graph.group_chains(spec)
    return tuple(GroupView(name=name, chain=chain) for name, chain in chains.items())


def parse_tasks(spec: Fields, status: Fields) -> tuple[TaskView, ...]:
    """Return the tasks in topological order; those that only the status has come last."""
    graph = task_graph.build(spec)
    entries = {json_fields.text(entry.get("name")): entry for entry in json_fields.objects(status.get("tasks"))}
    named = {json_fields.text(task.get("name")): task for task in json_fields.objects(spec.get("tasks"))}
    order = (*graph.order, *(name for name in entries if name and name not in named))
    return tuple(_task(name, spec, named.get(name, {}), entries.get(name, {}), graph) for name in order)


def _task(name: str, spec: Fields, body: Fields, entry: Fields, graph: task_graph.TaskGraph) -> TaskView:
    text = json_fields.text
    word = text(entry.get("state")) or TaskState.PENDING
    return TaskView(
        name=name,
        kind=next((kind for kind in _BODIES if body.get(kind) is not None), "trigger"),
        mapped=bool(body.get("expand")) or body.get("expandKwargs") is not None,
        groups=graph.chains.get(name, ()),
        upstream=graph.upstream.get(name, ()),
        before=graph.before.get(name, ()),
        rule=json_fields.word(TriggerRule, body.get("rule")) or TriggerRule.ALL_SUCCESS,
        hook=text(body.get("hook")),
        branch=json_fields.truth(body.get("branch")),
        may_fail=json_fields.truth(body.get("mayFail")),
        when=text(body.get("when")),
        image=text(body.get("image")) or text(spec.get("image")),
        source=_source(spec, body),
        containers=_containers(body),
        code=_code(body),
        pool=text(body.get("pool")),
        trigger_pool=text(body.get("triggerPool")) or text(spec.get("triggerPool")) or constants.DEFAULT_POOL,
        trigger_class=text(json_fields.fields(body.get("trigger")).get("class")),
        max_active=json_fields.number(body.get("maxActive")) or None,
        state=json_fields.word(TaskState, word),
        word=word,
        counts=TaskCounts.parse(entry),
        reason=text(entry.get("reason")),
        message=text(entry.get("message")),
    )


def _containers(body: Fields) -> tuple[str, ...]:
    """The names of init containers, sidecars, and all steps but the last, which is the container of the task."""
    pod, steps = json_fields.fields(body.get("pod")), json_fields.fields(body.get("container")).get("steps")
    lists = (pod.get("initContainers"), pod.get("sidecars"), json_fields.items(steps)[:-1])
    return tuple(json_fields.text(each.get("name")) for part in lists for each in json_fields.objects(part))


def _source(spec: Fields, body: Fields) -> str:
    if body.get("python") is None:
        return ""
    return json_fields.text(json_fields.fields(body.get("source") or spec.get("source")).get("configMap"))


def _code(body: Fields) -> str:
    """What the task runs, for comparison."""
    if function := json_fields.text(body.get("python")):
        return function
    program = (
        body.get("container") or body.get("run") or body.get("object") or body.get("http") or body.get("trigger") or ""
    )
    return json.dumps(program, sort_keys=True, default=str)
