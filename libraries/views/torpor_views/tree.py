"""The tree of a run: groups as levels, tasks in topological order, mapped tasks folded. Pure.

The tree is complete with the Workflow alone. With the TaskRuns it also has times, exact counts and instances.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from torpor_wire.state import TASK_ENDED, State, TaskState

from torpor_views import counts, messages
from torpor_views.counts import InstanceCounts
from torpor_views.model import InstanceView, RunView, TaskView

ALL = frozenset({"*"})
"""`unfold` for the instances of all tasks."""


class NodeKind(StrEnum):
    """The kind of a node."""

    GROUP = "group"
    TASK = "task"
    INSTANCE = "instance"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A line of the tree.

    `ref`: the name as the commands take it: `task`, `task/0.1`, or the name of the group. `label`: what to show, such
    as the display name of an instance. `state`: a word of State or TaskState, or an unknown word as written. `folded`:
    whether the task has, or can have, several instances; then show `counts.summary(node.counts)`. `hidden`: instances
    that are not among the children. `started`, `ended` (None while it goes on) and `duration` (up to now while it goes
    on) need the TaskRuns. `attempt`: of an instance, or of the only instance of a task; 0 if unknown.
    """

    kind: NodeKind
    ref: str
    label: str
    state: str
    counts: InstanceCounts
    folded: bool = False
    hidden: int = 0
    hook: str = ""
    taskrun: str = ""
    attempt: int = 0
    started: float | None = None
    ended: float | None = None
    duration: float | None = None
    reason: str = ""
    message: str = ""
    children: tuple["TreeNode", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTree:
    """The tree of a run. `state` is a word of RunState, or an unknown word as written."""

    namespace: str
    name: str
    state: str
    progress: str
    counts: InstanceCounts
    reason: str
    message: str
    started: float | None
    ended: float | None
    duration: float | None
    nodes: tuple[TreeNode, ...]


def build(run: RunView, *, unfold: Collection[str] = (), limit: int = 20) -> RunTree:
    """Return the tree of a run.

    `unfold`: names of tasks whose instances are shown, or ALL; at most `limit` instances of each, failed ones first,
    then those that run or wait. The TaskRuns of the run are needed for that.
    """
    verdict = run.conditions.get("Succeeded")
    return RunTree(
        namespace=run.namespace,
        name=run.name,
        state=run.word,
        progress=run.progress,
        counts=counts.of_run(run),
        reason=verdict.reason if verdict else "",
        message=messages.of_tree(run),
        started=run.started,
        ended=run.completed,
        duration=_duration(run, run.started or run.created, run.completed),
        nodes=_level(run, run.tasks, 0, unfold, limit),
    )


def _level(
    run: RunView, tasks: Sequence[TaskView], depth: int, unfold: Collection[str], limit: int
) -> tuple[TreeNode, ...]:
    """The nodes of the tasks that are in the same groups down to this depth, in the order of the tasks."""
    nodes: list[TreeNode] = []
    seen: set[str] = set()
    for task in tasks:
        if len(task.groups) <= depth:
            nodes.append(_task(run, task, unfold, limit))
        elif (name := task.groups[depth]) not in seen:
            seen.add(name)
            members = [member for member in tasks if len(member.groups) > depth and member.groups[depth] == name]
            nodes.append(_group(run, name, members, _level(run, members, depth + 1, unfold, limit)))
    return tuple(nodes)


def _group(run: RunView, name: str, members: Sequence[TaskView], children: tuple[TreeNode, ...]) -> TreeNode:
    instances = [instance for task in members for instance in run.instances_of(task.name)]
    started, ended = _span(instances, ended=all(task.ended for task in members))
    return TreeNode(
        kind=NodeKind.GROUP,
        ref=name,
        label=name,
        state=_group_state(members),
        counts=sum((counts.of_task(run, task) for task in members), InstanceCounts()),
        folded=True,
        started=started,
        ended=ended,
        duration=_duration(run, started, ended),
        children=children,
    )


def _group_state(members: Iterable[TaskView]) -> str:
    """The state of a group, as the operator combines the states of parts."""
    states = {task.state for task in members}
    if not states <= TASK_ENDED:
        return TaskState.PENDING if states == {TaskState.PENDING} else TaskState.RUNNING
    worst = next(
        (state for state in (TaskState.FAILED, TaskState.CANCELLED, TaskState.UPSTREAM_FAILED) if state in states), None
    )
    return worst or (TaskState.SKIPPED if states <= {TaskState.SKIPPED} else TaskState.SUCCEEDED)


def _task(run: RunView, task: TaskView, unfold: Collection[str], limit: int) -> TreeNode:
    instances = run.instances_of(task.name)
    started, ended = _span(instances, ended=task.ended)
    only = instances[0] if len(instances) == 1 and not task.several else None
    explained = only or next((instance for instance in instances if instance.stuck and not task.ended), None)
    shown = _children(run, instances, limit) if task.several and ("*" in unfold or task.name in unfold) else ()
    return TreeNode(
        kind=NodeKind.TASK,
        ref=task.name,
        label=task.name,
        state=run.word_of(task),
        counts=counts.of_task(run, task),
        folded=task.several,
        hidden=max(len(instances) - len(shown), 0) if task.several else 0,
        hook=task.hook,
        taskrun=only.name if only else "",
        attempt=only.attempt if only else 0,
        started=started,
        ended=ended,
        duration=_duration(run, started, ended),
        reason=(explained.reason if explained else "") or task.reason,
        message=(explained.message if explained else "") or messages.of_task(run, task),
        children=shown,
    )


def _children(run: RunView, instances: Sequence[InstanceView], limit: int) -> tuple[TreeNode, ...]:
    chosen = sorted(instances, key=lambda instance: (_urgency(instance), instance.path))[: max(limit, 0)]
    return tuple(_instance(run, instance) for instance in chosen)


def _urgency(instance: InstanceView) -> int:
    order = (State.FAILED, State.CANCELLED, State.UP_FOR_RETRY, None, State.RUNNING, State.SCHEDULED, State.DEFERRED)
    return order.index(instance.state) if instance.state in order else len(order)


def _instance(run: RunView, instance: InstanceView) -> TreeNode:
    return TreeNode(
        kind=NodeKind.INSTANCE,
        ref=instance.ref,
        label=instance.display_name or instance.index,
        state=instance.word,
        counts=InstanceCounts(),
        taskrun=instance.name,
        attempt=instance.attempt,
        started=instance.started,
        ended=instance.completed,
        duration=_duration(run, instance.started or instance.created, instance.completed),
        reason=instance.reason,
        message=instance.message,
    )


def _span(instances: Sequence[InstanceView], *, ended: bool) -> tuple[float | None, float | None]:
    """From the first start to the last end; no end while an instance may follow."""
    started = min((instance.started for instance in instances if instance.started is not None), default=None)
    over = ended and all(instance.ended for instance in instances)
    return started, max((instance.completed or 0.0 for instance in instances), default=0.0) or None if over else None


def _duration(run: RunView, started: float | None, ended: float | None) -> float | None:
    return None if started is None else max((run.now if ended is None else ended) - started, 0.0)
