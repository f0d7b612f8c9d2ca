"""Checks I1 to I12 over TORPOR_SEEDS seeds. A failure prints the command that replays its seed."""

import os
from collections import Counter

import pytest

from tests.simulation.checks.invariants import INVARIANTS
from tests.simulation.pool import describe, play_seeds

SEEDS = int(os.environ.get("TORPOR_SEEDS", "2000"))
PARTS = [*range(2), *(pytest.param(part, marks=pytest.mark.long) for part in range(2, 8))]
"""Each is a test of its own, so that several processes can share them. `make test` plays the first quarter."""
KNOWN: dict[int, str] = {}
"""Seeds that show a bug which is not fixed yet, and which."""


@pytest.mark.parametrize("part", PARTS)
def test_every_invariant_holds_under_faults_and_is_checked_often(part: int) -> None:
    results = list(play_seeds(range(SEEDS * part // 8, SEEDS * (part + 1) // 8), jobs=1))
    broken = [describe(result) for result in results if result.violation is not None and result.seed not in KNOWN]
    assert not broken, "\n".join(broken)
    fixed = [result.seed for result in results if result.seed in KNOWN and result.violation is None]
    assert fixed == [], "take them off the list of known bugs"
    checks = sum((result.checks for result in results), Counter[str]())
    assert [invariant for invariant in INVARIANTS if checks[invariant] < len(results) // 30] == []
    assert sum(result.executions for result in results) > 2 * len(results)


def test_a_seed_plays_the_same_in_another_process() -> None:
    seeds = range(20, 32)
    first, second = (
        [(seed.changes, seed.requests, seed.moment, seed.executions) for seed in play_seeds(seeds, jobs=1)]
        for _ in range(2)
    )
    assert first == second
