"""A clearing in progress: which TaskRuns it replaces, which instances are still missing, and when it is complete. Pure.

`status.clearing` survives a crash between the deletion of a TaskRun and its new creation. Without it, a missing
instance was deleted by someone else and is never created again.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from torpor_crds.models.history import ClearedTask
from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TaskRun, TaskRunSpec
from torpor_crds.models.workflow import TaskStatus, Workflow
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.state import TASK_ENDED, TaskState

from torpor_operator.model.snapshot import Snapshot
from torpor_operator.state import instance_indexes, marks
from torpor_operator.state.instance_indexes import InstanceIndexes

_SHOWN = 20


def requested(workflow: Workflow) -> str | None:
    """The value of the clear annotation."""
    return workflow.metadata.annotations.get(constants.CLEAR)


def is_replaced(workflow: Workflow, run: TaskRun) -> bool:
    """Whether the clearing replaces this TaskRun."""
    cleared = _cleared(workflow, run.spec.task)
    return cleared is not None and run.spec.clears < workflow.status.clears and _selects(cleared, run.spec)


def replaced_names(snapshot: Snapshot) -> tuple[str, ...]:
    """The names of all TaskRuns that the clearing replaces. Each plan asks, so it costs nothing without a clearing."""
    if snapshot.workflow.status.clearing is None:
        return ()
    return tuple(name for name, run in snapshot.taskruns.items() if is_replaced(snapshot.workflow, run))


def missing_indexes(workflow: Workflow, task: Task, runs: Mapping[int, TaskRun]) -> tuple[int, ...]:
    """The cleared instances of a task that have no TaskRun; none for a task that is cleared as a whole."""
    cleared = _cleared(workflow, task.name)
    indexes = (cleared.indexes or ()) if cleared else ()
    if not indexes:
        return ()
    created = _created(workflow, task.name)
    return tuple(index for index in indexes if index not in runs and index in created)


def problem(workflow: Workflow) -> str | None:
    """What in `status.clearing` Torpor never writes; nothing is created from it."""
    tasks = {task.name: task for task in workflow.spec.tasks}
    for cleared in workflow.status.clearing.tasks if workflow.status.clearing else ():
        task = tasks.get(cleared.name)
        if task is None:
            continue
        if cleared.indexes is not None and (task.group is not None or not task.mapped):
            return f"status.clearing: {cleared.name}: indexes is only valid for a mapped task outside groups"
        if cleared.within is not None and task.group is None:
            return f"status.clearing: {cleared.name}: within is only valid for a task in a group"
        try:
            _read_paths(cleared.within or "")
        except ValueError as error:
            return f"status.clearing: {cleared.name}: {error}"
    return None


def is_complete(snapshot: Snapshot) -> bool:
    """Whether all cleared instances have been created again and the annotation has been removed."""
    workflow = snapshot.workflow
    clearing = workflow.status.clearing
    if clearing is None:
        return True
    if requested(workflow) == clearing.asked or replaced_names(snapshot):
        return False
    if marks.requested(workflow) == clearing.asked or not _is_marked(snapshot, clearing.asked):
        return False
    return all(_is_settled(snapshot, task.name, index) for task in clearing.tasks for index in task.indexes or ())


def reopened_task(
    task: Task, status: TaskStatus, cleared: Iterable[ClearedTask], known: Mapping[Path, InstanceIndexes]
) -> TaskStatus:
    """A task's entry in the status that begins the clearing; `known` are its instances until then."""
    own = next((selection for selection in cleared if selection.name == status.name), None)
    if own is not None and own.indexes is None and own.within is None:
        return TaskStatus(name=status.name, state=TaskState.PENDING, removed=status.total or status.removed)
    kept = _kept_outside_groups(known) if task.group is None else _kept_in_groups(task, own, known)
    if own is None:
        return status.model_copy(update=kept)
    return status.model_copy(update=kept | {"state": TaskState.RUNNING, "reason": None, "message": None})


def pending_task(task: Task) -> TaskStatus:
    """The entry of a task that the status does not have yet."""
    return TaskStatus(name=task.name, state=TaskState.PENDING)


def describe(cleared: Iterable[ClearedTask]) -> str:
    """What runs again, for an Event."""
    return ", ".join(f"{task.name}/{','.join(paths)}" if (paths := _shown(task)) else task.name for task in cleared)


def write_paths(paths: frozenset[Path]) -> str:
    """Paths of one or more lengths as text, for `ClearedTask.within`."""
    lengths = sorted({len(path) for path in paths})
    return ",".join(instance_paths.text(path for path in paths if len(path) == length) for length in lengths)


@lru_cache(maxsize=64)  # read for each TaskRun
def _read_paths(text: str) -> frozenset[Path]:
    """The paths that `write_paths` wrote. Raises ValueError for any other text."""
    boxes = filter(None, text.split(","))
    return frozenset(path for box in boxes for path in instance_paths.parse_paths(box, box.count(".") + 1))


def _is_marked(snapshot: Snapshot, request_text: str) -> bool:
    """Whether all instances of a mark exist anew, or never will, since their task has ended. True for a clear."""
    request = marks.parse(request_text)
    return request is None or all(_is_carried_out(snapshot, task, path) for task, path in request.entries)


def _is_carried_out(snapshot: Snapshot, task: str, path: Path) -> bool:
    entry = snapshot.task_statuses.get(task)
    if entry is not None and entry.state in TASK_ENDED:
        return True
    runs = (run for by_index in snapshot.by_task.get(task, {}).values() for run in by_index.values())
    return any(run.spec.path == path and marks.is_carried_out(snapshot.workflow, run) for run in runs)


def _is_settled(snapshot: Snapshot, task: str, index: int) -> bool:
    """Whether a cleared instance exists again, or no longer should: its list is shorter, or its `when` is false."""
    return index in snapshot.runs(task) or index not in _created(snapshot.workflow, task)


def _created(workflow: Workflow, task: str) -> Indexes:
    """The created instances of a mapped task outside groups."""
    created = (
        instance_indexes.from_status(status, 0, mapped=True)[()].created
        for status in workflow.status.tasks
        if status.name == task
    )
    return next(created, Indexes())


def _kept_outside_groups(known: Mapping[Path, InstanceIndexes]) -> dict[str, Any]:
    created = known[()].created if known else Indexes()
    return {"created": len(created), "made": None if created == Indexes.below(len(created)) else created.text()}


def _kept_in_groups(task: Task, cleared: ClearedTask | None, known: Mapping[Path, InstanceIndexes]) -> dict[str, Any]:
    """What stays: nothing below a cleared path, whose width is computed again."""
    removed = _read_paths(cleared.within or "") if cleared is not None else frozenset[Path]()
    kept = {path: indexes for path, indexes in known.items() if removed.isdisjoint(_prefixes(path))}
    created = {
        path: Indexes.from_numbers(index for index in indexes.created if (*path, index) not in removed)
        if task.mapped
        else indexes.created
        for path, indexes in kept.items()
    }
    instances = {path: Indexes.below(indexes.total) for path, indexes in kept.items()}
    return {
        "instances": instance_indexes.to_text(instances, mapped=task.mapped) or None,
        "created": sum(map(len, created.values())),
        "made": instance_indexes.to_text(created, mapped=task.mapped),
        "skips": instance_indexes.to_text({path: indexes.skips for path, indexes in kept.items()}, mapped=task.mapped)
        or None,
    }


def _shown(cleared: ClearedTask) -> list[str]:
    return (cleared.within.split(",") if cleared.within else [*map(str, cleared.indexes or ())])[:_SHOWN]


def _selects(cleared: ClearedTask, spec: TaskRunSpec) -> bool:
    if cleared.within is not None:
        return not _read_paths(cleared.within).isdisjoint(_prefixes(spec.path))
    return cleared.indexes is None or spec.map_index in cleared.indexes


def _prefixes(path: Path) -> Iterable[Path]:
    """The path and all that contain it."""
    return (path[:length] for length in range(1, len(path) + 1))


def _cleared(workflow: Workflow, task: str) -> ClearedTask | None:
    clearing = workflow.status.clearing
    return next((cleared for cleared in clearing.tasks if cleared.name == task), None) if clearing else None
