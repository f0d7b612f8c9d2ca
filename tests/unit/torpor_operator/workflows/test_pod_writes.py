"""Creating pods that the API server refuses, or whose name another pod has."""

from collections.abc import AsyncIterator

import pytest
from torpor_kubernetes.client.resources import PODS
from torpor_operator.settings import Settings
from torpor_wire import times

from tests.support.builders import NAMESPACE, container, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


async def test_a_foreign_pod_of_the_same_name_fails_the_launch(harness: ControllerHarness) -> None:
    harness.fake.inject(Fault(status=503, method="POST", path="/pods", times=2))
    harness.create("run", python("a"))
    await harness.clock.advance(0.1)
    name = harness.taskrun("run", "a")["metadata"]["name"] + "-a1-s0"
    harness.fake.put(
        PODS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {}, "status": {"phase": "Running"}}
    )
    await harness.advance(10)
    status = harness.taskrun("run", "a")["status"]
    assert (status["state"], status["reason"]) == ("Failed", "LaunchFailed")
    assert f"a pod named {name} exists and does not belong to Torpor" in status["message"]
    assert harness.fake.get(PODS, NAMESPACE, name) is not None


async def test_a_refused_pod_fails_its_task_with_the_message_of_the_api_server(
    harness: ControllerHarness,
) -> None:
    fault = Fault(status=422, causes=True, reason="Invalid", method="POST", path="/pods", message="no such volume")
    harness.fake.inject(fault)
    harness.create("run", python("a", retries={"limit": 3}))
    await harness.advance(3)
    status = harness.taskrun("run", "a")["status"]
    assert (status["state"], status["reason"]) == ("Failed", "LaunchFailed")
    assert "no such volume" in status["message"]


async def test_a_pod_of_a_deleted_taskrun_on_a_lost_node_is_named(harness: ControllerHarness) -> None:
    harness.fake.inject(Fault(status=503, method="POST", path="/pods", times=2))
    harness.create("run", python("a"))
    await harness.clock.advance(0.1)
    taskrun = harness.taskrun("run", "a")["metadata"]["name"]
    former = {"kind": "TaskRun", "name": taskrun, "uid": "a-former-one", "controller": True}
    metadata = {
        "name": f"{taskrun}-a1-s0",
        "namespace": NAMESPACE,
        "ownerReferences": [former],
        "deletionTimestamp": times.rfc3339(harness.clock.now()),
    }
    harness.fake.put(PODS, {"metadata": metadata, "spec": {}, "status": {"phase": "Running"}})
    await harness.advance(20)
    assert "reason" not in harness.taskrun("run", "a")["status"]
    await harness.advance(120)
    status = harness.taskrun("run", "a")["status"]
    assert (status["state"], status["reason"]) == ("Scheduled", "NodeLost")
    assert f"pod {taskrun}-a1-s0 should have terminated" in status["message"]
    stalled = next(
        condition for condition in harness.workflow("run")["status"]["conditions"] if condition["type"] == "Stalled"
    )
    assert (stalled["status"], stalled["reason"]) == ("True", "NodeLost")


def reads_of_taskruns(harness: ControllerHarness) -> int:
    single = [each for each in harness.fake.requests if each.method == "GET" and "/taskruns/" in each.path]
    return len(single)


async def test_the_first_pod_of_a_container_needs_no_read_of_its_taskrun(harness: ControllerHarness) -> None:
    harness.create("run", container("a"))
    await harness.advance(3)
    name = f"{harness.taskrun('run', 'a')['metadata']['name']}-a1-s0"
    pod = harness.fake.get(PODS, NAMESPACE, name)
    assert pod is not None
    assert pod["spec"]["containers"][0]["command"] == ["sh", "-c", "echo $(path)"]
    assert reads_of_taskruns(harness) == 0


async def test_the_pod_of_a_taskrun_with_a_long_program_is_built_from_a_read(harness: ControllerHarness) -> None:
    words = ["sh", "-c", *("x" * 4000 for _ in range(3))]
    harness.create("run", container("a") | {"container": {"command": words}})
    await harness.advance(3)
    name = f"{harness.taskrun('run', 'a')['metadata']['name']}-a1-s0"
    pod = harness.fake.get(PODS, NAMESPACE, name)
    assert pod is not None
    assert pod["spec"]["containers"][0]["command"] == words
    assert reads_of_taskruns(harness) == 1


async def test_a_pod_that_could_not_be_created_is_built_from_a_read_of_its_taskrun(
    harness: ControllerHarness,
) -> None:
    harness.fake.inject(Fault(status=503, method="POST", path="/pods"))
    harness.create("run", container("a"))
    await harness.advance(10)
    name = f"{harness.taskrun('run', 'a')['metadata']['name']}-a1-s0"
    assert harness.fake.get(PODS, NAMESPACE, name) is not None
    assert reads_of_taskruns(harness) == 1
