"""Guards of mapped groups: instances, results and clearing are separate for each group index."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

from torpor_operator.mapping.group_scopes import GroupScopes
from torpor_operator.state import instance_indexes
from torpor_operator.state.instance_indexes import InstanceIndexes
from torpor_operator.state.task_state import TaskOutcome
from torpor_operator.workflows.plan import clear, clear_request
from torpor_wire.instance_paths import Path

from tests.simulation.mutants.mutant import Mutant, put


def _marks_by_group_path() -> None:
    known = instance_indexes.known

    def anywhere(snapshot: Any, task: Any, depth: int, runs: Any) -> dict[Path, InstanceIndexes]:
        found = known(snapshot, task, depth, runs)
        made = reduce(or_, (each.made for each in found.values()), instance_indexes.NO_INDEXES)
        return {group_path: replace(each, made=made) for group_path, each in found.items()}

    put(instance_indexes, "known", anywhere)


def _sight_by_group_path() -> None:
    seen = GroupScopes.outcome_at

    def first(self: Any, task: str, chain: Any, group_path: Path) -> TaskOutcome:
        return seen(self, task, chain, tuple(0 for _ in group_path))

    put(GroupScopes, "outcome_at", first)


def _all_group_paths() -> None:
    whole = GroupScopes._combined

    def begun(self: Any, task: str, prefix: Path, depth: int) -> TaskOutcome:
        parts = self._outcomes[task]
        ended = {group_path: part for group_path, part in parts.items() if part.ended}
        self._outcomes[task] = ended or parts
        try:
            return whole(self, task, prefix, depth)
        finally:
            self._outcomes[task] = parts

    put(GroupScopes, "_combined", begun)


def _old_by_group_path() -> None:
    put(clear, "_selects", lambda cleared, spec: cleared.indexes is None or spec.map_index in cleared.indexes)


def _cleared_by_group_path() -> None:
    put(clear_request, "common", lambda *_: 0)


def _made_by_group_path() -> None:
    read = instance_indexes._from_groups

    def forgotten(
        instances: str, made: str | None, skips: str, depth: int, *, mapped: bool
    ) -> Mapping[Path, InstanceIndexes]:
        return {} if made is None else read(instances, made, skips, depth, mapped=mapped)

    put(instance_indexes, "_from_groups", forgotten)


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
