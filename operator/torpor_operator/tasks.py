"""Each task's turn: its outcome so far, the TaskRuns it still has to start, and what must be answered first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torpor_api.task import Hook, Task
from torpor_api.taskrun import TaskRun
from torpor_api.workflow import TaskState
from torpor_cel.value import JSON
from torpor_wire import keys
from torpor_wire.indexes import Indexes
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator import branch, clear, gate, instances, marks, taskruns
from torpor_operator.actions import ConfirmTaskRun, Need
from torpor_operator.graph import Graph
from torpor_operator.instances import Instances, LeftOut
from torpor_operator.marks import Marks
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
        left_out = branch.left_out(task, graph, outcomes)
        turn = _turn(snapshot, task, [outcomes[name] for name in sorted(graph.upstream[task.name])], scope, left_out)
        turn = replace(turn, outcome=branch.taken(task, turn.outcome, graph))
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
    found = marks.of(snapshot, task, runs)
    if not runs and not found.made:
        return decided(task.name, TaskState.CANCELLED, Reason.CANCELLED, "the run ended before its turn came")
    return of_instances(task, replace(found, total=len(found.made) + len(found.skips)), runs, final=True)


def _turn(
    snapshot: Snapshot, task: Task, upstream: list[Outcome], scope: Scope, left_out: Outcome | None = None
) -> Turn:
    runs = _runs(snapshot, task)
    found = marks.of(snapshot, task, runs)
    if again := clear.missing(snapshot.workflow, task, runs):
        return _again(snapshot, task, scope, again)
    if not found.made and len(runs) < len(snapshot.by_task.get(task.name, {})):
        pending = decided(task.name, TaskState.PENDING)  # cleared, and the old ones have not gone yet
        return Turn(outcome=replace(pending, marks=Marks(removed=found.removed)))
    if found.complete:
        return _begun(snapshot, task, found, runs)
    if not found.made:
        closed = left_out or gate.closed(task, upstream)
        if closed is not None:
            return Turn(outcome=replace(closed, marks=Marks(removed=found.removed)))
    match instances.resolve(task, scope, _allowed(snapshot)):
        case Outcome() as outcome:
            return Turn(outcome=_once_ended(task, outcome, found, runs))
        case Unknown(needs):
            return _waiting(task, found, runs, needs)
        case Instances() as wanted:
            return _started(snapshot, wanted, found, runs)


def _allowed(snapshot: Snapshot) -> int:
    """How many instances a task may have: as the Workflow has it, within what the installation allows."""
    settings, asked = snapshot.settings, snapshot.workflow.spec.max_map_size
    most = min(max(settings.max_map_size, settings.map_size_limit), keys.MAP_MAX)
    return min(asked or settings.max_map_size, most)


def _waiting(task: Task, found: Marks, runs: Mapping[int, TaskRun], needs: tuple[Need, ...]) -> Turn:
    state = TaskState.RUNNING if found.made else TaskState.PENDING
    return Turn(outcome=Outcome(task=task.name, state=state, mapped=task.mapped, marks=found, runs=runs), needs=needs)


def _begun(snapshot: Snapshot, task: Task, found: Marks, runs: Mapping[int, TaskRun]) -> Turn:
    """Every instance has been decided on: what is absent now was deleted, once a read has confirmed it.

    That matters only when the others have ended; until then each plan would read them all, of which there may be many.
    """
    if not all(run.status.state in TERMINAL for run in runs.values()):
        return Turn(outcome=of_instances(task, found, runs))
    absent = found.made - marks.positions(runs)
    unconfirmed: list[Need] = []
    for position in absent:
        name = taskruns.name_of(snapshot.workflow, task.name, marks.index(task, position))
        asked = ConfirmTaskRun(snapshot.workflow.metadata.namespace, name)
        match snapshot.known.get(asked):
            case Presence.GONE:
                continue
            case Presence.UNREADABLE:
                message = f"TaskRun {name} cannot be read: its fields are not of this version"
                failed = decided(task.name, TaskState.FAILED, Reason.STATUS_INVALID, message)
                return Turn(outcome=_once_ended(task, failed, found, runs))
            case _:
                unconfirmed.append(asked)
    if unconfirmed:
        return _waiting(task, found, runs, tuple(unconfirmed))
    return Turn(outcome=of_instances(task, found, runs))


def _started(snapshot: Snapshot, wanted: Instances, found: Marks, runs: Mapping[int, TaskRun]) -> Turn:
    """The width is known: start what has not been decided on, in order."""
    task, found = wanted.task, found.of_width(wanted.total)
    if found.complete:
        return _begun(snapshot, task, found, runs)
    if task.pool is not None and snapshot.slots(task.pool) is None:
        message = f"pool {task.pool}: the ConfigMap {keys.POOLS_CONFIG} of this namespace has no number of slots for it"
        pending = TaskState.RUNNING if found.made else TaskState.PENDING
        waiting = decided(task.name, pending, Reason.POOL_UNKNOWN, message)
        return Turn(outcome=replace(waiting, mapped=task.mapped, marks=found, runs=runs))
    made = _bodies(snapshot, wanted, found.open)
    if made.failed is not None:
        return Turn(outcome=_once_ended(task, made.failed, found, runs))
    found = found.skipping(Indexes.of(made.left_out))
    outcome = of_instances(task, found, runs)
    return Turn(outcome=outcome, starts=made.bodies, needs=made.needs, needs_slot=_needs_slot(snapshot, task))


def _needs_slot(snapshot: Snapshot, task: Task) -> bool:
    return task.trigger is None or snapshot.workflow.spec.count_deferred


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What became of some instances: TaskRuns to create, positions left out, what must be known of others first."""

    bodies: tuple[dict[str, Any], ...] = ()
    left_out: tuple[int, ...] = ()
    needs: tuple[Need, ...] = ()
    failed: Outcome | None = None


def _bodies(snapshot: Snapshot, wanted: Instances, positions: Iterable[int]) -> _Made:
    """The next instances, as many as one plan may create: a later one goes on."""
    workflow, account = snapshot.workflow, snapshot.settings.task_service_account
    limit = snapshot.settings.batch
    if _needs_slot(snapshot, wanted.task):
        limit = min(limit, workflow.spec.parallelism, wanted.task.max_active or limit)
    bodies: list[dict[str, Any]] = []
    left_out: list[int] = []
    needs: list[Need] = []
    for position in positions:
        match wanted.at(position):
            case Outcome() as outcome:
                return _Made(failed=outcome)
            case Unknown(more):
                needs += more
            case LeftOut():
                left_out.append(position)
            case instance:
                at = marks.index(wanted.task, position)
                bodies.append(taskruns.build(workflow, wanted.task, at, instance=instance, account=account))
        if len(bodies) + len(needs) >= limit:
            break
    return _Made(bodies=tuple(bodies), left_out=tuple(left_out), needs=tuple(dict.fromkeys(needs)))


def _again(snapshot: Snapshot, task: Task, scope: Scope, indexes: tuple[int, ...]) -> Turn:
    """Some of its instances were cleared: those whose old TaskRun has gone are made anew."""
    runs = _runs(snapshot, task)
    found = marks.of(snapshot, task, runs)
    running = Outcome(task=task.name, state=TaskState.RUNNING, mapped=task.mapped, marks=found, runs=runs)
    match instances.resolve(task, scope, _allowed(snapshot)):
        case Outcome() as outcome:
            return Turn(outcome=_once_ended(task, outcome, found, runs))
        case Unknown(needs):
            return Turn(outcome=running, needs=needs)
        case Instances() as wanted:
            return _made_anew(snapshot, wanted, found, runs, indexes)


def _made_anew(
    snapshot: Snapshot, wanted: Instances, found: Marks, runs: Mapping[int, TaskRun], indexes: tuple[int, ...]
) -> Turn:
    """Cleared instances are created, but for those that are not to be any more."""
    task, standing = wanted.task, snapshot.by_task.get(wanted.task.name, {})
    beyond = [index for index in indexes if index >= wanted.total]
    made = _bodies(snapshot, wanted, [index for index in indexes if index < wanted.total and index not in standing])
    if made.failed is not None:
        return Turn(outcome=_once_ended(task, made.failed, found, runs))
    gone = Indexes.of([*beyond, *made.left_out])
    kept = replace(found, made=found.made - gone, skips=found.skips | gone, removed=found.removed + len(beyond))
    running = Outcome(task=task.name, state=TaskState.RUNNING, mapped=task.mapped, marks=kept, runs=runs)
    return Turn(outcome=running, starts=made.bodies, needs=made.needs, needs_slot=_needs_slot(snapshot, task))


def _once_ended(task: Task, outcome: Outcome, found: Marks, runs: Mapping[int, TaskRun]) -> Outcome:
    """The outcome of a task that starts no more instances: those that were started go on to their end first."""
    if all(run.status.state in TERMINAL for run in runs.values()):
        return replace(outcome, mapped=task.mapped, marks=found, runs=runs)
    return Outcome(task=task.name, state=TaskState.RUNNING, mapped=task.mapped, marks=found, runs=runs)


def _runs(snapshot: Snapshot, task: Task) -> Mapping[int, TaskRun]:
    found = snapshot.by_task.get(task.name, {})
    if snapshot.workflow.status.clearing is None:
        return found
    return {index: run for index, run in found.items() if not clear.old(snapshot.workflow, run)}


def created(snapshot: Snapshot, task: Task) -> Indexes:
    """Which instances of the task have been created so far."""
    return marks.of(snapshot, task, _runs(snapshot, task)).made
