"""Guards of mapped groups: instances, results and clearing are separate for each group index."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from types import SimpleNamespace
from typing import Any

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import TaskStatus, Workflow
from torpor_operator.mapping import group_scopes
from torpor_operator.mapping.group_scopes import GroupScopes
from torpor_operator.state import instance_indexes
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.instance_indexes import InstanceIndexes
from torpor_operator.state.task_state import TaskOutcome
from torpor_operator.workflows.plan import clear, clear_request
from torpor_wire.instance_paths import Path

from tests.simulation.mutants.mutant import Mutant, put


def _marks_by_group_path() -> None:
    known = instance_indexes.known

    def anywhere(snapshot: Any, task: Any, depth: int, runs: Any) -> dict[Path, InstanceIndexes]:
        indexes = known(snapshot, task, depth, runs)
        created = reduce(or_, (each.created for each in indexes.values()), instance_indexes.NO_INDEXES)
        return {group_path: replace(each, created=created) for group_path, each in indexes.items()}

    put(instance_indexes, "known", anywhere)


def _sight_by_group_path() -> None:
    outcome_at = GroupScopes.outcome_at

    def first(self: Any, task: str, chain: Any, group_path: Path) -> TaskOutcome:
        return outcome_at(self, task, chain, tuple(0 for _ in group_path))

    put(GroupScopes, "outcome_at", first)


def _all_group_paths() -> None:
    combined = GroupState.combined

    def of_ended(task: str, group_path: Path, parts: Mapping[Path, TaskOutcome], **options: Any) -> GroupState:
        ended = {path: part for path, part in parts.items() if part.ended}
        return combined(task, group_path, ended or parts, **options)

    put(group_scopes, "GroupState", SimpleNamespace(combined=of_ended))


def _old_by_group_path() -> None:
    is_replaced = clear.is_replaced

    def at_any_path(workflow: Workflow, run: TaskRun) -> bool:
        clearing = workflow.status.clearing
        if clearing is None:
            return False
        tasks = tuple(task.model_copy(update={"within": None}) for task in clearing.tasks)
        status = workflow.status.model_copy(update={"clearing": clearing.model_copy(update={"tasks": tasks})})
        return is_replaced(workflow.model_copy(update={"status": status}), run)

    put(clear, "is_replaced", at_any_path)


def _cleared_by_group_path() -> None:
    put(clear_request, "common", lambda *_: 0)


def _made_by_group_path() -> None:
    from_status = instance_indexes.from_status

    def forgotten(status: TaskStatus, depth: int, *, mapped: bool) -> Mapping[Path, InstanceIndexes]:
        return {} if depth and status.made is None else from_status(status, depth, mapped=mapped)

    put(instance_indexes, "from_status", forgotten)


MUTANTS = (
    Mutant(
        name="created instances per group index",
        without="an instance created at one group index counts at all",
        switch=_marks_by_group_path,
    ),
    Mutant(
        name="created instances in the status",
        without="instances created within groups are not read from the status",
        switch=_made_by_group_path,
    ),
    Mutant(
        name="results per group index",
        without="each group index sees the results of the first",
        switch=_sight_by_group_path,
    ),
    Mutant(
        name="all group indexes",
        without="a task outside a group waits for one of its indexes only",
        switch=_all_group_paths,
    ),
    Mutant(
        name="clearing per group index",
        without="clearing one group index deletes all instances of a task",
        switch=_old_by_group_path,
    ),
    Mutant(
        name="dependents per group index",
        without="clearing one group index clears dependents at all",
        switch=_cleared_by_group_path,
    ),
)
