"""The clear annotation: which instances it selects to run again, and the plan that accepts or refuses it. Pure.

An entry is `task`, `task/index` (in groups `task/0.2`) or `failed`. Tasks that depend on a selected instance run again
too; in shared groups only those at the same group indexes do.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import ValidationError
from torpor_crds.models.history import ClearedTask, Clearing
from torpor_crds.models.task import Task
from torpor_crds.models.workflow import TaskStatus, Workflow
from torpor_wire import constants, instance_paths
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TASK_BROKEN, State

from torpor_operator.graph.dag import Graph
from torpor_operator.model.actions import RemoveAnnotation, ResumeRun
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.task_groups import common
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.state import instance_indexes
from torpor_operator.workflows.plan import clear, events, status, task_order
from torpor_operator.workflows.plan.run_context import RunContext

FAILED = "failed"
_ENTRY = re.compile(r"([a-z][a-z0-9_]*)(?:/([0-9]{1,6}(?:\.[0-9]{1,6})*))?")
_FAILED_STATES = frozenset({State.FAILED, State.CANCELLED})

Selection: TypeAlias = frozenset[Path] | None
"""All instances below these paths; None: all instances of the task."""


@dataclass(frozen=True, slots=True)
class ClearRefusal:
    """Why the request is refused."""

    message: str


def accept_or_refuse(run: RunContext) -> WorkflowPlan | None:
    """Accept or refuse the annotation; None without one, and while an earlier request is in progress."""
    workflow = run.workflow
    text = clear.requested(workflow)
    if workflow.metadata.deletion_timestamp is not None or text is None:
        return None
    if workflow.status.clearing is not None:
        accepted = workflow.status.clearing.asked == text
        return WorkflowPlan(actions=_remove(workflow, text)) if accepted else None
    if run.graph_problem is not None:
        return _refuse(workflow, text, run.graph_problem.message)
    selected = select(run.snapshot, run.graph, text)
    if isinstance(selected, ClearRefusal):
        return _refuse(workflow, text, selected.message)
    if workflow.spec.cancel or workflow.spec.stop:
        return WorkflowPlan(actions=(ResumeRun(),))  # the annotation stays: the next plan accepts it
    return _reopen(run, text, selected)


def _reopen(run: RunContext, text: str, selected: tuple[ClearedTask, ...]) -> WorkflowPlan:
    message = f"running again: {clear.describe(selected)}"
    return WorkflowPlan(
        status=status.reopened(
            run.workflow,
            Clearing(asked=text, tasks=selected),
            reopened_tasks(run, selected),
            run.snapshot.now,
            message=message,
        ),
        events=(events.cleared(run.workflow, Reason.CLEARED, message),),
    )


def reopened_tasks(run: RunContext, selected: tuple[ClearedTask, ...]) -> list[TaskStatus]:
    """The entries of all tasks in the status that begins a clearing or a mark."""
    workflow, snapshot = run.workflow, run.snapshot
    former = {task.name: task for task in workflow.status.tasks}
    # Tasks without an entry get one as well: what was created in this second stays created.
    return [
        clear.reopened_task(
            task,
            former.get(task.name) or clear.pending_task(task),
            selected,
            task_order.known_indexes(snapshot, run.graph, task),
        )
        for task in workflow.spec.tasks
    ]


def _refuse(workflow: Workflow, text: str, message: str) -> WorkflowPlan:
    return WorkflowPlan(
        actions=_remove(workflow, text), events=(events.cleared(workflow, Reason.CLEAR_REFUSED, message),)
    )


def _remove(workflow: Workflow, text: str) -> tuple[RemoveAnnotation, ...]:
    """Remove the annotation, and the one with the user who set it: a later request may have another."""
    requester = workflow.metadata.annotations.get(constants.CHANGED_BY, "")
    named = (RemoveAnnotation(name=constants.CHANGED_BY, value=requester),) if requester.startswith("clear ") else ()
    return (RemoveAnnotation(name=constants.CLEAR, value=text), *named)


def select(snapshot: Snapshot, graph: Graph, text: str) -> tuple[ClearedTask, ...] | ClearRefusal:
    """The instances that the text names, and every task that depends on one of them."""
    spec, status = snapshot.workflow.spec, snapshot.workflow.status
    if (spec.cancel or spec.stop) and status.completion_time is None:
        return ClearRefusal("the run is being cancelled: clear it after it has ended")
    if len(text) > constants.CLEAR_MAX:
        return ClearRefusal(
            f"the list has {len(text)} characters; the limit is {constants.CLEAR_MAX}: "
            f"clear whole tasks, or use `{FAILED}`"
        )
    tasks = {task.name for task in graph.order}
    named: dict[str, Selection] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        selected = (
            _failed(snapshot, graph) if entry == FAILED and FAILED not in tasks else _entry(snapshot, graph, entry)
        )
        if isinstance(selected, ClearRefusal):
            return selected
        for name, paths in selected.items():
            named[name] = _union(named.get(name, frozenset()), paths)
    if not named:
        return ClearRefusal("nothing to clear: no instance has failed")
    try:
        return tuple(with_dependents(graph, named))
    except ValidationError:
        return ClearRefusal("too many instances to clear: clear whole tasks or fewer instances")


def _entry(snapshot: Snapshot, graph: Graph, text: str) -> dict[str, Selection] | ClearRefusal:
    tasks = {task.name: task for task in graph.order}
    match = _ENTRY.fullmatch(text)
    if match is None:
        return ClearRefusal(f"invalid entry {text!r}: use `task`, `task/index` or `{FAILED}`")
    name, index = match.groups()
    if name not in tasks:
        return ClearRefusal(f"unknown task {name}; tasks: {', '.join(sorted(tasks)[:20])}")
    if index is None:
        return {name: None}
    depth = len(graph.chains[name])
    if not tasks[name].mapped and not depth:
        return ClearRefusal(f"task {name} is not mapped: clear {name} without an index")
    path = tuple(map(int, index.split(".")))
    created = created_paths(snapshot, tasks[name], depth)
    if not any(instance[: len(path)] == path for instance in created):
        instances = (
            f"task {name} has the instances {instance_paths.text(created)[:200]}"
            if created
            else f"task {name} has no instances"
        )
        return ClearRefusal(f"no instance {text}: {instances}; clear {name} to expand it again")
    return {name: frozenset({path})}


def _failed(snapshot: Snapshot, graph: Graph) -> dict[str, Selection]:
    """The failed instances of each task; a task whose instances all failed is selected as a whole."""
    named: dict[str, Selection] = {}
    broken = {status.name: status for status in snapshot.workflow.status.tasks if status.state in TASK_BROKEN}
    for task in graph.order:
        if task.name not in broken:
            continue
        created = created_paths(snapshot, task, len(graph.chains[task.name]))
        by_path = {run.spec.path: run for runs in snapshot.by_task.get(task.name, {}).values() for run in runs.values()}
        failed = frozenset(
            path for path in created if path not in by_path or by_path[path].status.state in _FAILED_STATES
        )
        partial = (task.mapped or task.group is not None) and len(failed) < broken[task.name].created
        named[task.name] = failed if partial else None
    return named


def created_paths(snapshot: Snapshot, task: Task, depth: int) -> frozenset[Path]:
    """The paths of all instances of a task that were created, according to the status."""
    status = next((entry for entry in snapshot.workflow.status.tasks if entry.name == task.name), None)
    by_group = {} if status is None else instance_indexes.from_status(status, depth, mapped=task.mapped)
    if not task.mapped:
        return frozenset(path for path, indexes in by_group.items() if indexes.created)
    return frozenset((*path, index) for path, indexes in by_group.items() for index in indexes.created)


def with_dependents(graph: Graph, named: Mapping[str, Selection]) -> Iterable[ClearedTask]:
    """What is named, and what depends on it: in shared groups only the instances at the same group indexes."""
    selected: dict[str, Selection] = {}
    for task in graph.order:
        before = selected.keys() if task.hook is not None else graph.before(task.name) & selected.keys()
        if not before and task.name not in named:
            continue
        paths = named.get(task.name, frozenset())
        for name in before:
            depth = common(graph.chains[name], graph.chains[task.name])
            above = selected[name]
            paths = _union(paths, None if above is None or not depth else frozenset(path[:depth] for path in above))
        selected[task.name] = paths
        yield cleared_task(task, paths)


def _union(first: Selection, second: Selection) -> Selection:
    return None if first is None or second is None else first | second


def cleared_task(task: Task, paths: Selection) -> ClearedTask:
    """What the status says of a task of which these instances are cleared."""
    if paths is None:
        return ClearedTask(name=task.name)
    if task.group is None:
        return ClearedTask(name=task.name, indexes=tuple(sorted(index for (index,) in paths)))
    return ClearedTask(name=task.name, within=clear.write_paths(paths))
