"""Simulations of tasks that wait for a run or an object. The seeds of each begin at its FIRST_SEED."""

import os
from collections import Counter

import pytest

from tests.simulation.checks.child_runs import CHILD_RUN_INVARIANTS
from tests.simulation.checks.object_tasks import OBJECT_INVARIANTS
from tests.simulation.pool import describe, play_seeds
from tests.simulation.scenarios import random_object_tasks
from tests.simulation.scenarios.random_child_runs import FIRST_SEED

_BATCH, _OBJECTS = 60, 30
_PARTS = [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2))]


@pytest.mark.parametrize("part", _PARTS)
def test_an_attempt_has_one_run_and_no_run_is_lost(part: int) -> None:
    seeds = range(FIRST_SEED + part * _BATCH, FIRST_SEED + (part + 1) * _BATCH)
    results = list(play_seeds(seeds, jobs=min(2, os.cpu_count() or 1)))
    assert [describe(result) for result in results if result.violation is not None] == []
    checks = sum((result.checks for result in results), Counter[str]())
    assert [invariant for invariant in CHILD_RUN_INVARIANTS if not checks[invariant]] == []


@pytest.mark.parametrize("part", _PARTS[:2])
def test_an_attempt_has_one_object_and_ends_as_it_does(part: int) -> None:
    first = random_object_tasks.FIRST_SEED + part * _OBJECTS
    results = list(play_seeds(range(first, first + _OBJECTS), jobs=min(2, os.cpu_count() or 1)))
    assert [describe(result) for result in results if result.violation is not None] == []
    checks = sum((result.checks for result in results), Counter[str]())
    assert [invariant for invariant in OBJECT_INVARIANTS if not checks[invariant]] == []
