"""The graph of a run or of a Workflow that has not run: nodes with labels, edges, and groups. Pure.

Texts are as the author and the cluster wrote them. A renderer escapes them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from torpor_wire.enums import TriggerRule
from torpor_wire.state import TaskState

from torpor_views import counts
from torpor_views.model import RunView, TaskView

_WHEN_MAX = 60


class EdgeKind(StrEnum):
    """Why a task comes after another: `after` and references, or the list of its group."""

    UPSTREAM = "upstream"
    LIST = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A task. `details`: its kind, and its differences from a plain task, such as its rule.

    `groups` are the groups around it, outermost first. `state` and `progress` are empty before a run; `progress` counts
    the instances of a task that can have several.
    """

    name: str
    details: tuple[str, ...]
    groups: tuple[str, ...] = ()
    hook: str = ""
    state: str = ""
    progress: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """`target` comes after `source`. Both are indexes of nodes."""

    source: int
    target: int
    kind: EdgeKind = EdgeKind.UPSTREAM


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGraph:
    """Nodes in topological order with hooks last, and edges. `state` is empty before a run."""

    name: str
    state: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def after(self, index: int) -> tuple[str, ...]:
        """Return the names of the tasks that a task comes after."""
        return tuple(self.nodes[edge.source].name for edge in self.edges if edge.target == index)


def build(run: RunView, *, states: bool = True) -> RunGraph:
    """Return the graph of a run. `states`: whether it has begun, so that nodes have states."""
    numbers = {task.name: number for number, task in enumerate(run.tasks)}
    return RunGraph(
        name=run.name,
        state=run.word if states else "",
        nodes=tuple(_node(run, task, states=states) for task in run.tasks),
        edges=tuple(edge for task in run.tasks for edge in _edges(task, numbers)),
    )


def _node(run: RunView, task: TaskView, *, states: bool) -> GraphNode:
    return GraphNode(
        name=task.name,
        details=tuple(_details(task)),
        groups=task.groups,
        hook=task.hook,
        state=run.word_of(task) if states else "",
        progress=counts.summary(counts.of_task(run, task))
        if states and task.several and task.state is not TaskState.PENDING
        else "",
    )


def _details(task: TaskView) -> Iterator[str]:
    yield f"trigger {task.trigger_class}" if task.kind == "trigger" and task.trigger_class else task.kind
    if task.mapped:
        yield "mapped"
    if task.branch:
        yield "branch"
    if task.rule is not TriggerRule.ALL_SUCCESS:
        yield f"rule {task.rule}"
    if task.when:
        line = " ".join(task.when.split())
        yield f"when {line if len(line) <= _WHEN_MAX else line[: _WHEN_MAX - 3] + '...'}"
    if task.hook:
        yield f"hook for {task.hook}"


def _edges(task: TaskView, numbers: dict[str, int]) -> Iterator[GraphEdge]:
    for name in task.before:
        if name in numbers:
            kind = EdgeKind.UPSTREAM if name in task.upstream else EdgeKind.LIST
            yield GraphEdge(source=numbers[name], target=numbers[task.name], kind=kind)
