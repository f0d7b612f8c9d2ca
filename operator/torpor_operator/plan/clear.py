"""Running instances of a run again: what somebody asked for, what that takes with it, and when it is done.

The annotation is the wish, `status.clearing` the mark that survives a crash between a TaskRun's deletion and its
creation anew: without it, an instance that is gone was deleted by somebody and is never run again. Pure.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from pydantic import ValidationError
from torpor_api.models.task import Task
from torpor_api.models.taskrun import TaskRun, TaskRunSpec
from torpor_api.models.workflow import ClearedTask, TaskState, TaskStatus, Workflow
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.state import State

from torpor_operator.graph.dag import Graph
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.task_groups import common
from torpor_operator.state.instance_indexes import InstanceIndexes, stored
from torpor_operator.state.instance_indexes import written as told_of
from torpor_operator.state.task_state import BROKEN

FAILED = "failed"
_ENTRY = re.compile(r"([a-z][a-z0-9_]*)(?:/([0-9]{1,6}(?:\.[0-9]{1,6})*))?")
_AGAIN = frozenset({State.FAILED, State.CANCELLED})

Meant: TypeAlias = frozenset[Path] | None
"""All instances below these paths; None: all that there are."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why what was asked for cannot be cleared."""

    message: str


def asked(workflow: Workflow) -> str | None:
    """What somebody asks to have run again."""
    return workflow.metadata.annotations.get(constants.CLEAR)


def chosen(snapshot: Snapshot, ordered: Graph, text: str) -> tuple[ClearedTask, ...] | Refusal:
    """What is to run again: the instances that the text names, and whole every task that depends on one of them."""
    spec, status = snapshot.workflow.spec, snapshot.workflow.status
    if (spec.cancel or spec.stop) and status.completion_time is None:
        return Refusal("the run is being cancelled: clear it when it has ended")
    if len(text) > constants.CLEAR_MAX:
        return Refusal(
            f"the list has {len(text)} characters and {constants.CLEAR_MAX} fit: name whole tasks, or `{FAILED}`"
        )
    tasks = {task.name: task for task in ordered.order}
    named: dict[str, Meant] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        found = (
            _failed(snapshot, ordered) if entry == FAILED and FAILED not in tasks else _entry(snapshot, ordered, entry)
        )
        if isinstance(found, Refusal):
            return found
        for name, meant in found.items():
            named[name] = _joined(named.get(name, frozenset()), meant)
    if not named:
        return Refusal("there is nothing of that kind: no instance has failed")
    try:
        return tuple(_marks(ordered, named))
    except ValidationError:
        return Refusal("to say which instances run again takes too many words: name whole tasks, or less of them")


def old(workflow: Workflow, run: TaskRun) -> bool:
    """Whether a TaskRun is one that is to be made anew."""
    mark = _mark(workflow, run.spec.task)
    return mark is not None and run.spec.clears < workflow.status.clears and _is_meant(mark, run.spec)


def former(snapshot: Snapshot) -> tuple[str, ...]:
    """The names of all such TaskRuns; asked at each plan, of thousands, and of none while nothing is cleared."""
    if snapshot.workflow.status.clearing is None:
        return ()
    return tuple(name for name, run in snapshot.taskruns.items() if old(snapshot.workflow, run))


def missing(workflow: Workflow, task: Task, runs: Mapping[int, TaskRun]) -> tuple[int, ...]:
    """The instances of a task that are to be made anew and are not there; of one that is cleared whole, none."""
    mark = _mark(workflow, task.name)
    meant = (mark.indexes or ()) if mark else ()
    if not meant:
        return ()
    made = _made(workflow, task.name)
    return tuple(index for index in meant if index not in runs and index in made)


def problem(workflow: Workflow) -> str | None:
    """What in the mark cannot be by our own hand, for a person; nothing is made anew on it."""
    tasks = {task.name: task for task in workflow.spec.tasks}
    for mark in workflow.status.clearing.tasks if workflow.status.clearing else ():
        task = tasks.get(mark.name)
        if task is None:
            continue
        if mark.indexes is not None and (task.group is not None or not task.mapped):
            return f"status.clearing: {mark.name}: indexes are of a mapped task in no group"
        if mark.within is not None and task.group is None:
            return f"status.clearing: {mark.name}: within is of a task in a group"
        try:
            _within(mark.within or "")
        except ValueError as error:
            return f"status.clearing: {mark.name}: {error}"
    return None


def done(snapshot: Snapshot) -> bool:
    """Whether all that was asked for has been made anew, and the annotation that asked for it is gone."""
    workflow = snapshot.workflow
    mark = workflow.status.clearing
    if mark is None:
        return True
    if asked(workflow) == mark.asked or former(snapshot):
        return False
    return all(_anew(snapshot, task.name, index) for task in mark.tasks for index in task.indexes or ())


def _anew(snapshot: Snapshot, task: str, index: int) -> bool:
    """Whether a cleared instance is there, or is not to be any more: its list is shorter now, or its `when` false."""
    return index in snapshot.runs(task) or index not in _made(snapshot.workflow, task)


def _made(workflow: Workflow, task: str) -> Indexes:
    """Which instances were made of a task that is mapped, and in no group."""
    found = (stored(status, 0, mapped=True)[()].made for status in workflow.status.tasks if status.name == task)
    return next(found, Indexes())


def entry(
    task: Task, status: TaskStatus, marks: Iterable[ClearedTask], known: Mapping[Path, InstanceIndexes]
) -> TaskStatus:
    """A task's entry in the status in which its clearing begins; `known` is what has been decided on until then."""
    mark = next((one for one in marks if one.name == status.name), None)
    if mark is not None and mark.indexes is None and mark.within is None:
        return TaskStatus(name=status.name, state=TaskState.PENDING, removed=status.total or status.removed)
    stays = _in_one(known) if task.group is None else _in_groups(task, mark, known)
    if mark is None:
        return status.model_copy(update=stays)
    return status.model_copy(update=stays | {"state": TaskState.RUNNING, "reason": None, "message": None})


def _in_one(known: Mapping[Path, InstanceIndexes]) -> dict[str, Any]:
    made = known[()].made if known else Indexes()
    return {"created": len(made), "made": None if made == Indexes.below(len(made)) else made.text()}


def _in_groups(task: Task, mark: ClearedTask | None, known: Mapping[Path, InstanceIndexes]) -> dict[str, Any]:
    """What stays as it was: nothing below a frame that is cleared, of which the width is found out again."""
    gone = _within(mark.within or "") if mark is not None else frozenset[Path]()
    left = {frame: marks for frame, marks in known.items() if gone.isdisjoint(_around(frame))}
    made = {
        frame: Indexes.of(index for index in marks.made if (*frame, index) not in gone) if task.mapped else marks.made
        for frame, marks in left.items()
    }
    there = {frame: Indexes.below(marks.total) for frame, marks in left.items()}
    return {
        "instances": told_of(there, mapped=task.mapped) or None,
        "created": sum(map(len, made.values())),
        "made": told_of(made, mapped=task.mapped),
        "skips": told_of({frame: marks.skips for frame, marks in left.items()}, mapped=task.mapped) or None,
    }


def unknown(task: Task) -> TaskStatus:
    """The entry of a task of which the status does not tell yet."""
    return TaskStatus(name=task.name, state=TaskState.PENDING)


def told(marks: Iterable[ClearedTask]) -> str:
    """What runs again, for an Event."""
    return ", ".join(f"{one.name}/{','.join(which)}" if (which := _which(one)) else one.name for one in marks)


def _which(mark: ClearedTask) -> list[str]:
    return (mark.within.split(",") if mark.within else [*map(str, mark.indexes or ())])[:20]


def _is_meant(mark: ClearedTask, spec: TaskRunSpec) -> bool:
    if mark.within is not None:
        return not _within(mark.within).isdisjoint(_around(spec.path))
    return mark.indexes is None or spec.map_index in mark.indexes


def _around(path: Path) -> Iterable[Path]:
    """A path and what is around it."""
    return (path[:length] for length in range(1, len(path) + 1))


@lru_cache(maxsize=64)  # asked for each TaskRun
def _within(ranges: str) -> frozenset[Path]:
    """The paths that a mark names, of one or more lengths. Raises ValueError where another hand wrote it."""
    boxes = filter(None, ranges.split(","))
    return frozenset(path for box in boxes for path in instance_paths.parse(box, box.count(".") + 1))


def _ranges(meant: frozenset[Path]) -> str:
    """What `_within` reads."""
    lengths = sorted({len(path) for path in meant})
    return ",".join(instance_paths.text(path for path in meant if len(path) == length) for length in lengths)


def _mark(workflow: Workflow, task: str) -> ClearedTask | None:
    mark = workflow.status.clearing
    return next((one for one in mark.tasks if one.name == task), None) if mark else None


def _entry(snapshot: Snapshot, ordered: Graph, text: str) -> dict[str, Meant] | Refusal:
    tasks = {task.name: task for task in ordered.order}
    found = _ENTRY.fullmatch(text)
    if found is None:
        return Refusal(f"{text!r} is none of `task`, `task/index` and `{FAILED}`")
    name, index = found.groups()
    if name not in tasks:
        return Refusal(f"there is no task {name}; there are: {', '.join(sorted(tasks)[:20])}")
    if index is None:
        return {name: None}
    depth = len(ordered.chains[name])
    if not tasks[name].mapped and not depth:
        return Refusal(f"task {name} is not mapped: clear {name}, without an index")
    path = tuple(map(int, index.split(".")))
    known = made(snapshot, tasks[name], depth)
    if not any(one[: len(path)] == path for one in known):
        there = (
            f"task {name} has the instances {instance_paths.text(known)[:200]}"
            if known
            else f"no instance of {name} was made"
        )
        return Refusal(f"there is no {text}: {there}; clear {name} to find out anew which")
    return {name: frozenset({path})}


def made(snapshot: Snapshot, task: Task, depth: int) -> frozenset[Path]:
    """The paths of all instances that were made of a task, as the status has it."""
    status = next((one for one in snapshot.workflow.status.tasks if one.name == task.name), None)
    frames = {} if status is None else stored(status, depth, mapped=task.mapped)
    if not task.mapped:
        return frozenset(frame for frame, marks in frames.items() if marks.made)
    return frozenset((*frame, index) for frame, marks in frames.items() for index in marks.made)


def _failed(snapshot: Snapshot, ordered: Graph) -> dict[str, Meant]:
    named: dict[str, Meant] = {}
    broken = {status.name: status for status in snapshot.workflow.status.tasks if status.state in BROKEN}
    for task in ordered.order:
        if task.name not in broken:
            continue
        known = made(snapshot, task, len(ordered.chains[task.name]))
        there = {run.spec.path: run for runs in snapshot.by_task.get(task.name, {}).values() for run in runs.values()}
        bad = frozenset(path for path in known if path not in there or there[path].status.state in _AGAIN)
        parted = (task.mapped or task.group is not None) and len(bad) < broken[task.name].created
        named[task.name] = bad if parted else None
    return named


def _joined(one: Meant, other: Meant) -> Meant:
    return None if one is None or other is None else one | other


def _marks(ordered: Graph, named: Mapping[str, Meant]) -> Iterable[ClearedTask]:
    """What is named, and what depends on it: of a task in the same groups only what has the same indexes there."""
    taken: dict[str, Meant] = {}
    for task in ordered.order:
        before = taken.keys() if task.hook is not None else ordered.before(task.name) & taken.keys()
        if not before and task.name not in named:
            continue
        meant = named.get(task.name, frozenset())
        for name in before:
            depth = common(ordered.chains[name], ordered.chains[task.name])
            above = taken[name]
            meant = _joined(meant, None if above is None or not depth else frozenset(path[:depth] for path in above))
        taken[task.name] = meant
        yield _cleared(task, meant)


def _cleared(task: Task, meant: Meant) -> ClearedTask:
    if meant is None:
        return ClearedTask(name=task.name)
    if task.group is None:
        return ClearedTask(name=task.name, indexes=tuple(sorted(index for (index,) in meant)))
    return ClearedTask(name=task.name, within=_ranges(meant))
