"""The turn of one task in one frame: its outcome so far, the TaskRuns to start, and what must be answered first."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torpor_api.models.task import Task
from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import TaskState
from torpor_wire import constants
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import instances
from torpor_operator.mapping.expand import Allowed
from torpor_operator.mapping.instances import Instances, SkippedInstance
from torpor_operator.model.actions import ConfirmTaskRun, Need
from torpor_operator.model.snapshot import Presence, Snapshot
from torpor_operator.plan import clear
from torpor_operator.state import instance_indexes
from torpor_operator.state.instance_indexes import InstanceIndexes
from torpor_operator.state.task_state import Outcome, decided, of_instances
from torpor_operator.taskrun import builder


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """One task in one plan. `starts` are bodies of TaskRuns in the order of their index."""

    outcome: Outcome
    starts: tuple[dict[str, Any], ...] = ()
    needs: tuple[Need, ...] = ()
    needs_slot: bool = True

    @property
    def runs(self) -> tuple[TaskRun, ...]:
        """The TaskRuns there are."""
        return tuple(run for _, run in sorted(self.outcome.runs.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """A task in a frame, as a plan finds it. Of `runs` none is to be made anew; `limit` are made in this plan at most.

    What it sees, how wide it may be, and what keeps its turn from coming are asked for only where they matter.
    """

    snapshot: Snapshot
    task: Task
    frame: Path
    found: InstanceIndexes
    runs: Mapping[int, TaskRun]
    limit: int
    scope: Callable[[], Scope] = field(repr=False)
    allowed: Callable[[], Allowed] = field(repr=False)
    closed: Callable[[], Outcome | None] = field(repr=False)

    @property
    def standing(self) -> Mapping[int, TaskRun]:
        """All its TaskRuns that there are, also those that make way for others."""
        return self.snapshot.runs(self.task.name, self.frame)

    def outcome(self, found: InstanceIndexes) -> Outcome:
        """How it stands while its instances run."""
        return of_instances(self.task, found, self.runs)

    def running(self, found: InstanceIndexes) -> Outcome:
        """How it stands while something of it is still to come."""
        return Outcome(
            task=self.task.name, state=TaskState.RUNNING, mapped=self.task.mapped, marks=found, runs=self.runs
        )


def of(spot: TaskContext) -> TaskPlan:
    """What becomes of the task there."""
    found = spot.found
    if again := clear.missing(spot.snapshot.workflow, spot.task, spot.runs):
        return _again(spot, again)
    if not found.made and len(spot.runs) < len(spot.standing):
        pending = decided(spot.task.name, TaskState.PENDING)  # cleared, and the old ones have not gone yet
        return TaskPlan(outcome=replace(pending, marks=InstanceIndexes(removed=found.removed)))
    if found.complete:
        return _begun(spot, found)
    if not found.made and (closed := spot.closed()) is not None:
        return TaskPlan(outcome=replace(closed, marks=InstanceIndexes(removed=found.removed)))
    if spot.limit <= 0:
        return _waiting(spot, ())
    match instances.resolve(spot.task, spot.scope, spot.allowed):
        case Outcome() as outcome:
            return TaskPlan(outcome=_once_ended(spot, outcome, found))
        case Pending(needs):
            return _waiting(spot, needs)
        case Instances() as wanted:
            return _started(spot, wanted)


def without_its_group(spot: TaskContext, closed: Outcome) -> TaskPlan:
    """What becomes of the task in a frame whose group has no such index: what was started goes on to its end."""
    if spot.found.complete:
        return _begun(spot, spot.found)
    return TaskPlan(outcome=_once_ended(spot, closed, spot.found) if closed.ended else spot.running(spot.found))


def _waiting(spot: TaskContext, needs: tuple[Need, ...]) -> TaskPlan:
    state = TaskState.RUNNING if spot.found.made else TaskState.PENDING
    return TaskPlan(outcome=replace(spot.running(spot.found), state=state), needs=needs)


def _begun(spot: TaskContext, found: InstanceIndexes) -> TaskPlan:
    """Every instance has been decided on: what is absent now was deleted, once a read has confirmed it.

    That matters only when the others have ended; until then each plan would read them all, of which there may be many.
    """
    task, snapshot = spot.task, spot.snapshot
    if not all(run.status.state in TERMINAL for run in spot.runs.values()):
        return TaskPlan(outcome=spot.outcome(found))
    unconfirmed: list[Need] = []
    for position in found.made - instance_indexes.positions(spot.runs):
        name = builder.name_of(snapshot.workflow, task.name, instance_indexes.index(task, position), spot.frame)
        asked = ConfirmTaskRun(snapshot.workflow.metadata.namespace, name)
        match snapshot.known.get(asked):
            case Presence.GONE:
                continue
            case Presence.UNREADABLE:
                message = f"TaskRun {name} cannot be read: its fields are not of this version"
                failed = decided(task.name, TaskState.FAILED, Reason.STATUS_INVALID, message)
                return TaskPlan(outcome=_once_ended(spot, failed, found))
            case _:
                unconfirmed.append(asked)
    if unconfirmed:
        return _waiting(spot, tuple(unconfirmed))
    return TaskPlan(outcome=spot.outcome(found))


def _started(spot: TaskContext, wanted: Instances) -> TaskPlan:
    """The width is known: start what has not been decided on, in order."""
    task, found = spot.task, spot.found.of_width(wanted.total)
    if found.complete:
        return _begun(spot, found)
    if task.pool is not None and spot.snapshot.slots(task.pool) is None:
        message = (
            f"pool {task.pool}: the ConfigMap {constants.POOLS_CONFIG} of this namespace has no number of slots for it"
        )
        pending = TaskState.RUNNING if found.made else TaskState.PENDING
        waiting = decided(task.name, pending, Reason.POOL_UNKNOWN, message)
        return TaskPlan(outcome=replace(waiting, mapped=task.mapped, marks=found, runs=spot.runs))
    made = _bodies(spot, wanted, found.open - instance_indexes.positions(spot.standing))
    if made.failed is not None:
        return TaskPlan(outcome=_once_ended(spot, made.failed, found))
    outcome = spot.outcome(found.skipping(Indexes.of(made.left_out)))
    return TaskPlan(outcome=outcome, starts=made.bodies, needs=made.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What became of some instances: TaskRuns to create, positions left out, what must be known of others first."""

    bodies: tuple[dict[str, Any], ...] = ()
    left_out: tuple[int, ...] = ()
    needs: tuple[Need, ...] = ()
    failed: Outcome | None = None


def _bodies(spot: TaskContext, wanted: Instances, positions: Iterable[int]) -> _Made:
    """The next instances, as many as one plan may create: a later one goes on."""
    workflow, account = spot.snapshot.workflow, spot.snapshot.settings.task_service_account
    bodies: list[dict[str, Any]] = []
    left_out: list[int] = []
    needs: list[Need] = []
    for position in positions:
        match wanted.at(position):
            case Outcome() as outcome:
                return _Made(failed=outcome)
            case Pending(more):
                needs += more
            case SkippedInstance():
                left_out.append(position)
            case instance:
                at = instance_indexes.index(wanted.task, position)
                bodies.append(
                    builder.build(workflow, wanted.task, at, instance=instance, account=account, frame=spot.frame)
                )
        if len(bodies) + len(needs) >= spot.limit:
            break
    return _Made(bodies=tuple(bodies), left_out=tuple(left_out), needs=tuple(dict.fromkeys(needs)))


def _again(spot: TaskContext, indexes: tuple[int, ...]) -> TaskPlan:
    """Some of its instances were cleared: those whose old TaskRun has gone are made anew."""
    match instances.resolve(spot.task, spot.scope, spot.allowed):
        case Outcome() as outcome:
            return TaskPlan(outcome=_once_ended(spot, outcome, spot.found))
        case Pending(needs):
            return TaskPlan(outcome=spot.running(spot.found), needs=needs)
        case Instances() as wanted:
            return _made_anew(spot, wanted, indexes)


def _made_anew(spot: TaskContext, wanted: Instances, indexes: tuple[int, ...]) -> TaskPlan:
    """Cleared instances are created, but for those that are not to be any more."""
    found = spot.found
    beyond = [index for index in indexes if index >= wanted.total]
    made = _bodies(spot, wanted, [index for index in indexes if index < wanted.total and index not in spot.standing])
    if made.failed is not None:
        return TaskPlan(outcome=_once_ended(spot, made.failed, found))
    gone = Indexes.of([*beyond, *made.left_out])
    kept = replace(found, made=found.made - gone, skips=found.skips | gone, removed=found.removed + len(beyond))
    return TaskPlan(outcome=spot.running(kept), starts=made.bodies, needs=made.needs)


def _once_ended(spot: TaskContext, outcome: Outcome, found: InstanceIndexes) -> Outcome:
    """The outcome of a task that starts no more instances: those that were started go on to their end first."""
    if all(run.status.state in TERMINAL for run in spot.runs.values()):
        return replace(outcome, task=spot.task.name, mapped=spot.task.mapped, marks=found, runs=spot.runs)
    return spot.running(found)
