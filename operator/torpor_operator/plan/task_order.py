"""Each task's turn in a plan: of a task within mapped groups, its turns in all of their frames as one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torpor_api.models.task import Hook, Task
from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import TaskState
from torpor_cel.value import JSON
from torpor_wire import constants
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason

from torpor_operator.expressions.context import RUN, Scope
from torpor_operator.graph import trigger_rules
from torpor_operator.graph.dag import Graph
from torpor_operator.mapping.group_scopes import GroupScopes
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.plan import clear, task_plan
from torpor_operator.plan.status import Verdict
from torpor_operator.plan.task_plan import TaskContext, TaskPlan
from torpor_operator.state import instance_indexes
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.instance_indexes import UNMARKED, InstanceIndexes
from torpor_operator.state.task_state import BROKEN, Outcome, decided, of_instances

Runs = Mapping[Path, Mapping[int, TaskRun]]

# Questions of a task in one plan, which is made again with the answers: at ten thousand indexes that is work.
_ASKS = 2_000


def turns(snapshot: Snapshot, graph: Graph) -> list[TaskPlan]:
    """The tasks of the run in the order of the graph, each decided on the outcomes of those before it."""
    run = _Run(snapshot, graph, {})
    return [run.turn(task) for task in graph.tasks]


def hooks(snapshot: Snapshot, graph: Graph, ended: Sequence[Outcome], run: Verdict) -> list[TaskPlan]:
    """The hooks, which wait for the run's verdict to be final and see it; those that it does not call are skipped."""
    told: dict[str, JSON] = {
        "name": snapshot.workflow.metadata.name,
        "state": run.state,
        "reason": str(run.reason),  # an enum is no value of an expression
        "message": run.message,
    }
    going = _Run(snapshot, graph, {RUN: told}, {outcome.task: outcome for outcome in ended})
    return [going.hook(task, run) for task in graph.hooks]


class _Run:
    """The turns of one plan."""

    def __init__(
        self, snapshot: Snapshot, graph: Graph, more: Mapping[str, JSON], ended: Mapping[str, Outcome] | None = None
    ) -> None:
        self._snapshot = snapshot
        self._graph = graph
        self._outcomes: dict[str, Outcome] = dict(ended or {})  # as they are seen from no group
        base = Scope(workflow=snapshot.workflow, outcomes=self._outcomes, known=snapshot.known, more=more)
        self._frames = GroupScopes(graph, base, _allowed(snapshot))

    def turn(self, task: Task) -> TaskPlan:
        """The task's, over all its frames."""
        chain = self._graph.chains[task.name]
        runs = _runs(self._snapshot, task)
        found = instance_indexes.of(self._snapshot, task, len(chain), runs)
        limit, asks = _limit(self._snapshot, task), _ASKS
        made: dict[Path, TaskPlan] = {}
        for frame, closed in self._frames.of(chain, found):
            if closed is not None and frame not in found:
                made[frame] = TaskPlan(outcome=replace(closed, task=task.name))
                continue
            spot = self._spot(task, frame, found.get(frame, UNMARKED), runs.get(frame, {}), limit if asks > 0 else 0)
            one = task_plan.of(spot) if closed is None else task_plan.without_its_group(spot, closed)
            made[frame] = (
                replace(one, outcome=trigger_rules.taken(task, one.outcome, self._graph)) if task.branch else one
            )
            limit -= len(one.starts)
            asks -= len(one.needs)
        return self._put(task, made)

    def hook(self, task: Task, run: Verdict) -> TaskPlan:
        """The hook's, once the run has ended."""
        if not run.final:
            return self._put(task, {(): TaskPlan(outcome=decided(task.name, TaskState.PENDING))})
        if not _called(task, run):
            skipped = decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"the run is {run.state}")
            return self._put(task, {(): TaskPlan(outcome=skipped)})
        return self.turn(task)

    def _spot(
        self, task: Task, frame: Path, found: InstanceIndexes, runs: Mapping[int, TaskRun], limit: int
    ) -> TaskContext:
        chain = self._graph.chains[task.name]

        def closed() -> Outcome | None:
            if not chain and (stays := _stays(self._snapshot, self._graph, task)) is not None:
                return stays
            seen = self._frames.sight(chain, frame) if chain else self._outcomes
            before = [seen[name] for name in sorted(self._graph.upstream[task.name])]
            return trigger_rules.left_out(task, self._graph, seen) or trigger_rules.closed(task, before)

        return TaskContext(
            snapshot=self._snapshot,
            task=task,
            frame=frame,
            found=found,
            runs=runs,
            limit=limit,
            scope=lambda: self._frames.scope(chain, frame),
            allowed=lambda: self._frames.allowed(chain, frame),
            closed=closed,
        )

    def _put(self, task: Task, made: Mapping[Path, TaskPlan]) -> TaskPlan:
        outcome = self._frames.put(task, {frame: one.outcome for frame, one in made.items()})
        self._outcomes[task.name] = outcome
        needs = (*(need for one in made.values() for need in one.needs), *self._frames.needs)
        self._frames.needs.clear()
        starts = tuple(body for one in made.values() for body in one.starts)
        return TaskPlan(outcome=outcome, starts=starts, needs=needs, needs_slot=_needs_slot(self._snapshot, task))


def _stays(snapshot: Snapshot, graph: Graph, task: Task) -> Outcome | None:
    """The outcome of a task that ended without an instance and that others have begun on, as the status has it.

    A change of params would decide anew: then what comes after the task would have begun before the task has.
    """
    workflow = snapshot.workflow
    entries = {entry.name: entry for entry in workflow.status.tasks}
    entry = entries.get(task.name)
    if entry is None or task.hook is not None or entry.created:
        return None
    if entry.state not in {TaskState.SKIPPED, TaskState.FAILED}:
        return None
    after = (entries[name] for name in graph.downstream(task.name) if name in entries)
    if not any(each.created for each in after):
        return None
    return decided(task.name, entry.state, entry.reason, entry.message)


def as_it_is(snapshot: Snapshot, graph: Graph, task: Task) -> Outcome:
    """The task's outcome if nothing more is started: what has not begun is cancelled."""
    chain = graph.chains[task.name]
    runs = _runs(snapshot, task)
    parts = {
        frame: replace(_cut_short(task, found, runs.get(frame, {})), frame=frame)
        for frame, found in instance_indexes.of(snapshot, task, len(chain), runs).items()
        if found.made
    }
    if not parts:
        return decided(task.name, TaskState.CANCELLED, Reason.CANCELLED, "the run ended before its turn came")
    return GroupState.of(task.name, (), parts, depth=len(chain), itself=task.mapped) if chain else parts[()]


def _cut_short(task: Task, found: InstanceIndexes, runs: Mapping[int, TaskRun]) -> Outcome:
    # Its width stays as it is known, or unknown: a run that is resumed makes the instances that were not made.
    known = found if task.mapped else found.of_width(1)
    outcome = of_instances(task, known, runs, final=True)
    if outcome.ended and outcome.state not in BROKEN and not known.complete:
        message = "the run ended before all of its instances were made"
        return replace(outcome, state=TaskState.CANCELLED, reason=Reason.CANCELLED, message=message)
    return outcome


def created(snapshot: Snapshot, graph: Graph, task: Task) -> Mapping[Path, InstanceIndexes]:
    """Which instances of the task have been decided on so far, by frame."""
    return instance_indexes.of(snapshot, task, len(graph.chains[task.name]), _runs(snapshot, task))


def _called(task: Task, run: Verdict) -> bool:
    return task.hook is Hook.END or (task.hook is Hook.SUCCESS) == (run.succeeded == "True")


def _allowed(snapshot: Snapshot) -> int:
    """How many instances a task may have: as the Workflow has it, within what the installation allows."""
    settings, asked = snapshot.settings, snapshot.workflow.spec.max_map_size
    most = min(max(settings.max_map_size, settings.map_size_limit), constants.MAP_MAX)
    return min(asked or settings.max_map_size, most)


def _limit(snapshot: Snapshot, task: Task) -> int:
    """How many TaskRuns of the task one plan may create."""
    limit = snapshot.settings.batch
    if not _needs_slot(snapshot, task):
        return limit
    return min(limit, snapshot.workflow.spec.parallelism, task.max_active or limit)


def _needs_slot(snapshot: Snapshot, task: Task) -> bool:
    return task.trigger is None or snapshot.workflow.spec.count_deferred


def _runs(snapshot: Snapshot, task: Task) -> Runs:
    """Its TaskRuns by frame, without those that are to be made anew."""
    found = snapshot.by_task.get(task.name, {})
    if snapshot.workflow.status.clearing is None:
        return found
    return {
        frame: {index: run for index, run in runs.items() if not clear.old(snapshot.workflow, run)}
        for frame, runs in found.items()
    }
