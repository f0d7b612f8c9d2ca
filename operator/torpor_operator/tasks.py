"""Each task's turn: its outcome so far, the TaskRuns it still has to start, and what must be answered first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torpor_api.taskrun import TaskRun
from torpor_api.workflow import Hook, Task, TaskState
from torpor_cel.value import JSON
from torpor_wire import keys
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator import clear, gate, instances, taskruns
from torpor_operator.actions import ConfirmTaskRun, Need
from torpor_operator.graph import Graph
from torpor_operator.instances import Instances
from torpor_operator.outcome import Outcome, decided, of_instances
from torpor_operator.scope import RUN, Scope, Unknown
from torpor_operator.snapshot import Presence, Snapshot
from torpor_operator.status import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One task in one plan. `starts` are bodies of TaskRuns in the order of their index."""

    outcome: Outcome
    starts: tuple[dict[str, Any], ...] = ()
    needs: tuple[Need, ...] = ()
    needs_slot: bool = True

    @property
    def runs(self) -> tuple[TaskRun, ...]:
        """The TaskRuns there are."""
        return tuple(run for _, run in sorted(self.outcome.runs.items()))


def turns(snapshot: Snapshot, graph: Graph) -> list[Turn]:
    """The tasks of the run in the order of the graph, each decided on the outcomes of those before it."""
    outcomes: dict[str, Outcome] = {}
    made: list[Turn] = []
    scope = Scope(workflow=snapshot.workflow, outcomes=outcomes, known=snapshot.known)
    for task in graph.tasks:
        turn = _turn(snapshot, task, [outcomes[name] for name in sorted(graph.upstream[task.name])], scope)
        outcomes[task.name] = turn.outcome
        made.append(turn)
    return made


def hooks(snapshot: Snapshot, graph: Graph, ended: Sequence[Outcome], run: Verdict) -> list[Turn]:
    """The hooks, which wait for the run's verdict to be final and see it; those that it does not call are skipped."""
    outcomes = {outcome.task: outcome for outcome in ended}
    told: dict[str, JSON] = {
        "name": snapshot.workflow.metadata.name,
        "state": run.state,
        "reason": str(run.reason),  # an enum is no value of an expression
        "message": run.message,
    }
    scope = Scope(workflow=snapshot.workflow, outcomes=outcomes, known=snapshot.known).within(RUN, told)
    made: list[Turn] = []
    for task in graph.hooks:
        if not run.final:
            turn = Turn(outcome=decided(task.name, TaskState.PENDING))
        elif not _called(task, run):
            turn = Turn(outcome=decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"the run is {run.state}"))
        else:
            turn = _turn(snapshot, task, [outcomes[name] for name in sorted(graph.upstream[task.name])], scope)
        outcomes[task.name] = turn.outcome
        made.append(turn)
    return made


def _called(task: Task, run: Verdict) -> bool:
    return task.hook is Hook.END or (task.hook is Hook.SUCCESS) == (run.succeeded == "True")


def as_it_is(snapshot: Snapshot, task: Task) -> Outcome:
    """The task's outcome if nothing more is started: what has not begun is cancelled."""
    runs = _runs(snapshot, task)
    if not runs:
        return decided(task.name, TaskState.CANCELLED, Reason.CANCELLED, "the run ended before its turn came")
    created = _high_water(snapshot, task, runs)
    return of_instances(task.name, mapped=bool(task.expand), total=created, created=created, runs=runs)


def _turn(snapshot: Snapshot, task: Task, upstream: list[Outcome], scope: Scope) -> Turn:
    runs = _runs(snapshot, task)
    created = _high_water(snapshot, task, runs)
    total = _stored_total(snapshot, task)
    if again := clear.missing(snapshot.workflow, task, runs):
        return _again(snapshot, task, scope, again)
    if not created and len(runs) < len(snapshot.by_task.get(task.name, {})):
        return Turn(outcome=decided(task.name, TaskState.PENDING))  # cleared, and the old ones have not gone yet
    if 0 < total <= created:
        return _begun(snapshot, task, created, runs)
    if created == 0 and (closed := gate.closed(task, upstream)) is not None:
        return Turn(outcome=closed)
    match instances.resolve(task, scope, snapshot.settings.max_map_size):
        case Outcome() as outcome:
            return Turn(outcome=_once_ended(outcome, total=total, created=created, runs=runs))
        case Unknown(needs):
            state = TaskState.RUNNING if created else TaskState.PENDING
            waiting = Outcome(task=task.name, state=state, created=created, total=total, runs=runs)
            return Turn(outcome=waiting, needs=needs)
        case Instances() as found:
            return _started(snapshot, task, found, runs)


def _begun(snapshot: Snapshot, task: Task, created: int, runs: Mapping[int, TaskRun]) -> Turn:
    """Every instance has been created: what is absent now was deleted, once a read has confirmed it."""
    missing = [taskruns.name_of(snapshot.workflow, task.name, index) for index in _indices(task, created)]
    unconfirmed: list[Need] = []
    for name in missing:
        if name in snapshot.taskruns:
            continue
        asked = ConfirmTaskRun(snapshot.workflow.metadata.namespace, name)
        match snapshot.known.get(asked):
            case Presence.GONE:
                continue
            case Presence.UNREADABLE:
                message = f"TaskRun {name} cannot be read: its fields are not of this version"
                failed = decided(task.name, TaskState.FAILED, Reason.STATUS_INVALID, message)
                return Turn(outcome=_once_ended(failed, total=created, created=created, runs=runs))
            case _:
                unconfirmed.append(asked)
    outcome = of_instances(task.name, mapped=bool(task.expand), total=created, created=created, runs=runs)
    if unconfirmed:
        outcome = Outcome(task=task.name, state=TaskState.RUNNING, total=created, created=created, runs=runs)
    return Turn(outcome=outcome, needs=tuple(unconfirmed))


def _started(snapshot: Snapshot, task: Task, found: Instances, runs: Mapping[int, TaskRun]) -> Turn:
    """The width is known: start what is above the high-water mark, in order."""
    created = _high_water(snapshot, task, runs)
    if created >= found.total:
        return _begun(snapshot, task, created, runs)
    bodies = _bodies(snapshot, task, found, _indices(task, found.total)[created:])
    outcome = of_instances(task.name, mapped=bool(task.expand), total=found.total, created=created, runs=runs)
    return Turn(outcome=outcome, starts=bodies, needs_slot=_needs_slot(snapshot, task))


def _needs_slot(snapshot: Snapshot, task: Task) -> bool:
    return task.trigger is None or snapshot.workflow.spec.count_deferred


def _bodies(snapshot: Snapshot, task: Task, found: Instances, indexes: Iterable[int]) -> tuple[dict[str, Any], ...]:
    workflow, account = snapshot.workflow, snapshot.settings.task_service_account
    return tuple(
        taskruns.build(
            workflow,
            task,
            index,
            arguments=found.arguments(index),
            trigger=found.trigger(index),
            account=account,
        )
        for index in indexes
    )


def _again(snapshot: Snapshot, task: Task, scope: Scope, indexes: tuple[int, ...]) -> Turn:
    """Some of its instances were cleared: those whose old TaskRun has gone are made anew."""
    runs = _runs(snapshot, task)
    created, total = _high_water(snapshot, task, runs), _stored_total(snapshot, task)
    running = Outcome(task=task.name, state=TaskState.RUNNING, total=total, created=created, runs=runs)
    match instances.resolve(task, scope, snapshot.settings.max_map_size):
        case Outcome() as outcome:
            return Turn(outcome=_once_ended(outcome, total=total, created=created, runs=runs))
        case Unknown(needs):
            return Turn(outcome=running, needs=needs)
        case Instances() as found:
            standing = snapshot.by_task.get(task.name, {})
            absent = [index for index in indexes if index < found.total and index not in standing]
            bodies = _bodies(snapshot, task, found, absent)
            return Turn(outcome=running, starts=bodies, needs_slot=_needs_slot(snapshot, task))


def _once_ended(outcome: Outcome, *, total: int, created: int, runs: Mapping[int, TaskRun]) -> Outcome:
    """The outcome of a task that starts no more instances: those that were started go on to their end first."""
    if all(run.status.state in TERMINAL for run in runs.values()):
        return replace(outcome, total=total, created=created, runs=runs)
    return Outcome(task=outcome.task, state=TaskState.RUNNING, total=total, created=created, runs=runs)


def _indices(task: Task, total: int) -> list[int]:
    return list(range(total)) if task.expand else [keys.UNMAPPED]


def _runs(snapshot: Snapshot, task: Task) -> Mapping[int, TaskRun]:
    found = snapshot.by_task.get(task.name, {})
    if snapshot.workflow.status.clearing is None:
        return found
    return {index: run for index, run in found.items() if not clear.old(snapshot.workflow, run)}


def high_water(snapshot: Snapshot, task: Task) -> int:
    """How many instances of the task have been created so far."""
    return _high_water(snapshot, task, _runs(snapshot, task))


def _high_water(snapshot: Snapshot, task: Task, runs: Mapping[int, TaskRun]) -> int:
    """How many instances have been created: no index below it is created again, whatever became of it."""
    stored = next((entry.created for entry in snapshot.workflow.status.tasks if entry.name == task.name), 0)
    seen = max(runs, default=-2) + 1 if task.expand else len(runs)
    return max(stored, seen, snapshot.created.get(task.name, 0))


def _stored_total(snapshot: Snapshot, task: Task) -> int:
    """The width as the status has it: once written it is not computed again, whatever becomes of what it came from."""
    return next((entry.total for entry in snapshot.workflow.status.tasks if entry.name == task.name), 0)
