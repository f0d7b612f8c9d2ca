"""Simulations in which a person marks instances: their seeds begin at FIRST_SEED."""

import os
from collections import Counter

import pytest

from tests.simulation.checks.marks import MARK_INVARIANTS
from tests.simulation.pool import describe, play_seeds
from tests.simulation.scenarios.marks import FIRST_SEED

_BATCH, _BATCHES = 30, 4


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_a_marked_instance_runs_nothing_and_no_mark_is_lost(batch: int) -> None:
    seeds = range(FIRST_SEED + batch * _BATCH, FIRST_SEED + (batch + 1) * _BATCH)
    results = list(play_seeds(seeds, jobs=min(2, os.cpu_count() or 1)))
    assert [describe(result) for result in results if result.violation is not None] == []
    checks = sum((result.checks for result in results), Counter[str]())
    assert [invariant for invariant in MARK_INVARIANTS if not checks[invariant]] == []
