"""One sensor waits without a pod by default, and in its pod where the run requires it or nothing serves its pool."""

import json
import time
from typing import Any

import pytest
from torpor_wire import times
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import single_task, spec
from tests.e2e.support.stage import ClusterFixture, Sightings
from tests.e2e.test_waiting import GIVEN_BACK
from tests.support.machine import slowness

_SENSOR = single_task("SecondLook", args={"poke_interval": 20})


async def test_by_default_it_gives_its_pod_back_and_looks_again_in_another(stage: ClusterFixture) -> None:
    async with stage.watching("torpor.dev/task=it") as pods:
        await stage.start("w", _SENSOR)
        run = await stage.reached("w", "it", State.DEFERRED)
        deferred = time.monotonic() - (time.time() - times.epoch(run.status.deferred_at or ""))
        await stage.reached("w", "it", State.SUCCEEDED)
    (ended,) = await stage.taskruns("w", "it")
    until = deferred + times.epoch(ended.status.fired_at or "") - times.epoch(ended.status.deferred_at or "")
    assert until - deferred > GIVEN_BACK
    assert pods.live(min(deferred + GIVEN_BACK * slowness(), until), until) == []
    assert _names(pods) == {f"{run.metadata.name}-a1-s0", f"{run.metadata.name}-a1-s1"}
    assert _found(ended) == {"segment": 1, "looks": 1, "here": f"{run.metadata.name}-a1-s1"}


async def test_one_that_does_not_block_looks_in_its_pools_triggerer(stage: ClusterFixture) -> None:
    async with stage.watching("torpor.dev/task=it") as pods:
        await stage.start("w", {**spec({"name": "it", "python": "e2e_sensors:Elsewhere"}), "triggerPool": "e2e"})
        assert (await stage.ended("w")).status.state == "Succeeded"
    (run,) = await stage.taskruns("w", "it")
    assert _names(pods) == {f"{run.metadata.name}-a1-s0", f"{run.metadata.name}-a1-s1"}
    assert _found(run)["here"] == f"{run.metadata.name}-a1-s1"
    assert _found(run)["found"].startswith("torpor-triggerer-e2e-")


@pytest.mark.parametrize("fields", [{"deferrable": False}, {"triggerPool": "nowhere"}], ids=str)
async def test_in_its_pod_it_waits_where_the_run_says_so_or_no_triggerer_serves(
    stage: ClusterFixture, fields: dict[str, Any]
) -> None:
    async with stage.watching("torpor.dev/task=it") as pods:
        await stage.start("w", {**_SENSOR, **fields})
        assert (await stage.ended("w")).status.state == "Succeeded"
    (run,) = await stage.taskruns("w", "it")
    assert _names(pods) == {f"{run.metadata.name}-a1-s0"}
    assert run.status.deferred_at is None
    assert _found(run) == {"segment": 0, "looks": 2, "here": f"{run.metadata.name}-a1-s0"}


def _names(pods: Sightings) -> set[str]:
    return {state.name for state in pods.states}


def _found(run: Any) -> Any:
    return json.loads(run.status.result or "")
