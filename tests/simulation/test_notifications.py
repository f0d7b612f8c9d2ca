"""Simulations of runs that notify people: their seeds begin at FIRST_SEED."""

import os
from collections import Counter

import pytest

from tests.simulation.checks.notifications import NOTIFICATION_INVARIANTS
from tests.simulation.pool import describe, play_seeds
from tests.simulation.scenarios.random_notifications import FIRST_SEED

_BATCH = 60
_PARTS = [0, pytest.param(1, marks=pytest.mark.long)]


@pytest.mark.parametrize("part", _PARTS)
def test_no_notification_is_lost_or_created_twice(part: int) -> None:
    seeds = range(FIRST_SEED + part * _BATCH, FIRST_SEED + (part + 1) * _BATCH)
    results = list(play_seeds(seeds, jobs=min(2, os.cpu_count() or 1)))
    assert [describe(result) for result in results if result.violation is not None] == []
    checks = sum((result.checks for result in results), Counter[str]())
    assert [invariant for invariant in NOTIFICATION_INVARIANTS if not checks[invariant]] == []
