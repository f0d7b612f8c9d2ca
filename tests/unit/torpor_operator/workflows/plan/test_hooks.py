"""Hooks: tasks that run after the end of a run, selected by its verdict, which they do not change."""

import json
from typing import Any

import pytest
from torpor_wire import constants

from tests.support.builders import Body, python, wait
from tests.support.plan_fixture import PlanFixture


def hook(name: str, when: str, **fields: Any) -> Body:
    return python(name, hook=when, **fields)


HOOKS = (hook("well", "success"), hook("badly", "failure"), hook("anyhow", "end"))


def called(world: PlanFixture) -> list[str]:
    return [name for name in ("well", "badly", "anyhow") if world.has(name)]


@pytest.mark.parametrize(
    ("end", "hooks"), [("succeed", ["well", "anyhow"]), ("fail", ["badly", "anyhow"])], ids=["success", "failure"]
)
def test_the_verdict_of_the_run_selects_the_hooks(end: str, hooks: list[str]) -> None:
    world = PlanFixture(python("a"), *HOOKS).settle()
    assert called(world) == []
    getattr(world, end)("a")
    assert called(world) == hooks
    assert (world.status.state, world.condition()[0]) == ("Finishing", "Unknown")
    for name in hooks:
        world.succeed(name)
    assert world.status.state == ("Succeeded" if end == "succeed" else "Failed")
    assert "Skipped" in world.tasks().values()


def test_a_failed_hook_does_not_change_the_verdict() -> None:
    world = PlanFixture(python("a"), hook("anyhow", "end")).settle().succeed("a").fail("anyhow")
    assert (world.status.state, world.tasks()["anyhow"]) == ("Succeeded", "Failed")
    posted = [(event.reason, event.regarding is None) for event in world.events]
    assert posted == [("Error", False), ("Error", True)]
    assert world.events[1].message.startswith("hook anyhow failed: ")


def test_a_hook_sees_the_verdict_of_the_run() -> None:
    args = {"text": "${run.name} is ${run.state}: ${run.reason}", "a": "${tasks.a.state}"}
    world = PlanFixture(python("a"), hook("badly", "failure", args=args)).settle().fail("a")
    given = {name: json.loads(text) for name, text in world.arguments("badly").items()}
    assert given == {"text": "run is Failed: Error", "a": "Failed"}


def test_a_webhook_hook_waits_for_its_response_without_a_pod() -> None:
    task = wait("tell", "webhook", kwargs={"url": "https://x", "body": {"text": "${run.message}"}}, hook="failure")
    world = PlanFixture(python("a"), task).settle().fail("a")
    waiting = world.run("tell").status.trigger
    assert waiting is not None
    assert "it broke" in waiting.kwargs
    assert len(world.pods) == 1


def test_hooks_follow_one_another_and_no_task_follows_a_hook() -> None:
    world = PlanFixture(python("a"), hook("first", "end"), hook("second", "end", after=["first"])).settle().fail("a")
    assert (world.has("first"), world.has("second")) == (True, False)
    assert world.succeed("first").has("second")
    refused = PlanFixture(python("a", after=["h"]), hook("h", "end")).settle()
    assert "task a comes after h, a hook" in refused.condition()[2]


def test_a_run_that_timed_out_runs_its_hooks() -> None:
    world = PlanFixture(python("a"), hook("badly", "failure", args={"why": "${run.reason}"}), timeout="1h").settle()
    world.advance(3600)
    assert world.tasks()["a"] == "Cancelled"
    assert world.arguments("badly") == {"why": '"Timeout"'}
    world.advance(3600)
    assert world.succeed("badly").condition()[:2] == ("False", "Timeout")


def test_cancelling_a_run_ends_its_hooks() -> None:
    world = PlanFixture(python("a"), hook("anyhow", "end")).settle().change(cancel=True)
    assert not world.has("anyhow")
    assert world.status.state == "Failed"
    world = PlanFixture(python("a"), hook("anyhow", "end")).settle().succeed("a").change(cancel=True)
    assert world.tasks()["anyhow"] == "Cancelled"


def test_a_cleared_run_runs_its_hooks_again() -> None:
    world = PlanFixture(python("a"), hook("anyhow", "end"), hook("badly", "failure")).settle()
    world.fail("a").succeed("anyhow").succeed("badly")
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "a"}
    world.settle()
    assert not world.has("anyhow")
    world.succeed("a")
    assert world.run("anyhow").spec.clears == 1
    assert not world.has("badly")
    assert world.succeed("anyhow").status.state == "Succeeded"


def test_run_is_unknown_outside_hooks() -> None:
    world = PlanFixture(python("a", args={"x": "${run.state}"})).settle()
    assert world.condition()[1] == "ExpressionInvalid"


def test_hooks_do_not_count_for_the_timeout_of_the_run() -> None:
    world = (
        PlanFixture(python("a"), hook("well", "success"), hook("badly", "failure"), timeout="1h").settle().succeed("a")
    )
    world.advance(3700)
    assert (world.status.state, world.has("badly")) == ("Finishing", False)
    assert world.succeed("well").status.state == "Succeeded"
