"""Whether a task starts, by its trigger rule and the outcomes of its upstream tasks (Airflow's trigger rules). Pure.

As in Airflow a mapped task counts as its instances; a task without instances counts as one. All rules except `always`
and the three `one_...` rules wait until all upstream tasks have ended.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from torpor_crds.models.task import Task
from torpor_expressions.value import JSON
from torpor_wire import constants
from torpor_wire.enums import TriggerRule
from torpor_wire.reason import Reason
from torpor_wire.state import TASK_BROKEN, State, TaskState

from torpor_operator.graph.dag import Graph
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import TaskOutcome, without_runs

_EARLY = frozenset({TriggerRule.ONE_SUCCESS, TriggerRule.ONE_FAILED, TriggerRule.ONE_DONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """How many upstream instances ended in which state; `upstream_failed` counts tasks that never ran."""

    succeeded: int = 0
    failed: int = 0
    upstream_failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """All instances."""
        return self.succeeded + self.broken + self.skipped

    @property
    def broken(self) -> int:
        """Instances that failed, and tasks that never ran since an upstream task failed."""
        return self.failed + self.upstream_failed


def blocked(task: Task, upstream: Sequence[TaskOutcome]) -> TaskOutcome | None:
    """Why the task does not start, now or ever; None if it starts."""
    if task.rule is TriggerRule.ALWAYS or not upstream:
        return None
    counts = count_outcomes(upstream)
    if task.rule in _EARLY and _starts_early(task.rule, counts):
        return None
    if not all(outcome.ended for outcome in upstream):
        return without_runs(task.name, TaskState.PENDING)
    state = _state(task.rule, counts)
    return (
        None if state is None else without_runs(task.name, state, Reason(state), _message(state, task.rule, upstream))
    )


def _starts_early(rule: TriggerRule, counts: OutcomeCounts) -> bool:
    match rule:
        case TriggerRule.ONE_SUCCESS:
            return counts.succeeded > 0
        case TriggerRule.ONE_FAILED:
            return counts.broken > 0
        case _:  # one_done: as in Airflow a task that never ran is not done
            return counts.succeeded + counts.failed > 0


def _state(rule: TriggerRule, counts: OutcomeCounts) -> TaskState | None:  # noqa: C901 - a case for each rule
    """The state of a task once all upstream tasks have ended; None: it runs."""
    upstream_failed = TaskState.UPSTREAM_FAILED if counts.broken else None
    match rule:
        case TriggerRule.ALL_SUCCESS:
            return upstream_failed or _skipped(counts.skipped > 0)
        case TriggerRule.ALL_FAILED:
            return _skipped(counts.broken < counts.total)
        case TriggerRule.ALL_SKIPPED:
            return _skipped(counts.skipped < counts.total)
        case TriggerRule.ONE_SUCCESS:
            return _skipped(counts.skipped == counts.total) or TaskState.UPSTREAM_FAILED
        case TriggerRule.ONE_FAILED | TriggerRule.ONE_DONE:
            return TaskState.SKIPPED
        case TriggerRule.NONE_FAILED:
            return upstream_failed
        case TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS:
            return upstream_failed or _skipped(not counts.succeeded)
        case TriggerRule.NONE_SKIPPED:
            return _skipped(counts.skipped > 0)
        case TriggerRule.ALL_DONE_MIN_ONE_SUCCESS:  # as in Airflow's code, a skipped task is not done
            return _skipped(counts.skipped > 0) or (None if counts.succeeded else TaskState.UPSTREAM_FAILED)
        case TriggerRule.ALL_DONE | TriggerRule.ALWAYS:
            return None


def _skipped(condition: bool) -> TaskState | None:
    return TaskState.SKIPPED if condition else None


def _message(state: TaskState, rule: TriggerRule, upstream: Sequence[TaskOutcome]) -> str:
    broken = next((outcome for outcome in upstream if outcome.state in TASK_BROKEN), None)
    if state is TaskState.UPSTREAM_FAILED and broken is not None:
        return f"upstream task {broken.task}: {broken.reason or broken.state}"
    skipped = next((outcome for outcome in upstream if outcome.state is TaskState.SKIPPED), None)
    if rule is TriggerRule.ALL_SUCCESS and skipped is not None:
        return f"upstream task {skipped.task} was skipped"
    counts = count_outcomes(upstream)
    never = f", {counts.upstream_failed} never ran" if counts.upstream_failed else ""
    ended = f"{counts.succeeded} succeeded, {counts.failed} failed, {counts.skipped} skipped{never}"
    return f"rule {rule}: upstream: {ended}"


def count_outcomes(upstream: Iterable[TaskOutcome]) -> OutcomeCounts:
    """The counts over all upstream tasks."""
    each = [_count(outcome) for outcome in upstream]
    return OutcomeCounts(
        succeeded=sum(counts.succeeded for counts in each),
        failed=sum(counts.failed for counts in each),
        upstream_failed=sum(counts.upstream_failed for counts in each),
        skipped=sum(counts.skipped for counts in each),
    )


def _count(outcome: TaskOutcome) -> OutcomeCounts:
    if isinstance(outcome, GroupState):
        return count_outcomes(outcome.parts.values())
    skips, never = len(outcome.indexes.skips), outcome.state is TaskState.UPSTREAM_FAILED
    broken = outcome.state in TASK_BROKEN and not never
    if not outcome.mapped or not (outcome.indexes.created or skips):
        return OutcomeCounts(
            succeeded=int(outcome.state is TaskState.SUCCEEDED),
            failed=int(broken),
            upstream_failed=int(never),
            skipped=int(outcome.state is TaskState.SKIPPED),
        )
    states = Counter(run.status.state for run in outcome.runs.values())
    failed = states[State.FAILED] + states[State.CANCELLED]
    # In a task that has ended, also instances that were deleted, or that could not be created.
    failed += len(outcome.indexes.created) - len(outcome.runs) if outcome.ended else 0
    return OutcomeCounts(
        succeeded=states[State.SUCCEEDED],
        failed=failed or int(broken),
        upstream_failed=int(never and not failed),
        skipped=skips + states[State.SKIPPED],
    )


def branch_outcome(task: Task, outcome: TaskOutcome, graph: Graph) -> TaskOutcome:
    """The outcome of a branch task, which fails if its result names a task that is not directly downstream."""
    if not task.branch or outcome.state is not TaskState.SUCCEEDED:
        return outcome
    chosen, choices = _chosen(outcome), _choices(task.name, graph)
    if chosen is not None and chosen <= choices:
        return outcome
    invalid = "the result" if chosen is None else ", ".join(map(repr, sorted(chosen - choices)[:5]))
    listed = ", ".join(sorted(choices)[:20]) or "none"
    where = " in its group" if graph.chains[task.name] else ""
    message = f"branch: {invalid} is not a direct downstream task{where}; choices: {listed}"
    return replace(
        outcome, state=TaskState.FAILED, reason=Reason.BRANCH_INVALID, message=message[: constants.MESSAGE_MAX]
    )


def skipped_by_branch(task: Task, graph: Graph, outcomes: Mapping[str, TaskOutcome]) -> TaskOutcome | None:
    """The outcome of a task that an upstream branch did not choose; a task after the chosen one runs all the same."""
    for name in sorted(graph.upstream[task.name] & graph.branches):
        if task.name not in _choices(name, graph) or outcomes[name].state is not TaskState.SUCCEEDED:
            continue
        chosen = _chosen(outcomes[name]) or frozenset()
        if task.name not in chosen and not chosen & graph.ancestors(task.name):
            message = f"upstream task {name} chose {', '.join(sorted(chosen)[:5]) or 'no task'}"
            return without_runs(task.name, TaskState.SKIPPED, Reason.SKIPPED, message)
    return None


def _choices(name: str, graph: Graph) -> frozenset[str]:
    """The tasks that a branch can choose: direct downstream tasks in its own groups, where it has one result."""
    around = graph.chains[name]
    return frozenset(other for other in graph.downstream(name) if graph.chains[other][: len(around)] == around)


def _chosen(outcome: TaskOutcome) -> frozenset[str] | None:
    """The names in the result; None if it is neither a name nor a list of names. Null chooses none."""
    run = outcome.runs.get(constants.UNMAPPED)
    if run is not None and run.status.stored is not None:
        return None  # over 8 kB, in the archive
    try:
        value: JSON = json.loads((run and run.status.result) or "null")
    except (ValueError, RecursionError):  # another client wrote it
        return None
    names = [] if value is None else value if isinstance(value, list) else [value]
    return frozenset(map(str, names)) if all(isinstance(name, str) for name in names) else None
