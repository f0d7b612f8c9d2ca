"""Running instances of a run again: what somebody asked for, what that takes with it, and when it is done.

The annotation is the wish, `status.clearing` the mark that survives a crash between a TaskRun's deletion and its
creation anew: without it, an instance that is gone was deleted by somebody and is never run again. Pure.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torpor_api.task import Task
from torpor_api.taskrun import TaskRun
from torpor_api.workflow import ClearedTask, TaskState, TaskStatus, Workflow
from torpor_wire import keys
from torpor_wire.indexes import Indexes
from torpor_wire.state import State

from torpor_operator.graph import Graph
from torpor_operator.marks import stored
from torpor_operator.outcome import BROKEN
from torpor_operator.snapshot import Snapshot

FAILED = "failed"
_ENTRY = re.compile(r"([a-z][a-z0-9_]*)(?:/([0-9]{1,9}))?")
_AGAIN = frozenset({State.FAILED, State.CANCELLED})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why what was asked for cannot be cleared."""

    message: str


def asked(workflow: Workflow) -> str | None:
    """What somebody asks to have run again."""
    return workflow.metadata.annotations.get(keys.CLEAR)


def chosen(snapshot: Snapshot, ordered: Graph, text: str) -> tuple[ClearedTask, ...] | Refusal:
    """What is to run again: the instances that the text names, and whole every task that depends on one of them."""
    if snapshot.workflow.spec.cancel:
        return Refusal("the run was cancelled, and spec.cancel cannot be taken back: create another Workflow")
    if len(text) > keys.CLEAR_MAX:
        return Refusal(f"the list has {len(text)} characters and {keys.CLEAR_MAX} fit: name whole tasks, or `{FAILED}`")
    tasks = {task.name: task for task in ordered.order}
    named: dict[str, set[int] | None] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        found = _failed(snapshot) if entry == FAILED and FAILED not in tasks else _entry(snapshot, tasks, entry)
        if isinstance(found, Refusal):
            return found
        for name, indexes in found.items():
            former = named.get(name, set())
            named[name] = None if indexes is None or former is None else former | indexes
    if not named:
        return Refusal("there is nothing of that kind: no instance has failed")
    return tuple(_marks(ordered, named))


def old(workflow: Workflow, run: TaskRun) -> bool:
    """Whether a TaskRun is one that is to be made anew."""
    mark = _mark(workflow, run.spec.task)
    meant = mark is not None and (mark.indexes is None or run.spec.map_index in mark.indexes)
    return meant and run.spec.clears < workflow.status.clears


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
    return tuple(index for index in meant if index not in runs and max(index, 0) in made)


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
    return index in snapshot.by_task.get(task, {}) or max(index, 0) not in _made(snapshot.workflow, task)


def _made(workflow: Workflow, task: str) -> Indexes:
    return next((stored(status).made for status in workflow.status.tasks if status.name == task), Indexes())


def entry(status: TaskStatus, marks: Iterable[ClearedTask], created: Indexes) -> TaskStatus:
    """A task's entry in the status in which its clearing begins."""
    mark = next((one for one in marks if one.name == status.name), None)
    count = len(created)
    known = {"created": count, "made": None if created == Indexes.below(count) else created.text()}
    if mark is None:
        return status.model_copy(update=known)
    if mark.indexes is None:
        return TaskStatus(name=status.name, state=TaskState.PENDING, removed=status.total or status.removed)
    again = known | {"state": TaskState.RUNNING, "reason": None, "message": None}
    return status.model_copy(update=again)


def unknown(task: Task) -> TaskStatus:
    """The entry of a task of which the status does not tell yet."""
    return TaskStatus(name=task.name, state=TaskState.PENDING)


def told(marks: Iterable[ClearedTask]) -> str:
    """What runs again, for an Event."""
    return ", ".join(
        one.name if one.indexes is None else f"{one.name}/{','.join(map(str, one.indexes[:20]))}" for one in marks
    )


def _mark(workflow: Workflow, task: str) -> ClearedTask | None:
    mark = workflow.status.clearing
    return next((one for one in mark.tasks if one.name == task), None) if mark else None


def _entry(snapshot: Snapshot, tasks: Mapping[str, Task], text: str) -> dict[str, set[int] | None] | Refusal:
    found = _ENTRY.fullmatch(text)
    if found is None:
        return Refusal(f"{text!r} is none of `task`, `task/index` and `failed`")
    name, index = found.groups()
    if name not in tasks:
        return Refusal(f"there is no task {name}; there are: {', '.join(sorted(tasks)[:20])}")
    if index is None:
        return {name: None}
    if not tasks[name].mapped:
        return Refusal(f"task {name} is not mapped: clear {name}, without an index")
    made = _made(snapshot.workflow, name)
    if int(index) not in made:
        return Refusal(f"there is no {text}: task {name} has the instances {made.text() or 'none'}")
    return {name: {int(index)}}


def _failed(snapshot: Snapshot) -> dict[str, set[int] | None]:
    named: dict[str, set[int] | None] = {}
    mapped = {task.name for task in snapshot.workflow.spec.tasks if task.mapped}
    for status in snapshot.workflow.status.tasks:
        if status.state not in BROKEN:
            continue
        runs = snapshot.by_task.get(status.name, {})
        bad = {index for index in stored(status).made if index not in runs or runs[index].status.state in _AGAIN}
        named[status.name] = bad if status.name in mapped and len(bad) < status.created else None
    return named


def _marks(ordered: Graph, named: Mapping[str, set[int] | None]) -> Iterable[ClearedTask]:
    taken: set[str] = set()
    for task in ordered.order:
        below = bool(taken) if task.hook is not None else bool(ordered.upstream[task.name] & taken)
        if not below and task.name not in named:
            continue
        taken.add(task.name)
        indexes = None if below else named[task.name]
        yield ClearedTask(name=task.name, indexes=None if indexes is None else tuple(sorted(indexes)))
