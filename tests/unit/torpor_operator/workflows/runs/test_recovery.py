"""Changing the image, params and pod of a running Workflow: only tasks without a TaskRun take the new values."""

from typing import Any

import pytest
from torpor_wire import constants

from tests.support.builders import python
from tests.support.plan_fixture import PlanFixture

MEMORY: dict[str, Any] = {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}}


def clear(world: PlanFixture, text: str) -> PlanFixture:
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = text
    return world.settle()


def mend(world: PlanFixture, task: str, **fields: Any) -> PlanFixture:
    for each in world.workflow["spec"]["tasks"]:
        if each["name"] == task:
            each.update(fields)
    return world.settle()


def container(world: PlanFixture, task: str) -> dict[str, Any]:
    (pod,) = [pod for pod in world.pods.values() if pod["metadata"]["labels"][constants.LABEL_TASK] == task]
    container: dict[str, Any] = pod["spec"]["containers"][0]
    return container


def test_tasks_that_have_not_started_take_the_new_image_and_params() -> None:
    args = {"day": "${params.day}"}
    world = PlanFixture(
        python("a", args=args), python("b", args=args, after=["a"]), params={"day": 1}, image="old"
    ).settle()
    world.change(params={"day": 2}, image="new").succeed("a")
    runs = [world.run(name) for name in ("a", "b")]
    assert [run.spec.image for run in runs] == ["old", "new"]
    assert [world.arguments(name) for name in ("a", "b")] == [{"day": "1"}, {"day": "2"}]


def test_a_failed_task_is_fixed_and_cleared() -> None:
    world = PlanFixture(python("a", args={"n": "${params.n + 1}"}), params={"n": 1}, image="old").settle().fail("a")
    mend(world.change(params={"n": 10}), "a", image="new", pod=MEMORY)
    assert world.run("a").spec.image == "old"
    clear(world, "a")
    assert world.run("a").spec.image == "new"
    assert world.arguments("a") == {"n": "11"}
    assert container(world, "a")["resources"] == MEMORY["resources"]


def test_the_next_attempt_takes_the_new_resources_and_keeps_its_image() -> None:
    retried = python("a", image="old", retries={"limit": 1, "delay": "10s"})
    world = PlanFixture(retried).settle().fail("a")
    mend(world, "a", image="new", pod=MEMORY)
    world.pods.clear()
    world.advance(20)
    container_body = container(world, "a")
    assert (container_body["image"], container_body["resources"]) == ("old", MEMORY["resources"])


def test_existing_instances_keep_their_arguments() -> None:
    task = python("load", expand=[{"name": "n", "over": "${params.list}"}], maxActive=1)
    world = PlanFixture(task, params={"list": [1, 2, 3]}).settle().succeed("load", "1", 0)
    world.change(params={"list": [10, 20, 30, 40]})
    for index in (1, 2, 3):
        world.succeed("load", "1", index)
    assert [world.arguments("load", index)["n"] for index in range(4)] == ["1", "2", "30", "40"]
    assert world.tasks() == {"load": "Succeeded"}


def test_a_shorter_list_ends_a_task_with_the_instances_that_it_has() -> None:
    task = python("load", expand=[{"name": "n", "over": "${params.list}"}], maxActive=1)
    world = PlanFixture(task, params={"list": [1, 2, 3]}).settle().succeed("load", "1", 0)
    world.change(params={"list": []}).succeed("load", "1", 1)
    assert world.status.completion_time is not None
    assert world.task("load").succeeded == 2


def test_a_skipped_task_stays_skipped_once_a_dependent_has_started() -> None:
    skipped = python("a", when="params.wanted")
    world = PlanFixture(skipped, python("b", after=["a"], rule="none_failed"), params={"wanted": False}).settle()
    assert world.tasks() == {"a": "Skipped", "b": "Running"}
    world.change(params={"wanted": True})
    assert (world.tasks()["a"], world.has("a")) == ("Skipped", False)
    clear(world.succeed("b"), "a")
    assert world.has("a")


def test_a_skipped_task_is_decided_again_while_no_dependent_has_started() -> None:
    world = PlanFixture(python("a", when="params.wanted"), python("z"), params={"wanted": False}).settle()
    assert not world.has("a")
    assert world.change(params={"wanted": True}).has("a")


@pytest.mark.parametrize("text", ["failed", "a"])
def test_an_invalid_change_fails_the_run_and_can_be_fixed(text: str) -> None:
    late = python("b", after=["a"], args={"n": "${params.n}"})
    world = PlanFixture(python("a"), late, params={"n": 1}).settle()
    world.change(params={})
    assert not world.live_pods("a")
    assert "params.n" in world.condition()[2] or "param n" in world.condition()[2]
    assert world.status.completion_time is not None
    world.change(params={"n": 2})
    clear(world, text).succeed("a").succeed("b")
    assert world.condition()[0] == "True"


def test_an_invalid_change_keeps_skipped_tasks_skipped() -> None:
    mapped = python("a", expand=[{"name": "n", "over": [1, 2, 3]}])
    world = PlanFixture(mapped, python("b", after=["a"], args={"n": "${params.n}"}), params={"n": 1}).settle()
    world.skip("a", index=0).succeed("a", "1", 1).settle()
    world.change(params={})
    task = world.task("a")
    assert (task.state, task.succeeded, task.failed, task.skipped) == ("Cancelled", 1, 1, 1)
