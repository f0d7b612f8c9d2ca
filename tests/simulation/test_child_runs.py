"""Simulations of runs in runs: their seeds begin at FIRST_SEED."""

import os
from collections import Counter

import pytest

from tests.simulation.checks.child_runs import CHILD_RUN_INVARIANTS
from tests.simulation.pool import describe, play_seeds
from tests.simulation.scenarios.random_child_runs import FIRST_SEED

_BATCH = 60
_PARTS = [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2))]


@pytest.mark.parametrize("part", _PARTS)
def test_an_attempt_has_one_run_and_no_run_is_lost(part: int) -> None:
    seeds = range(FIRST_SEED + part * _BATCH, FIRST_SEED + (part + 1) * _BATCH)
    results = list(play_seeds(seeds, jobs=min(2, os.cpu_count() or 1)))
    assert [describe(result) for result in results if result.violation is not None] == []
    checks = sum((result.checks for result in results), Counter[str]())
    assert [invariant for invariant in CHILD_RUN_INVARIANTS if not checks[invariant]] == []
