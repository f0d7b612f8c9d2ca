"""Whether a task's turn has come, by its rule and the ends of what is before it (Airflow's trigger rules).

As in Airflow a mapped task counts as its instances, and one that never had any as one. All rules but `always` and the
three that say `one` wait until everything before has ended.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from torpor_api.models.task import Rule, Task
from torpor_api.models.workflow import TaskState
from torpor_cel.value import JSON
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.graph.dag import Graph
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import BROKEN, Outcome, decided

_EARLY = frozenset({Rule.ONE_SUCCESS, Rule.ONE_FAILED, Rule.ONE_DONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """How many instances before a task ended which way; `upstream_failed` counts tasks that never ran."""

    succeeded: int = 0
    failed: int = 0
    upstream_failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.succeeded + self.broken + self.skipped

    @property
    def broken(self) -> int:
        """Those that failed, and those that never ran since one before them did."""
        return self.failed + self.upstream_failed


def closed(task: Task, upstream: Sequence[Outcome]) -> Outcome | None:
    """Why the task does not run now or ever, or None where its turn has come."""
    if task.rule is Rule.ALWAYS or not upstream:
        return None
    ends = _ends(upstream)
    if task.rule in _EARLY and _early(task.rule, ends):
        return None
    if not all(outcome.ended for outcome in upstream):
        return decided(task.name, TaskState.PENDING)
    state = _state(task.rule, ends)
    return None if state is None else decided(task.name, state, Reason(state), _why(state, task.rule, upstream))


def _early(rule: Rule, ends: OutcomeCounts) -> bool:
    match rule:
        case Rule.ONE_SUCCESS:
            return ends.succeeded > 0
        case Rule.ONE_FAILED:
            return ends.broken > 0
        case _:  # one_done: as in Airflow a task that never ran is not done
            return ends.succeeded + ends.failed > 0


def _state(rule: Rule, ends: OutcomeCounts) -> TaskState | None:  # noqa: C901 - a case for each rule
    """What becomes of a task when everything before it has ended; None: it runs."""
    upstream_failed = TaskState.UPSTREAM_FAILED if ends.broken else None
    match rule:
        case Rule.ALL_SUCCESS:
            return upstream_failed or _skipped(ends.skipped > 0)
        case Rule.ALL_FAILED:
            return _skipped(ends.broken < ends.total)
        case Rule.ALL_SKIPPED:
            return _skipped(ends.skipped < ends.total)
        case Rule.ONE_SUCCESS:
            return _skipped(ends.skipped == ends.total) or TaskState.UPSTREAM_FAILED
        case Rule.ONE_FAILED | Rule.ONE_DONE:
            return TaskState.SKIPPED
        case Rule.NONE_FAILED:
            return upstream_failed
        case Rule.NONE_FAILED_MIN_ONE_SUCCESS:
            return upstream_failed or _skipped(not ends.succeeded)
        case Rule.NONE_SKIPPED:
            return _skipped(ends.skipped > 0)
        case Rule.ALL_DONE_MIN_ONE_SUCCESS:  # as in Airflow's code, one that was skipped is not done
            return _skipped(ends.skipped > 0) or (None if ends.succeeded else TaskState.UPSTREAM_FAILED)
        case Rule.ALL_DONE | Rule.ALWAYS:
            return None


def _skipped(condition: bool) -> TaskState | None:
    return TaskState.SKIPPED if condition else None


def _why(state: TaskState, rule: Rule, upstream: Sequence[Outcome]) -> str:
    broken = next((outcome for outcome in upstream if outcome.state in BROKEN), None)
    if state is TaskState.UPSTREAM_FAILED and broken is not None:
        return f"task {broken.task} before it: {broken.reason or broken.state}"
    skipped = next((outcome for outcome in upstream if outcome.state is TaskState.SKIPPED), None)
    if rule is Rule.ALL_SUCCESS and skipped is not None:
        return f"task {skipped.task} before it was skipped"
    ends = _ends(upstream)
    never = f", {ends.upstream_failed} never ran" if ends.upstream_failed else ""
    counts = f"{ends.succeeded} succeeded, {ends.failed} failed, {ends.skipped} were skipped{never}"
    return f"rule {rule}: before it {counts}"


def _ends(upstream: Iterable[Outcome]) -> OutcomeCounts:
    each = [_ends_of(outcome) for outcome in upstream]
    return OutcomeCounts(
        succeeded=sum(ends.succeeded for ends in each),
        failed=sum(ends.failed for ends in each),
        upstream_failed=sum(ends.upstream_failed for ends in each),
        skipped=sum(ends.skipped for ends in each),
    )


def _ends_of(outcome: Outcome) -> OutcomeCounts:
    if isinstance(outcome, GroupState):
        return _ends(outcome.parts.values())
    skips, never = len(outcome.marks.skips), outcome.state is TaskState.UPSTREAM_FAILED
    broken = outcome.state in BROKEN and not never
    if not outcome.mapped or not (outcome.marks.made or skips):
        return OutcomeCounts(
            succeeded=int(outcome.state is TaskState.SUCCEEDED),
            failed=int(broken),
            upstream_failed=int(never),
            skipped=int(outcome.state is TaskState.SKIPPED),
        )
    states = Counter(run.status.state for run in outcome.runs.values())
    failed = states[State.FAILED] + states[State.CANCELLED]
    # Of a task that ended: instances that were deleted, or of which one could not be made.
    failed += len(outcome.marks.made) - len(outcome.runs) if outcome.ended else 0
    return OutcomeCounts(
        succeeded=states[State.SUCCEEDED],
        failed=failed or int(broken),
        upstream_failed=int(never and not failed),
        skipped=skips + states[State.SKIPPED],
    )


def taken(task: Task, outcome: Outcome, graph: Graph) -> Outcome:
    """The outcome of a branch task, which fails where what it returned names no task after it."""
    if not task.branch or outcome.state is not TaskState.SUCCEEDED:
        return outcome
    chosen, below = _chosen(outcome), _below(task.name, graph)
    if chosen is not None and chosen <= below:
        return outcome
    wrong = "what it returned" if chosen is None else ", ".join(map(repr, sorted(chosen - below)[:5]))
    there = ", ".join(sorted(below)[:20]) or "none"
    where = " in its group" if graph.chains[task.name] else ""
    message = f"branch: {wrong} is no task right after it{where}; there are: {there}"
    return replace(
        outcome, state=TaskState.FAILED, reason=Reason.BRANCH_INVALID, message=message[: constants.MESSAGE_MAX]
    )


def left_out(task: Task, graph: Graph, outcomes: Mapping[str, Outcome]) -> Outcome | None:
    """The outcome of a task that a branch before it did not choose; one that its choice leads to runs all the same."""
    for name in sorted(graph.upstream[task.name] & graph.branches):
        if task.name not in _below(name, graph) or outcomes[name].state is not TaskState.SUCCEEDED:
            continue
        chosen = _chosen(outcomes[name]) or frozenset()
        if task.name not in chosen and not chosen & graph.above(task.name):
            message = f"task {name} before it chose {', '.join(sorted(chosen)[:5]) or 'no task'}"
            return decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, message)
    return None


def _below(name: str, graph: Graph) -> frozenset[str]:
    """The tasks that a branch decides on: those after it in its own groups, where it has one result."""
    around = graph.chains[name]
    return frozenset(other for other in graph.downstream(name) if graph.chains[other][: len(around)] == around)


def _chosen(outcome: Outcome) -> frozenset[str] | None:
    """The names that it returned; None where that is neither a name nor a list of names. Null chooses none."""
    run = outcome.runs.get(constants.UNMAPPED)
    if run is not None and run.status.stored is not None:
        return None  # more than 8 kB, in the archive
    try:
        value: JSON = json.loads((run and run.status.result) or "null")
    except (ValueError, RecursionError):  # another hand wrote it
        return None
    names = [] if value is None else value if isinstance(value, list) else [value]
    return frozenset(map(str, names)) if all(isinstance(name, str) for name in names) else None
