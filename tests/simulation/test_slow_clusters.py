"""Random graphs in clusters that lag, delete pods, terminate slowly and cancel: every run ends.

To replay a seed: `TORPOR_SEED=17 pytest tests/simulation/test_slow_clusters.py`.
"""

import os
from random import Random

import pytest
from torpor_crds.models import taskrun as taskruns
from torpor_operator.model.pod import parse_pod
from torpor_wire.state import TERMINAL

from tests.support import random_runs
from tests.support.faults import RudeCourse
from tests.support.plan_fixture import PlanFixture

SEEDS = [int(os.environ["TORPOR_SEED"])] if "TORPOR_SEED" in os.environ else range(200)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_ends_whatever_the_cluster_does_and_leaves_nothing_behind(seed: int) -> None:
    chance = Random(seed)
    simulation = PlanFixture(*random_runs.tasks(chance, chance.randint(1, 6)), parallelism=chance.randint(1, 4))
    rude = RudeCourse(simulation, seed, Random(f"{seed}/order"))
    rude.run()
    assert all(taskruns.parse(body).status.state in TERMINAL for body in simulation.taskruns.values())
    rude.see_off()
    left = [pod.name for pod in map(parse_pod, simulation.pods.values()) if not pod.terminal or pod.has_finalizer]
    assert left == []
    assert simulation.workflow["metadata"]["finalizers"] == []
