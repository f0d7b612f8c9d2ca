"""Two runs side by side: params, images, code, and outcome and duration of each task. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_views import counts, tree
from torpor_views.counts import InstanceCounts
from torpor_views.model import RunView, TaskView
from torpor_views.tree import NodeKind, TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A value of both runs. `left` or `right` is MISSING if only the other run has it; any JSON value otherwise."""

    name: str
    left: Any
    right: Any

    @property
    def differs(self) -> bool:
        """Whether the values differ, also in type: 1 and true are not equal."""
        return type(self.left) is not type(self.right) or self.left != self.right


class MissingValue:
    """The value of a run that has none; null is a value."""

    def __repr__(self) -> str:
        return "-"


MISSING = MissingValue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A task in one run. `duration`: seconds from the first start to the last end; None if it has not started.

    `progress`: of a whole run, as its status has it; of a task with several instances, their counts; else empty.
    """

    state: str
    progress: str
    counts: InstanceCounts
    attempts: int
    image: str
    started: float | None
    duration: float | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task of both runs. A side is None if that run has no such task. `change`: seconds, right minus left."""

    task: str
    left: Side | None
    right: Side | None

    @property
    def change(self) -> float | None:
        """By how many seconds the right one took longer; None unless both have a duration."""
        if self.left is None or self.right is None or self.left.duration is None or self.right.duration is None:
            return None
        return self.right.duration - self.left.duration

    @property
    def differs(self) -> bool:
        """Whether outcome or image differ."""
        if self.left is None or self.right is None:
            return True
        left, right = self.left, self.right
        return (left.state, left.image, left.reason) != (right.state, right.image, right.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs. The differences have all values in order, equal ones too. `run`: the whole runs as a row.

    `code`: the function of a python task, or the body of another. `sources`: the ConfigMap with the code of a python
    task, and the hash of the files that its last pod had mounted.
    """

    left: str
    right: str
    run: TaskRow
    params: tuple[Difference, ...]
    images: tuple[Difference, ...]
    code: tuple[Difference, ...]
    sources: tuple[Difference, ...]
    tasks: tuple[TaskRow, ...]


def build(left: RunView, right: RunView) -> Comparison:
    """Return the comparison of two runs with their TaskRuns, live or archived."""
    nodes = _tasks(left), _tasks(right)
    names = _united((task.name for task in left.tasks), (task.name for task in right.tasks))
    rows = (TaskRow(task=name, left=_side(left, nodes[0], name), right=_side(right, nodes[1], name)) for name in names)
    return Comparison(
        left=left.name,
        right=right.name,
        run=TaskRow(task="", left=_whole(left), right=_whole(right)),
        params=_differences(left.params, right.params),
        images=_differences(_images(left), _images(right)),
        code=_differences(_code(left), _code(right)),
        sources=_differences(_sources(left), _sources(right)),
        tasks=tuple(rows),
    )


def _differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[Difference, ...]:
    return tuple(
        Difference(name=name, left=left.get(name, MISSING), right=right.get(name, MISSING))
        for name in _united(left, right)
    )


def _united(left: Iterable[str], right: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*left, *right]))


def _tasks(run: RunView) -> Mapping[str, TreeNode]:
    """The nodes of the tasks of a run, in any group."""
    nodes: dict[str, TreeNode] = {}
    queue = list(tree.build(run).nodes)
    while queue:
        node = queue.pop()
        if node.kind is NodeKind.GROUP:
            queue.extend(node.children)
        else:
            nodes[node.ref] = node
    return nodes


def _side(run: RunView, nodes: Mapping[str, TreeNode], name: str) -> Side | None:
    task, node = run.task(name), nodes.get(name)
    if task is None or node is None:
        return None
    return Side(
        state=node.state,
        progress=counts.summary(node.counts) if node.counts.total > 1 else "",
        counts=node.counts,
        attempts=max((instance.attempt for instance in run.instances_of(name)), default=0),
        image=_image(run, task),
        started=node.started,
        duration=node.duration,
        reason=node.reason,
        message=node.message,
    )


def _whole(run: RunView) -> Side:
    whole = tree.build(run)
    return Side(
        state=run.word,
        progress=run.progress,
        counts=counts.of_run(run),
        attempts=0,
        image=run.image,
        started=run.started,
        duration=whole.duration,
        reason=whole.reason,
        message=whole.message,
    )


def _images(run: RunView) -> Mapping[str, str]:
    """The image of each task that has a pod; the image of its TaskRuns if they are known."""
    return {task.name: image for task in run.tasks if task.needs_pod and (image := _image(run, task))}


def _code(run: RunView) -> Mapping[str, str]:
    return {task.name: task.code for task in run.tasks if task.code}


def _sources(run: RunView) -> Mapping[str, str]:
    """The ConfigMap of each task with `source`, with the hash that ran; without TaskRuns its name alone."""
    hashes = {
        task.name: [instance.code_hash for instance in run.instances_of(task.name) if instance.code_hash]
        for task in run.tasks
    }
    return {task.name: " ".join([task.source, *hashes[task.name][-1:]]) for task in run.tasks if task.source}


def _image(run: RunView, task: TaskView) -> str:
    """The image that ran last: the spec may have changed before the task began, or since."""
    ran = [instance.image for instance in run.instances_of(task.name) if instance.image]
    return ran[-1] if ran else task.image
