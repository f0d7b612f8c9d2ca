"""I1 to I11 over many seeds. How many: TORPOR_SEEDS; each failing one is told with the command that replays it."""

import os
import sys
from collections import Counter

import pytest

from tests.simulation.checks.invariants import INVARIANTS
from tests.simulation.pool import played, told
from tests.simulation.world import Result

SEEDS = int(os.environ.get("TORPOR_SEEDS", "2000"))
JOBS = int(os.environ.get("TORPOR_SEED_JOBS", "2"))
KNOWN: dict[int, str] = {}
"""Seeds that show a bug which is not fixed yet, and which."""


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return list(played(range(SEEDS), jobs=JOBS))


def test_every_invariant_holds_whatever_happens(results: list[Result], capsys: pytest.CaptureFixture[str]) -> None:
    broken = [told(result) for result in results if result.breach is not None and result.seed not in KNOWN]
    checks = sum((result.checks for result in results), Counter[str]())
    spent = sum(result.seconds for result in results) / len(results)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(results)} seeds, {spent:.3f} s of a core each, {dict(sorted(checks.items()))} checks\n"
        )
    assert not broken, "\n".join(broken)


def test_a_known_bug_is_taken_off_the_list_once_it_is_fixed(results: list[Result]) -> None:
    assert [result.seed for result in results if result.seed in KNOWN and result.breach is None] == []


def test_every_invariant_is_checked_and_much_happens(results: list[Result]) -> None:
    checks = sum((result.checks for result in results), Counter[str]())
    assert [one for one in INVARIANTS if checks[one] < len(results) // 30] == []
    assert sum(result.executions for result in results) > 2 * len(results)


def test_a_seed_plays_the_same_in_another_process() -> None:
    seeds = range(20, 32)
    first, second = (
        [(one.changes, one.requests, one.moment, one.executions) for one in played(seeds, jobs=1)] for _ in range(2)
    )
    assert first == second
