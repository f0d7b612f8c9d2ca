"""Random graphs with random outcomes: runs end, and end alike for any order of events and crashes.

To replay a seed: `TORPOR_SEED=17 pytest tests/simulation/test_random_graphs.py`.
"""

import os
from random import Random

import pytest

from tests.support import random_runs
from tests.support.plan_fixture import PlanFixture
from tests.support.random_runs import RandomRun

SEEDS = [int(os.environ["TORPOR_SEED"])] if "TORPOR_SEED" in os.environ else range(200)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_ends_and_ends_alike_in_any_order_of_events(seed: int) -> None:
    first, second = (_course(seed, order).run() for order in (0, 1))
    assert random_runs.ending(first) == random_runs.ending(second), f"seed {seed}"


def _course(seed: int, order: int) -> RandomRun:
    chance = Random(seed)
    simulation = PlanFixture(*random_runs.tasks(chance, chance.randint(1, 8)), parallelism=chance.randint(1, 5))
    return RandomRun(simulation, seed, Random(f"{seed}/{order}"))
