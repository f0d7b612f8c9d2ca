"""Decides the plan of one task at one group path: its outcome, the TaskRuns to create, and what must be known first."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from torpor_crds.models.taskrun import TaskRun
from torpor_wire import constants
from torpor_wire.index_ranges import Indexes
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, TaskState

from torpor_operator.expressions.context import Pending
from torpor_operator.mapping.instances import SkippedInstance, TaskInstances
from torpor_operator.model.actions import ConfirmTaskRun, Need
from torpor_operator.model.snapshot import Presence
from torpor_operator.state import instance_indexes
from torpor_operator.state.instance_indexes import InstanceIndexes
from torpor_operator.state.task_state import TaskOutcome, without_runs
from torpor_operator.taskrun import builder
from torpor_operator.workflows.plan.task_context import TaskContext


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """One task in one plan. `starts` are bodies of TaskRuns in the order of their index."""

    outcome: TaskOutcome
    starts: tuple[dict[str, Any], ...] = ()
    needs: tuple[Need, ...] = ()
    needs_slot: bool = True

    @property
    def runs(self) -> tuple[TaskRun, ...]:
        """The TaskRuns of the task, by index."""
        return tuple(run for _, run in sorted(self.outcome.runs.items()))


def decide(context: TaskContext) -> TaskPlan:
    """The plan of the task; the first case that holds decides."""
    indexes = context.indexes
    if context.group_end is not None:
        return _without_group_index(context, context.group_end)
    if context.awaits_deletion:
        return _without_instances(context, without_runs(context.task.name, TaskState.PENDING))
    if indexes.complete and not context.cleared:
        return _all_decided(context, indexes)
    if context.blocked is not None:
        return _without_instances(context, context.blocked)
    match context.instances:
        case None:  # the plan has reached its limit
            return _wait(context, ())
        case TaskOutcome() as outcome:
            return TaskPlan(outcome=_once_ended(context, outcome, indexes))
        case Pending(needs):
            return _wait(context, needs)
        case TaskInstances() as wanted:
            return _create_again(context, wanted) if context.cleared else _create(context, wanted)


def _without_group_index(context: TaskContext, group_end: TaskOutcome) -> TaskPlan:
    """The group no longer has this index: TaskRuns that exist run to their end, nothing new is created."""
    if context.indexes.complete:
        return _all_decided(context, context.indexes)
    ended = _once_ended(context, group_end, context.indexes)
    return TaskPlan(outcome=ended if group_end.ended else context.running(context.indexes))


def _without_instances(context: TaskContext, outcome: TaskOutcome) -> TaskPlan:
    return TaskPlan(outcome=replace(outcome, indexes=InstanceIndexes(removed=context.indexes.removed)))


def _wait(context: TaskContext, needs: tuple[Need, ...]) -> TaskPlan:
    state = TaskState.RUNNING if context.indexes.created else TaskState.PENDING
    return TaskPlan(outcome=replace(context.running(context.indexes), state=state), needs=needs)


def _all_decided(context: TaskContext, indexes: InstanceIndexes) -> TaskPlan:
    """Every instance was created or skipped. One that has no TaskRun was deleted, once a read has confirmed it.

    The reads wait until the other instances have ended: a plan would otherwise confirm thousands, each time.
    """
    task, workflow = context.task, context.snapshot.workflow
    if not all(run.status.state in TERMINAL for run in context.runs.values()):
        return TaskPlan(outcome=context.outcome(indexes))
    unconfirmed: list[Need] = []
    for position in indexes.created - instance_indexes.positions(context.runs):
        index = instance_indexes.index(task, position)
        name = builder.taskrun_name(workflow, task.name, index, context.group_path)
        confirm = ConfirmTaskRun(workflow.metadata.namespace, name)
        match context.snapshot.known.get(confirm):
            case Presence.GONE:
                continue
            case Presence.UNREADABLE:
                message = f"TaskRun {name} cannot be read: its fields do not match this version"
                failed = without_runs(task.name, TaskState.FAILED, Reason.STATUS_INVALID, message)
                return TaskPlan(outcome=_once_ended(context, failed, indexes))
            case _:
                unconfirmed.append(confirm)
    if unconfirmed:
        return _wait(context, tuple(unconfirmed))
    return TaskPlan(outcome=context.outcome(indexes))


def _create(context: TaskContext, wanted: TaskInstances) -> TaskPlan:
    """The width is known: create the instances that have not been decided, in order."""
    task, indexes = context.task, context.indexes.with_total(wanted.total)
    if indexes.complete:
        return _all_decided(context, indexes)
    if task.pool is not None and not wanted.marked and context.snapshot.slots(task.pool) is None:
        return TaskPlan(outcome=_unknown_pool(context, task.pool, indexes))
    bodies = _bodies(context, wanted, indexes.undecided - instance_indexes.positions(context.existing))
    if bodies.failed is not None:
        return TaskPlan(outcome=_once_ended(context, bodies.failed, indexes))
    outcome = context.outcome(indexes.with_skipped(Indexes.from_numbers(bodies.skipped)))
    return TaskPlan(outcome=outcome, starts=bodies.taskruns, needs=bodies.needs)


def _unknown_pool(context: TaskContext, pool: str, indexes: InstanceIndexes) -> TaskOutcome:
    message = f"pool {pool}: the ConfigMap {constants.POOLS_CONFIG} of this namespace has no number of slots for it"
    state = TaskState.RUNNING if indexes.created else TaskState.PENDING
    waiting = without_runs(context.task.name, state, Reason.POOL_UNKNOWN, message)
    return replace(waiting, mapped=context.task.mapped, indexes=indexes, runs=context.runs)


def _create_again(context: TaskContext, wanted: TaskInstances) -> TaskPlan:
    """Create the cleared instances whose former TaskRun is gone, unless the list or `when` no longer includes them."""
    indexes = context.indexes
    beyond = [index for index in context.cleared if index >= wanted.total]
    missing = [index for index in context.cleared if index < wanted.total and index not in context.existing]
    bodies = _bodies(context, wanted, missing)
    if bodies.failed is not None:
        return TaskPlan(outcome=_once_ended(context, bodies.failed, indexes))
    removed = Indexes.from_numbers([*beyond, *bodies.skipped])
    kept = replace(
        indexes,
        created=indexes.created - removed,
        skips=indexes.skips | removed,
        removed=indexes.removed + len(beyond),
    )
    return TaskPlan(outcome=context.running(kept), starts=bodies.taskruns, needs=bodies.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bodies:
    """TaskRuns to create, positions that `when` skips, and what must be known of other instances first."""

    taskruns: tuple[dict[str, Any], ...] = ()
    skipped: tuple[int, ...] = ()
    needs: tuple[Need, ...] = ()
    failed: TaskOutcome | None = None


def _bodies(context: TaskContext, wanted: TaskInstances, positions: Iterable[int]) -> _Bodies:
    """The next instances, up to the limit of this plan."""
    workflow, account = context.snapshot.workflow, context.snapshot.settings.task_service_account
    taskruns: list[dict[str, Any]] = []
    skipped: list[int] = []
    needs: list[Need] = []
    for position in positions:
        match wanted.at(position):
            case TaskOutcome() as outcome:
                return _Bodies(failed=outcome)
            case Pending(more):
                needs += more
            case SkippedInstance():
                skipped.append(position)
            case instance:
                index = instance_indexes.index(wanted.task, position)
                taskruns.append(
                    builder.build(
                        workflow, wanted.task, index, instance=instance, account=account, group_path=context.group_path
                    )
                )
        if len(taskruns) + len(needs) >= context.limit:
            break
    return _Bodies(taskruns=tuple(taskruns), skipped=tuple(skipped), needs=tuple(dict.fromkeys(needs)))


def _once_ended(context: TaskContext, outcome: TaskOutcome, indexes: InstanceIndexes) -> TaskOutcome:
    """The outcome of a task that creates no more instances, once all that exist have ended."""
    if all(run.status.state in TERMINAL for run in context.runs.values()):
        return replace(outcome, task=context.task.name, mapped=context.task.mapped, indexes=indexes, runs=context.runs)
    return context.running(indexes)
