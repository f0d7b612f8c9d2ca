"""The plans of all tasks in the order of the graph. The plans of a task in mapped groups are combined into one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TaskRun
from torpor_expressions.value import JSON
from torpor_wire import constants
from torpor_wire.enums import Hook
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TASK_BROKEN, TaskState

from torpor_operator.expressions.context import RUN, Scope
from torpor_operator.graph import trigger_rules
from torpor_operator.graph.dag import Graph
from torpor_operator.mapping.group_scopes import GroupScopes
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.state import instance_indexes
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.instance_indexes import UNKNOWN, InstanceIndexes
from torpor_operator.state.task_state import TaskOutcome, of_instances, without_runs
from torpor_operator.workflows.plan import clear, task_plan
from torpor_operator.workflows.plan.status import RunVerdict
from torpor_operator.workflows.plan.task_context import ContextResolver, TaskContext
from torpor_operator.workflows.plan.task_plan import TaskPlan

_NEEDS_MAX = 2_000
"""Needs of one task in one plan. The plan is computed again with the answers, which takes long at 10,000 indexes."""


def plan_tasks(snapshot: Snapshot, graph: Graph) -> list[TaskPlan]:
    """The plan of each task, decided on the outcomes of those before it; without hooks."""
    planner = _TaskPlanner(snapshot, graph, {}, {})
    return [planner.plan(task) for task in graph.tasks]


def plan_hooks(snapshot: Snapshot, graph: Graph, ended: Sequence[TaskOutcome], run: RunVerdict) -> list[TaskPlan]:
    """The plans of the hooks, which start when the verdict of the run is final; some verdicts skip some hooks."""
    seen: dict[str, JSON] = {
        "state": run.state,
        "reason": str(run.reason),  # expressions cannot hold an enum
        "message": run.message,
    }
    planner = _TaskPlanner(snapshot, graph, {RUN: seen}, {outcome.task: outcome for outcome in ended})
    return [planner.plan_hook(task, run) for task in graph.hooks]


class _TaskPlanner:
    """Plans tasks one after the other and keeps the outcomes for those that follow."""

    def __init__(
        self, snapshot: Snapshot, graph: Graph, extra_roots: Mapping[str, JSON], ended: Mapping[str, TaskOutcome]
    ) -> None:
        self._snapshot = snapshot
        self._graph = graph
        self._outcomes = dict(ended)  # as seen from outside all groups
        base = Scope(workflow=snapshot.workflow, outcomes=self._outcomes, known=snapshot.known, extra_roots=extra_roots)
        self._scopes = GroupScopes(graph, base, _max_instances(snapshot))
        self._resolver = ContextResolver(graph, self._scopes)

    def plan(self, task: Task) -> TaskPlan:
        """The plan of the task at all its group paths."""
        chain = self._graph.chains[task.name]
        runs = _runs(self._snapshot, task)
        known = instance_indexes.known(self._snapshot, task, len(chain), runs)
        limit, needs_left = _create_limit(self._snapshot, task), _NEEDS_MAX
        plans: dict[Path, TaskPlan] = {}
        for path, group_end in self._scopes.paths(chain, known):
            if group_end is not None and path not in known:
                plans[path] = TaskPlan(outcome=replace(group_end, task=task.name))
                continue
            site = TaskContext(
                snapshot=self._snapshot,
                task=task,
                group_path=path,
                indexes=known.get(path, UNKNOWN),
                runs=runs.get(path, {}),
                existing=self._snapshot.runs(task.name, path),
                limit=limit if needs_left > 0 else 0,
                group_end=group_end,
            )
            planned = task_plan.decide(self._resolver.resolve(site))
            if task.branch:
                planned = replace(planned, outcome=trigger_rules.branch_outcome(task, planned.outcome, self._graph))
            plans[path] = planned
            limit -= len(planned.starts)
            needs_left -= len(planned.needs)
        return self._combine(task, plans)

    def plan_hook(self, task: Task, run: RunVerdict) -> TaskPlan:
        """The plan of the hook: Pending until the run has ended, Skipped where the verdict does not call it."""
        if not run.final:
            return self._combine(task, {(): TaskPlan(outcome=without_runs(task.name, TaskState.PENDING))})
        if not _is_called(task, run):
            skipped = without_runs(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"the run is {run.state}")
            return self._combine(task, {(): TaskPlan(outcome=skipped)})
        return self.plan(task)

    def _combine(self, task: Task, plans: Mapping[Path, TaskPlan]) -> TaskPlan:
        outcome = self._scopes.add(task, {path: planned.outcome for path, planned in plans.items()})
        self._outcomes[task.name] = outcome
        needs = (*(need for planned in plans.values() for need in planned.needs), *self._scopes.needs)
        self._scopes.needs.clear()
        starts = tuple(body for planned in plans.values() for body in planned.starts)
        return TaskPlan(outcome=outcome, starts=starts, needs=needs, needs_slot=_needs_slot(self._snapshot, task))


def outcome_of_stopped(snapshot: Snapshot, task: Task, *, depth: int) -> TaskOutcome:
    """The outcome of the task, in `depth` groups, if nothing more is created: what has not started is cancelled."""
    runs = _runs(snapshot, task)
    parts = {
        path: replace(_stopped(task, indexes, runs.get(path, {})), group_path=path)
        for path, indexes in instance_indexes.known(snapshot, task, depth, runs).items()
        if indexes.created
    }
    if not parts:
        return without_runs(task.name, TaskState.CANCELLED, Reason.CANCELLED, "the run ended before the task started")
    return GroupState.combined(task.name, (), parts, depth=depth, mapped_in_group=task.mapped) if depth else parts[()]


def _stopped(task: Task, indexes: InstanceIndexes, runs: Mapping[int, TaskRun]) -> TaskOutcome:
    # The width stays known or unknown: a run that resumes creates the instances that are missing.
    known = indexes if task.mapped else indexes.with_total(1)
    outcome = of_instances(task, known, runs, final=True)
    if outcome.ended and outcome.state not in TASK_BROKEN and not known.complete:
        message = "the run ended before all instances of the task were created"
        return replace(outcome, state=TaskState.CANCELLED, reason=Reason.CANCELLED, message=message)
    return outcome


def known_indexes(snapshot: Snapshot, graph: Graph, task: Task) -> Mapping[Path, InstanceIndexes]:
    """Which instances of the task have been created or skipped so far, by group path."""
    return instance_indexes.known(snapshot, task, len(graph.chains[task.name]), _runs(snapshot, task))


def _is_called(task: Task, run: RunVerdict) -> bool:
    return task.hook is Hook.END or (task.hook is Hook.SUCCESS) == (run.succeeded == "True")


def _max_instances(snapshot: Snapshot) -> int:
    """How many instances a task may have: spec.maxMapSize, within the limit of the installation."""
    settings, requested = snapshot.settings, snapshot.workflow.spec.max_map_size
    limit = min(max(settings.max_map_size, settings.map_size_limit), constants.MAP_MAX)
    return min(requested or settings.max_map_size, limit)


def _create_limit(snapshot: Snapshot, task: Task) -> int:
    """How many TaskRuns of the task one plan may create."""
    limit = snapshot.settings.batch
    if not _needs_slot(snapshot, task):
        return limit
    return min(limit, snapshot.workflow.spec.parallelism, task.max_active or limit)


def _needs_slot(snapshot: Snapshot, task: Task) -> bool:
    return not task.is_only_awaited or snapshot.workflow.spec.count_deferred


def _runs(snapshot: Snapshot, task: Task) -> Mapping[Path, Mapping[int, TaskRun]]:
    """The TaskRuns of the task by group path, without those that a clearing replaces."""
    by_path = snapshot.by_task.get(task.name, {})
    if snapshot.workflow.status.clearing is None:
        return by_path
    return {
        path: {index: run for index, run in runs.items() if not clear.is_replaced(snapshot.workflow, run)}
        for path, runs in by_path.items()
    }
