"""Simulations of pods with several containers, and of volumes of runs: their seeds begin at FIRST_SEED."""

import os
from collections import Counter

import pytest

from tests.simulation.checks.containers import CONTAINER_INVARIANTS
from tests.simulation.pool import describe, play_seeds
from tests.simulation.scenarios.random_containers import FIRST_SEED

_BATCH = 60
_PARTS = [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2))]


@pytest.mark.parametrize("part", _PARTS)
def test_each_container_of_a_launch_runs_once_and_no_result_is_lost(part: int) -> None:
    seeds = range(FIRST_SEED + part * _BATCH, FIRST_SEED + (part + 1) * _BATCH)
    results = list(play_seeds(seeds, jobs=min(2, os.cpu_count() or 1)))
    assert [describe(result) for result in results if result.violation is not None] == []
    checks = sum((result.checks for result in results), Counter[str]())
    assert [invariant for invariant in CONTAINER_INVARIANTS if not checks[invariant]] == []
