"""What follows the end of a run, and waits that come before a function's first pod."""

import json

from torpor_wire import constants

from tests.e2e.support.concurrent_runs import python, spec, wait
from tests.e2e.support.stage import ClusterFixture


async def test_a_run_that_failed_calls_its_hook_and_the_hook_sees_why(stage: ClusterFixture) -> None:
    hook = python("tell", "echo", hook="failure", args={"value": "${run.state}: ${run.message}"})
    kept = python("praise", "echo", hook="success")
    await stage.start("w", spec(python("bad", "broken"), hook, kept))
    flow = await stage.ended("w")
    assert flow.status.state == "Failed"
    (run,) = await stage.taskruns("w", "tell")
    assert json.loads(run.status.result or "").startswith("Failed: task bad: ")
    assert "the day has no files" in (run.status.result or "")
    assert await stage.taskruns("w", "praise") == []


async def test_a_failed_wait_calls_the_hook_too(stage: ClusterFixture) -> None:
    late = wait("late", "1h") | {"timeout": "1s"}
    await stage.start("w", spec(late, python("tell", "echo", hook="end", args={"value": "${run.reason}"})))
    await stage.ended("w")
    (run,) = await stage.taskruns("w", "tell")
    assert run.status.result == '"Timeout"'


async def test_a_wait_before_a_function_is_followed_by_its_only_pod(stage: ClusterFixture) -> None:
    task = python("it", "collect", args={"kept": 7}) | wait("it", "3s")
    async with stage.watching(f"{constants.LABEL_TASK}=it") as pods:
        await stage.start("w", spec(task))
        flow = await stage.ended("w")
    assert flow.status.state == "Succeeded"
    (run,) = await stage.taskruns("w", "it")
    given = json.loads(run.status.result or "")
    assert given["kept"] == 7
    assert given["event"]
    assert {state.name for state in pods.states} == {f"{run.metadata.name}-a1-s1"}
