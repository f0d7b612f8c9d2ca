"""How often a run is planned and its status written: a large one less often, and after trouble later and later."""

import logging
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from torpor_api.client.resources import PODS
from torpor_operator.model.actions import Plan
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.plan.planner import plan
from torpor_operator.settings import Settings

from tests.support.builders import python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault

SIZE = 200


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


async def test_a_large_run_is_planned_at_intervals_that_grow_with_it(
    rig: ControllerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments: list[float] = []

    def counted(snapshot: Snapshot) -> Plan:
        if len(snapshot.taskruns) == SIZE:
            moments.append(snapshot.now)
        return plan(snapshot)

    monkeypatch.setattr("torpor_operator.controller.reconciler.plan", counted)
    rig.create("run", python("load", expand=[{"name": "n", "over": list(range(SIZE))}]), parallelism=SIZE)
    await rig.advance(3)
    assert rig.state("run") == "Succeeded"
    assert len(moments) > 3
    assert min(later - earlier for earlier, later in pairwise(moments)) >= SIZE / 10_000 - 1e-6


async def test_a_status_that_cannot_be_written_holds_up_nothing_and_is_tried_again_with_growing_delays(
    rig: ControllerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    rig.fake.inject(Fault(status=503, method="PATCH", path="/run/status", times=100))
    rig.create("run", python("a"), python("b", after=["a"]))
    await rig.advance(60)
    assert len(rig.fake.all(PODS)) == 2
    tried = [request for request in rig.fake.writes() if request.path.endswith("/run/status")]
    assert 4 <= len(tried) <= 16
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
