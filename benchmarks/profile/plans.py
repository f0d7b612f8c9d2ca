"""`python -m benchmarks.profile.plans`: CPU of the operator's plans for a fan-out, without API server and processes.

It can be copied into a checkout of an earlier revision, to compare both.
"""

import argparse
import sys
import time
from unittest import mock

from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.settings import Settings
from torpor_operator.workflows.plan.planner import plan

from tests.support import plan_fixture
from tests.support.builders import python

_ROUNDS = 500


def main() -> int:
    """Plan a fan-out from its start to its end, and print the CPU time of a task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile.plans", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="instances")
    count = parser.parse_args().count
    spent: list[float] = []

    def measured(snapshot: Snapshot) -> WorkflowPlan:
        began = time.process_time()
        planned = plan(snapshot)
        spent.append(time.process_time() - began)
        return planned

    task = python("a", expand=[{"name": "n", "over": [*range(count)]}])
    with mock.patch.multiple(plan_fixture, plan=measured, ROUNDS=_ROUNDS):
        world = plan_fixture.PlanFixture(task, parallelism=count, settings=Settings(max_map_size=count)).settle()
        for index in range(count):
            world.claim("a", index)
            world.report_success("a", index, '{"n":1}')
        world.settle()
    sys.stdout.write(f"{count:,} tasks, {len(spent)} plans: {sum(spent) / count * 1000:.3f} ms of CPU for each task\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
