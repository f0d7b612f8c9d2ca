"""Pods in a queue of Kueue: labelled, held until the queue has quota, and preempted without using an attempt."""

from typing import Any

import pytest
from torpor_wire import constants

from tests.support.builders import Body, container, python, wait
from tests.support.plan_fixture import PlanFixture


def pod_of(world: PlanFixture, task: str) -> Body:
    uid = world.run(task).metadata.uid
    return next(pod for pod in reversed(world.pods.values()) if pod["metadata"]["ownerReferences"][0]["uid"] == uid)


def hold(world: PlanFixture, task: str) -> None:
    """Kueue gates the pod."""
    pod_of(world, task)["spec"].setdefault("schedulingGates", []).append({"name": constants.QUEUE_GATE})


def admit(world: PlanFixture, task: str) -> None:
    """Kueue removes its gate."""
    spec = pod_of(world, task)["spec"]
    spec["schedulingGates"] = [gate for gate in spec["schedulingGates"] if gate["name"] != constants.QUEUE_GATE]


def stop(world: PlanFixture, task: str) -> None:
    """Kueue preempts the pod, and its process has ended."""
    target = {"type": "TerminationTarget", "status": "True", "reason": "Preempted"}
    pod_of(world, task)["status"] = {"phase": "Failed", "conditions": [target]}
    world.settle()


@pytest.mark.parametrize("task", [python("load"), container("load")], ids=["python", "container"])
@pytest.mark.parametrize(
    ("spec", "own", "queue"),
    [({}, {}, None), ({"queue": "team"}, {}, "team"), ({"queue": "team"}, {"queue": "gpu"}, "gpu")],
)
def test_a_pod_has_the_queue_of_its_task_or_run(task: Body, spec: Body, own: Body, queue: str | None) -> None:
    world = PlanFixture(task | own, **spec).settle()
    assert pod_of(world, "load")["metadata"]["labels"].get(constants.QUEUE_LABEL) == queue


def test_a_wait_has_no_queue_since_it_has_no_pod() -> None:
    world = PlanFixture(wait("drop"), queue="team").settle()
    assert world.run("drop").spec.queue is None


def test_a_container_is_claimed_once_its_queue_has_quota() -> None:
    world = PlanFixture(container("load", queue="team"))
    world.apply(world.plan())
    world.apply(world.plan())
    hold(world, "load")
    world.settle()
    assert str(world.state("load")) == "Scheduled"
    admit(world, "load")
    world.settle()
    assert str(world.state("load")) == "Running"
    assert pod_of(world, "load")["spec"].get("schedulingGates") in (None, [])


@pytest.mark.parametrize("task", [python("load", queue="team"), container("load", queue="team")])
def test_a_pod_that_waits_for_quota_says_so_and_has_no_timeout(task: Body) -> None:
    world = PlanFixture(task | {"timeout": "1m"})
    world.apply(world.plan())
    world.apply(world.plan())
    hold(world, "load")
    world.advance(3600.0)
    status = world.run("load").status
    assert (str(status.state), status.reason, status.attempt) == ("Scheduled", "QueuePending", 1)
    assert "waits for quota of queue team (Kueue)" in (status.message or "")


def test_an_admitted_pod_forgets_why_it_waited() -> None:
    world = PlanFixture(python("load", queue="team")).settle()
    hold(world, "load")
    world.advance(60.0)
    admit(world, "load")
    world.succeed("load")
    assert world.run("load").status.reason != "QueuePending"


@pytest.mark.parametrize("times", [1, 8])
def test_a_preempted_task_starts_again_in_the_same_attempt(times: int) -> None:
    world = PlanFixture(python("load", queue="team")).settle()
    for launch in range(times):
        assert world.run("load").status.launch == launch
        world.claim("load")
        stop(world, "load")
    status = world.run("load").status
    assert (str(status.state), status.attempt, status.launch) == ("Scheduled", 1, times)
    assert world.succeed("load").status.state == "Succeeded"


def test_a_deferred_task_leaves_no_pod_that_holds_quota() -> None:
    world = PlanFixture(python("load", queue="team")).settle().defer("load")
    assert world.live_pods("load") == []
    resumed = pod_of(world.fire("load"), "load")
    assert resumed["metadata"]["labels"][constants.QUEUE_LABEL] == "team"


def test_a_task_can_have_a_pool_and_a_queue() -> None:
    fields: dict[str, Any] = {"pool": "db", "queue": "team"}
    world = PlanFixture(python("load", **fields))
    world.api.slots["db"] = 1
    spec = world.settle().run("load").spec
    assert (spec.pool, spec.queue) == ("db", "team")
