"""Deliberate differences from Airflow; docs/design/differences-from-airflow.md has the reasons."""

import pytest

from tests.support.builders import python
from tests.support.plan_fixture import PlanFixture


@pytest.mark.parametrize("rule", ["all_success", "none_failed", "none_failed_min_one_success", "none_skipped"])
def test_an_all_rule_waits_for_all_upstream_tasks(rule: str) -> None:
    left_out = python("a", when="false") if rule == "none_skipped" else python("a")
    world = PlanFixture(left_out, python("b"), python("c", after=["a", "b"], rule=rule)).settle()
    if rule != "none_skipped":
        world.fail("a")

    assert world.tasks()["c"] == "Pending"
    world.succeed("b")
    assert world.tasks()["c"] == ("Skipped" if rule == "none_skipped" else "UpstreamFailed")


@pytest.mark.parametrize("order", [("failed", "other"), ("other", "failed")])
def test_all_success_does_not_depend_on_the_order_of_ends(order: tuple[str, str]) -> None:
    world = PlanFixture(
        python("failed"),
        python("other"),
        python("skipped", after=["other"], when="false"),
        python("next", after=["failed", "skipped"]),
    ).settle()
    for task in order:
        world = world.fail(task) if task == "failed" else world.succeed(task)

    assert world.tasks()["next"] == "UpstreamFailed"


@pytest.mark.parametrize("result", ['"text"', "5", "null"])
def test_mapping_over_a_non_list_fails_the_mapped_task_and_not_its_producer(result: str) -> None:
    world = PlanFixture(
        python("list"),
        python("mapped", expand=[{"name": "x", "over": "${tasks.list.result}"}]),
        python("other", args={"x": "${tasks.list.result}"}),
    ).settle()
    world.succeed("list", result)

    assert world.tasks() == {"list": "Succeeded", "mapped": "Failed", "other": "Running"}
    assert world.task("mapped").reason == "ExpandInvalid"


def test_one_bad_item_of_expand_kwargs_fails_the_task_without_a_run() -> None:
    world = PlanFixture(python("list"), python("mapped", expandKwargs="${tasks.list.result}")).settle()
    world.succeed("list", '[{"x": 1}, 3, {"x": 2}]')

    assert (
        world.task("mapped").message
        == "expandKwargs: the value is a list whose item 1 is a number; it must be a list of objects"
    )
    assert not world.has("mapped", 0)


def test_a_run_with_a_tolerated_failure_fails() -> None:
    world = PlanFixture(python("a"), python("cleanup", after=["a"], rule="all_done")).settle()
    world.fail("a")
    world.settle().succeed("cleanup")

    assert world.tasks() == {"a": "Failed", "cleanup": "Succeeded"}
    assert world.status.state == "Failed"
