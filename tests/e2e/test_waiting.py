"""The promise: what waits has no pod. Seen in the API, by a watch over the pods of the TaskRun that waits."""

import time

from torpor_wire import times
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import single_task, spec, wait
from tests.e2e.support.stage import ClusterFixture
from tests.support.machine import slowness

GIVEN_BACK = 5.0


async def test_within_5_s_of_deferred_no_pod_is_there_until_the_trigger_fires(stage: ClusterFixture) -> None:
    async with stage.watching("torpor.dev/task=it") as pods:
        await stage.start("w", single_task("wait", args={"length": "40s"}))
        run = await stage.reached("w", "it", State.DEFERRED)
        deferred = time.monotonic() - (time.time() - times.epoch(run.status.deferred_at or ""))
        await stage.reached("w", "it", State.SUCCEEDED)
    (fired,) = await stage.taskruns("w", "it")
    until = deferred + times.epoch(fired.status.fired_at or "") - times.epoch(fired.status.deferred_at or "")
    assert until - deferred > 39
    assert pods.live(min(deferred + GIVEN_BACK * slowness(), until), until) == []
    assert {state.name for state in pods.states} == {f"{run.metadata.name}-a1-s0", f"{run.metadata.name}-a1-s1"}


async def test_a_task_that_is_a_wait_never_has_a_pod(stage: ClusterFixture) -> None:
    async with stage.watching("torpor.dev/task=it") as pods:
        await stage.start("w", spec(wait("it", "2s")))
        await stage.ended("w")
    assert pods.states == []


async def test_a_wake_up_comes_within_a_second_of_its_time(stage: ClusterFixture) -> None:
    await stage.start("w", spec(wait("it", "3s"), wait("other", "2s")))
    await stage.ended("w")
    for run in await stage.taskruns("w"):
        asked = {"it": 3, "other": 2}[run.spec.task]
        took = times.epoch(run.status.completion_time or "") - times.epoch(run.status.deferred_at or "")
        assert asked - 0.1 <= took < asked + slowness()
