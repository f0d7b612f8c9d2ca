"""Creating pods where the API server will not: refused for good, or the name taken by another's."""

from collections.abc import AsyncIterator

import pytest
from torpor_api.client.resources import PODS
from torpor_operator.settings import Settings
from torpor_wire import times

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


async def test_a_foreign_pod_of_the_same_name_fails_the_launch(rig: ControllerHarness) -> None:
    rig.fake.inject(Fault(status=503, method="POST", path="/pods", times=1))
    rig.create("run", python("a"))
    await rig.clock.advance(0.1)
    name = rig.taskrun("run", "a")["metadata"]["name"] + "-a1-s0"
    rig.fake.put(PODS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {}, "status": {"phase": "Running"}})
    await rig.advance(10)
    status = rig.taskrun("run", "a")["status"]
    assert (status["state"], status["reason"]) == ("Failed", "LaunchFailed")
    assert f"a pod named {name} exists and does not belong to Torpor" in status["message"]
    assert rig.fake.get(PODS, NAMESPACE, name) is not None


async def test_a_refused_pod_fails_its_task_with_the_message_of_the_api_server(
    rig: ControllerHarness,
) -> None:
    fault = Fault(status=422, causes=True, reason="Invalid", method="POST", path="/pods", message="no such volume")
    rig.fake.inject(fault)
    rig.create("run", python("a", retries={"limit": 3}))
    await rig.advance(3)
    status = rig.taskrun("run", "a")["status"]
    assert (status["state"], status["reason"]) == ("Failed", "LaunchFailed")
    assert "no such volume" in status["message"]


async def test_a_pod_of_a_deleted_taskrun_on_a_lost_node_is_named(rig: ControllerHarness) -> None:
    rig.fake.inject(Fault(status=503, method="POST", path="/pods", times=1))
    rig.create("run", python("a"))
    await rig.clock.advance(0.1)
    taskrun = rig.taskrun("run", "a")["metadata"]["name"]
    former = {"kind": "TaskRun", "name": taskrun, "uid": "a-former-one", "controller": True}
    metadata = {
        "name": f"{taskrun}-a1-s0",
        "namespace": NAMESPACE,
        "ownerReferences": [former],
        "deletionTimestamp": times.rfc3339(rig.clock.now()),
    }
    rig.fake.put(PODS, {"metadata": metadata, "spec": {}, "status": {"phase": "Running"}})
    await rig.advance(20)
    assert "reason" not in rig.taskrun("run", "a")["status"]
    await rig.advance(120)
    status = rig.taskrun("run", "a")["status"]
    assert (status["state"], status["reason"]) == ("Scheduled", "NodeLost")
    assert f"pod {taskrun}-a1-s0 was to end" in status["message"]
    stalled = next(one for one in rig.workflow("run")["status"]["conditions"] if one["type"] == "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "NodeLost")
