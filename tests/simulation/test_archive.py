"""Simulations with an archive: their seeds begin at FIRST_SEED."""

import os

import pytest

from tests.simulation.actors.archive import FIRST_SEED
from tests.simulation.pool import describe, play_seeds

_BATCH, _BATCHES = 30, 4


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_nothing_is_deleted_before_it_is_kept(batch: int) -> None:
    seeds = range(FIRST_SEED + batch * _BATCH, FIRST_SEED + (batch + 1) * _BATCH)
    results = list(play_seeds(seeds, jobs=min(2, os.cpu_count() or 1)))
    assert [describe(result) for result in results if result.violation is not None] == []
    assert any(result.checks["I13"] for result in results)
