"""How runs end before their tasks have: deleted, cancelled, out of time, or with their namespace."""

import asyncio

from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Page
from torpor_kubernetes.client.errors import NotFound
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_wire.state import TERMINAL, State, TaskState

from tests.e2e.support.concurrent_runs import Spec, container, python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture, Sightings, condition

_BUSY: Spec = spec(
    python("nap", "nap", args={"seconds": 300}),
    container("box", "sleep 300"),
    wait("far", "1h"),
    python("later", "echo", after=["nap"]),
)


async def test_a_deleted_workflow_cancels_first_and_leaves_nothing(stage: ClusterFixture) -> None:
    await _busy(stage)
    async with stage.watching("torpor.dev/workflow=w") as pods:
        page = await stage.api.list(TASKRUNS, stage.namespace)
        states = asyncio.create_task(_states(stage, page))
        await stage.api.delete(WORKFLOWS, stage.namespace, "w")
        await stage.until(lambda: _gone(stage), TIMEOUT, "the Workflow to go")
        assert await states >= {State.CANCELLED}
        assert (await stage.api.list(TASKRUNS, stage.namespace)).items == []
        await stage.until(lambda: _none_left(pods), TIMEOUT, "its pods to go")


async def test_cancel_ends_pods_and_waits(stage: ClusterFixture) -> None:
    await _busy(stage)
    await stage.edit("w", "cancel", value=True)
    workflow = await stage.ended("w")
    assert condition(workflow) == ("False", "Cancelled")
    assert {task.name: task.state for task in workflow.status.tasks} == dict.fromkeys(
        ("nap", "box", "far", "later"), TaskState.CANCELLED
    )
    assert {run.status.state for run in await stage.taskruns("w")} == {State.CANCELLED}


async def test_a_run_that_exceeds_its_timeout_is_cancelled(stage: ClusterFixture) -> None:
    await stage.start("w", {**_BUSY, "timeout": "6s"})
    workflow = await stage.ended("w")
    assert condition(workflow) == ("False", "Timeout")
    assert all(run.status.state in TERMINAL for run in await stage.taskruns("w"))


async def test_what_comes_after_a_failure_is_upstream_failed(stage: ClusterFixture) -> None:
    await stage.start(
        "w",
        spec(
            python("bad", "broken"),
            python("next_one", "echo", after=["bad"]),
            python("clean_up", "echo", after=["next_one"], rule="all_done"),
        ),
    )
    workflow = await stage.ended("w")
    assert condition(workflow) == ("False", "Error")
    assert {task.name: task.state for task in workflow.status.tasks} == {
        "bad": TaskState.FAILED,
        "next_one": TaskState.UPSTREAM_FAILED,
        "clean_up": TaskState.SUCCEEDED,
    }


async def test_a_suspended_run_starts_nothing_until_it_is_resumed(stage: ClusterFixture) -> None:
    await stage.start("w", spec(wait("a", "1s"), python("b", "echo", after=["a"]), suspend=True))
    await asyncio.sleep(4)
    assert await stage.taskruns("w") == []
    await stage.edit("w", "suspend", value=False)
    assert (await stage.ended("w")).status.state == "Succeeded"


async def test_a_namespace_with_a_run_in_it_can_be_deleted(stage: ClusterFixture, kubectl: Kubectl) -> None:
    await _busy(stage)
    kubectl.run("delete", "namespace", stage.namespace, "--timeout=300s", limit=330)


async def _busy(stage: ClusterFixture) -> None:
    await stage.start("w", _BUSY)
    await stage.reached("w", "nap", State.RUNNING)
    await stage.reached("w", "box", State.RUNNING)
    await stage.reached("w", "far", State.DEFERRED)


async def _states(stage: ClusterFixture, page: Page) -> set[str]:
    """The states that the TaskRuns of a list go through until there are none left."""
    seen: set[str] = set()
    left = {run["metadata"]["uid"] for run in page.items}
    events = stage.api.watch(TASKRUNS, stage.namespace, resource_version=page.resource_version)
    async for event in events:
        if event.type == "BOOKMARK":
            continue
        seen.add(event.object["status"]["state"])
        if event.type == "DELETED":
            left.discard(event.object["metadata"]["uid"])
        if not left:
            break
    return seen


async def _gone(stage: ClusterFixture) -> bool | None:
    try:
        await stage.workflow("w")
    except NotFound:
        return True
    return None


async def _none_left(pods: Sightings) -> bool | None:
    last = {state.name: state.phase for state in pods.states}
    return True if set(last.values()) == {"Gone"} else None
