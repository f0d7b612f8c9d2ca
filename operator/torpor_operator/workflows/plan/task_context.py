"""What the plan of one task at one group path needs, resolved before anything is decided.

The resolver reads the snapshot and the outcomes of earlier tasks; `task_plan` decides from the context alone. A value
that costs much is resolved only where the decision can depend on it: a group may have ten thousand indexes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TaskRun
from torpor_wire.instance_paths import Path
from torpor_wire.state import TaskState

from torpor_operator.graph import trigger_rules
from torpor_operator.graph.dag import Graph
from torpor_operator.mapping import instances
from torpor_operator.mapping.group_scopes import GroupScopes
from torpor_operator.mapping.instances import ResolvedInstances
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.state import marks
from torpor_operator.state.instance_indexes import InstanceIndexes
from torpor_operator.state.task_state import TaskOutcome, failed_by_invalid_json, of_instances, without_runs
from torpor_operator.workflows.plan import clear


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """One task at one group path: all that its plan is decided from."""

    snapshot: Snapshot
    task: Task
    group_path: Path
    indexes: InstanceIndexes
    runs: Mapping[int, TaskRun]  # without those that a clearing replaces
    existing: Mapping[int, TaskRun]  # all of them
    limit: int  # TaskRuns that this plan may create here
    group_end: TaskOutcome | None  # why its group has no such index; None where it has
    cleared: tuple[int, ...] = ()  # cleared instances that are missing
    blocked: TaskOutcome | None = None  # why the task does not start, now or ever
    instances: ResolvedInstances | None = None  # what its instances are made from; None where this plan creates none

    @property
    def awaits_deletion(self) -> bool:
        """Whether all of the task was cleared and former TaskRuns still exist."""
        return not self.indexes.created and len(self.runs) < len(self.existing)

    @property
    def creates_instances(self) -> bool:
        """Whether this plan may create instances here."""
        if self.group_end is not None:
            return False
        undecided = not (self.awaits_deletion or self.indexes.complete)
        return bool(self.cleared) or (undecided and self.blocked is None and self.limit > 0)

    def outcome(self, indexes: InstanceIndexes) -> TaskOutcome:
        """The outcome of the instances."""
        return of_instances(self.task, indexes, self.runs)

    def running(self, indexes: InstanceIndexes) -> TaskOutcome:
        """The outcome while more instances follow, or some still run."""
        return TaskOutcome(
            task=self.task.name, state=TaskState.RUNNING, mapped=self.task.mapped, indexes=indexes, runs=self.runs
        )


@dataclass(frozen=True, slots=True)
class ContextResolver:
    """Resolves contexts from the outcomes of earlier tasks, which `scopes` holds."""

    graph: Graph
    scopes: GroupScopes

    def resolve(self, site: TaskContext) -> TaskContext:
        """The context with everything that its plan can depend on."""
        if site.group_end is not None:
            return site
        cleared = clear.missing_indexes(site.snapshot.workflow, site.task, site.runs)
        if self._is_marked(site):  # it waits for no upstream task
            return replace(site, instances=instances.marked(site.task, self.scopes.scope((), ())))
        blocked = None if site.indexes.created or site.indexes.complete else self._blocked(site)
        context = replace(site, cleared=cleared, blocked=blocked) if cleared or blocked else site
        return replace(context, instances=self._instances(context)) if context.creates_instances else context

    def _is_marked(self, site: TaskContext) -> bool:
        """Whether a user marked the only instance of the task, which does not exist yet."""
        workflow, task = site.snapshot.workflow, site.task
        if workflow.status.clearing is None or task.mapped or task.group is not None:
            return False
        return site.creates_instances and marks.of_instance(workflow, task.name, ()) is not None

    def _blocked(self, site: TaskContext) -> TaskOutcome | None:
        """Why the task does not start: its stored outcome counts, a branch skips it, or its trigger rule blocks it."""
        task, chain = site.task, self.graph.chains[site.task.name]
        if not chain and (final := _final_outcome(site.snapshot, self.graph, task)) is not None:
            return final
        outcomes = self.scopes.outcomes(chain, site.group_path)
        upstream = [outcomes[name] for name in sorted(self.graph.upstream[task.name])]
        return trigger_rules.skipped_by_branch(task, self.graph, outcomes) or trigger_rules.blocked(task, upstream)

    def _instances(self, context: TaskContext) -> ResolvedInstances:
        task, chain, path = context.task, self.graph.chains[context.task.name], context.group_path
        try:
            return instances.resolve_instances(task, self.scopes.scope(chain, path), self.scopes.allowed(chain, path))
        except (ValueError, RecursionError) as error:
            return failed_by_invalid_json(task.name, error)


def _final_outcome(snapshot: Snapshot, graph: Graph, task: Task) -> TaskOutcome | None:
    """The stored outcome of a task that ended without instances, once tasks after it have started.

    Later params could decide otherwise; then a task would start after those that depend on it.
    """
    entry = snapshot.task_statuses.get(task.name)
    if entry is None or task.hook is not None or entry.created:
        return None
    if entry.state not in {TaskState.SKIPPED, TaskState.FAILED}:
        return None
    downstream = graph.downstream(task.name)
    if not any(other.created for other in snapshot.task_statuses.values() if other.name in downstream):
        return None
    return without_runs(task.name, entry.state, entry.reason, entry.message)
