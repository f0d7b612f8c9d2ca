"""Queues of Kueue with the real Kueue: `make kueue` builds it and runs these tests, which are skipped without it."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.controller import kueue
from tests.integration.controller.stage import ControllerFixture, Object, python, shell
from tests.support.controller_process import Plane

pytestmark = pytest.mark.skipif(kueue.PROGRAM not in os.environ, reason="without Kueue: make kueue")
CPU: dict[str, Any] = {"pod": {"resources": {"requests": {"cpu": "1"}}}}


@pytest.fixture(scope="module")
def queue(plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A queue with one CPU."""
    with kueue.started(plane, tmp_path_factory.mktemp("kueue")):
        kueue.set_up_queue(plane.server, "stage", "team", cpu="1")
        yield "team"


def reason(stage: ControllerFixture, workflow: str, task: str) -> str:
    return str(stage.taskrun(workflow, task)["status"].get("reason", ""))


def free(stage: ControllerFixture, queue: str) -> bool:
    return kueue.used_cpu(stage.server, "stage", queue) == "0"


@pytest.mark.parametrize("make", [python, shell], ids=["python", "container"])
def test_a_pod_waits_until_its_queue_has_quota(stage: ControllerFixture, queue: str, make: Any) -> None:
    stage.until(lambda: free(stage, queue), "the queue is free")
    hold = python("hold", "loaded", args={"item": 1, "seconds": 20}, **CPU)
    holder = stage.submit([hold], queue=queue)
    stage.until(lambda: stage.taskrun(holder, "hold")["status"]["state"] == "Running", "the first task runs")
    second = make("late", "echo" if make is python else "true") | CPU
    name = stage.submit([second], queue=queue)
    stage.until(lambda: reason(stage, name, "late") == "QueuePending", "the second one waits for quota")
    assert stage.ends(holder)["state"] == "Succeeded"
    assert stage.ends(name)["state"] == "Succeeded"
    stage.until(lambda: free(stage, queue), "the queue is free")


def test_a_deferred_task_returns_its_quota(stage: ControllerFixture, queue: str) -> None:
    stage.until(lambda: free(stage, queue), "the queue is free")
    name = stage.submit([python("wait", "waited", args={"length": "15s"}, **CPU)], queue=queue)
    stage.until(lambda: stage.taskrun(name, "wait")["status"]["state"] == "Deferred", "the task is deferred")
    stage.until(lambda: free(stage, queue), "the queue has its quota back")
    other = stage.submit([python("other", "echo", **CPU)], queue=queue)
    assert stage.ends(other)["state"] == "Succeeded"
    assert stage.ends(name)["state"] == "Succeeded"


def test_a_preempted_task_starts_again_in_the_same_attempt(stage: ControllerFixture, queue: str) -> None:
    stage.until(lambda: free(stage, queue), "the queue is free")
    low = stage.submit([python("low", "loaded", args={"item": 1, "seconds": 20}, **CPU)], queue=queue)
    stage.until(lambda: stage.taskrun(low, "low")["status"]["state"] == "Running", "the task runs")
    urgent: Object = CPU["pod"] | {"labels": {"kueue.x-k8s.io/priority-class": "high"}}
    high = stage.submit([python("high", "echo", pod=urgent)], queue=queue)
    assert stage.ends(high)["state"] == "Succeeded"
    assert stage.ends(low)["state"] == "Succeeded"
    status = stage.taskrun(low, "low")["status"]
    assert (status["attempt"], status["launch"] >= 1) == (1, True)
