"""`mayFail`: the failure of a task is shown and counts for rules, and does not fail the run."""

from typing import Any

import pytest
from torpor_wire.state import RunState

from tests.support.builders import python
from tests.support.plan_fixture import PlanFixture


def _fail(world: PlanFixture, *tasks: str) -> PlanFixture:
    for task in tasks:
        world.fail(task)
    return world


def test_the_failure_of_a_task_that_may_fail_does_not_fail_the_run() -> None:
    world = _fail(PlanFixture(python("a", mayFail=True), python("b")).settle(), "a").succeed("b")
    assert world.tasks() == {"a": "Failed", "b": "Succeeded"}
    assert (world.stored.status.state, world.condition()) == (
        RunState.SUCCEEDED,
        ("True", "Succeeded", "failed tasks that may fail: a"),
    )


@pytest.mark.parametrize(
    ("rule", "state"),
    [("all_success", "UpstreamFailed"), ("all_done", "Succeeded"), ("one_failed", "Succeeded")],
)
def test_the_failure_counts_for_the_rule_of_downstream_tasks(rule: str, state: str) -> None:
    world = _fail(PlanFixture(python("a", mayFail=True), python("b", after=["a"], rule=rule)).settle(), "a")
    if state == "Succeeded":
        world.succeed("b")
    assert world.tasks() == {"a": "Failed", "b": state}
    assert world.stored.status.state == RunState.SUCCEEDED
    assert world.condition()[2] == "failed tasks that may fail: a"


@pytest.mark.parametrize(
    ("tasks", "failing", "succeeding", "message"),
    [
        ([python("a", mayFail=True), python("b")], ["a", "b"], [], "task b: "),
        ([python("a", mayFail=True), python("b", after=["a"]), python("c")], ["a", "c"], [], "task c: "),
        ([python("a"), python("b", after=["a"], mayFail=True)], ["a"], [], "task a: "),
        ([python("a", mayFail=True), python("b", after=["a"], rule="all_done")], ["a", "b"], [], "task b: "),
    ],
)
def test_the_failure_of_any_other_task_fails_the_run(
    tasks: list[dict[str, Any]], failing: list[str], succeeding: list[str], message: str
) -> None:
    world = _fail(PlanFixture(*tasks).settle(), *failing)
    for task in succeeding:
        world.succeed(task)
    assert world.stored.status.state == RunState.FAILED
    assert world.condition()[2].startswith(message)


def test_a_deleted_instance_of_a_task_that_may_fail_does_not_fail_the_run() -> None:
    world = PlanFixture(python("a", mayFail=True)).settle()
    world.lose_taskrun("a")
    world.settle()
    assert (world.tasks(), world.stored.status.state) == ({"a": "Failed"}, RunState.SUCCEEDED)


def test_hooks_of_success_run_after_a_failure_that_is_allowed() -> None:
    world = PlanFixture(
        python("a", mayFail=True), python("good", hook="success"), python("bad", hook="failure")
    ).settle()
    _fail(world, "a").succeed("good")
    assert world.tasks() == {"a": "Failed", "good": "Succeeded", "bad": "Skipped"}


def test_a_run_that_is_cancelled_fails_whatever_may_fail() -> None:
    world = PlanFixture(python("a", mayFail=True)).settle()
    world.claim("a")
    world.workflow["spec"]["cancel"] = True
    assert world.settle().reap().stored.status.state == RunState.FAILED
