"""A pod that cannot start, on a real API server: its TaskRun and its Workflow say why, and go on when it can.

The scheduler and the node are played by the test: they write what the real ones write.
"""

from collections.abc import Iterator

import pytest

from tests.integration.controller.pods.by_hand import KEPT_BACK, await_pod, bind, set_container, set_status, warn
from tests.integration.controller.stage import ControllerFixture, Object, limit_memory, python


def _status(stage: ControllerFixture, workflow: str, task: str = "load") -> Object:
    return dict(stage.taskrun(workflow, task)["status"])


def _says(stage: ControllerFixture, workflow: str, reason: str, text: str) -> None:
    """Within ten seconds on a quiet machine."""
    stage.until(lambda: _status(stage, workflow).get("reason") == reason, f"it says {reason}")
    assert text in _status(stage, workflow)["message"]
    stage.until(lambda: text in _message(stage, workflow), "the Workflow says so")


def _message(stage: ControllerFixture, workflow: str) -> str:
    conditions = stage.status(workflow).get("conditions", [])
    return "".join(str(condition["message"]) for condition in conditions if condition["type"] == "Succeeded")


def test_an_unschedulable_pod_is_reported_and_its_timeout_ends_it(stage: ControllerFixture) -> None:
    name = stage.submit([python("load", "listed", args={"count": 1}, pod=KEPT_BACK, timeout="30s")])
    pod = await_pod(stage, name)
    message = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    set_status(stage, pod, "conditions", [condition])
    _says(stage, name, "Unschedulable", message)
    assert _status(stage, name)["state"] == "Scheduled"
    assert stage.ends(name)["state"] == "Failed"
    assert _status(stage, name)["reason"] == "Timeout"


def test_a_mount_failure_is_reported_from_the_events_of_the_pod(stage: ControllerFixture) -> None:
    name = stage.submit([python("load", "listed", args={"count": 1}, pod=KEPT_BACK)])
    pod = await_pod(stage, name)
    message = 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found'
    bind(stage, pod)
    set_container(stage, pod, {"waiting": {"reason": "ContainerCreating"}})
    warn(stage, pod, "FailedMount", message)
    _says(stage, name, "MountFailed", message)
    stage.cancel(name)
    stage.ends(name)


@pytest.fixture
def quota(stage: ControllerFixture) -> Iterator[str]:
    path = limit_memory(stage, "small", "1Gi")
    yield path
    stage.server.request("DELETE", path)


def test_a_pod_over_the_quota_is_reported_and_created_once_the_quota_allows(
    stage: ControllerFixture, quota: str
) -> None:
    large = {"resources": {"requests": {"memory": "2Gi"}}}
    name = stage.submit([python("load", "listed", args={"count": 1}, pod=large)])
    _says(stage, name, "QuotaExceeded", "exceeded quota")
    assert _status(stage, name)["state"] == "Scheduled"
    stage.server.request("DELETE", quota).expect(200)
    assert stage.ends(name)["state"] == "Succeeded"
    assert "reason" not in _status(stage, name)
