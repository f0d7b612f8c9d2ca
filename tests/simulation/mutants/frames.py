"""Guards of mapped groups: each index has its own marks, sees its own results, and is made anew by itself."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

from torpor_operator.mapping.group_scopes import GroupScopes
from torpor_operator.plan import clear, clear_request
from torpor_operator.state import instance_indexes
from torpor_operator.state.instance_indexes import InstanceIndexes
from torpor_operator.state.task_state import Outcome
from torpor_wire.instance_paths import Path

from tests.simulation.mutants.mutant import Mutant, put


def _marks_by_frame() -> None:
    known = instance_indexes.known

    def anywhere(snapshot: Any, task: Any, depth: int, runs: Any) -> dict[Path, InstanceIndexes]:
        found = known(snapshot, task, depth, runs)
        made = reduce(or_, (each.made for each in found.values()), instance_indexes.NO_INDEXES)
        return {frame: replace(each, made=made) for frame, each in found.items()}

    put(instance_indexes, "known", anywhere)


def _sight_by_frame() -> None:
    seen = GroupScopes.outcome_at

    def first(self: Any, task: str, chain: Any, frame: Path) -> Outcome:
        return seen(self, task, chain, tuple(0 for _ in frame))

    put(GroupScopes, "outcome_at", first)


def _all_frames() -> None:
    whole = GroupScopes._combined

    def begun(self: Any, task: str, prefix: Path, depth: int) -> Outcome:
        parts = self._outcomes[task]
        ended = {frame: part for frame, part in parts.items() if part.ended}
        self._outcomes[task] = ended or parts
        try:
            return whole(self, task, prefix, depth)
        finally:
            self._outcomes[task] = parts

    put(GroupScopes, "_combined", begun)


def _old_by_frame() -> None:
    put(clear, "_selects", lambda cleared, spec: cleared.indexes is None or spec.map_index in cleared.indexes)


def _cleared_by_frame() -> None:
    put(clear_request, "common", lambda *_: 0)


def _made_by_frame() -> None:
    read = instance_indexes._from_groups

    def forgotten(
        instances: str, made: str | None, skips: str, depth: int, *, mapped: bool
    ) -> Mapping[Path, InstanceIndexes]:
        return {} if made is None else read(instances, made, skips, depth, mapped=mapped)

    put(instance_indexes, "_from_groups", forgotten)


MUTANTS = (
    Mutant(name="marks by frame", without="what was made at one index counts at all", switch=_marks_by_frame),
    Mutant(name="marks in the status", without="what was made within groups is not read back", switch=_made_by_frame),
    Mutant(name="sight by frame", without="each index sees what the first one has", switch=_sight_by_frame),
    Mutant(
        name="all frames",
        without="who is outside a group awaits only one index of it",
        switch=_all_frames,
    ),
    Mutant(name="clearing by frame", without="all of a task makes way for one index of it", switch=_old_by_frame),
    Mutant(name="dependents by frame", without="what depends on one index runs again at all", switch=_cleared_by_frame),
)
