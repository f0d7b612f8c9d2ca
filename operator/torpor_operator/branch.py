"""Tasks whose result says which of the tasks after them run (Airflow's branch operators). Pure."""

import json
from collections.abc import Mapping
from dataclasses import replace

from torpor_api.task import Task
from torpor_api.workflow import TaskState
from torpor_cel.value import JSON
from torpor_wire import keys
from torpor_wire.reason import Reason

from torpor_operator.graph import Graph
from torpor_operator.outcome import Outcome, decided


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
    return replace(outcome, state=TaskState.FAILED, reason=Reason.BRANCH_INVALID, message=message[: keys.MESSAGE_MAX])


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
    run = outcome.runs.get(keys.UNMAPPED)
    if run is not None and run.status.stored is not None:
        return None  # more than 8 kB, in the archive
    try:
        value: JSON = json.loads((run and run.status.result) or "null")
    except (ValueError, RecursionError):  # another hand wrote it
        return None
    names = [] if value is None else value if isinstance(value, list) else [value]
    return frozenset(map(str, names)) if all(isinstance(name, str) for name in names) else None
