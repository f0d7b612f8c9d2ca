"""TaskRuns that end Skipped: how the Workflow counts them, and how downstream tasks react (ADR 0015)."""

import pytest
from torpor_wire.state import State

from tests.support.builders import python, wait
from tests.support.plan_fixture import PlanFixture
from tests.unit.torpor_operator.graph.test_trigger_rules import ENDS, TABLE, F, K, S

CASES = [(rule, ends, came) for rule, row in TABLE.items() for ends, came in zip(ENDS, row, strict=True)]


def end(world: PlanFixture, task: str, how: str, index: int = -1) -> None:
    match how:
        case "Succeeded":
            world.succeed(task, "1", index)
        case "Failed":
            world.fail(task, "no", index)
        case _:
            world.skip(task, "no file today", index)


@pytest.mark.parametrize(("rule", "ends", "came"), CASES)
def test_for_every_rule_a_task_that_skips_itself_equals_one_skipped_by_when(
    rule: str, ends: tuple[str, str], came: str
) -> None:
    world = PlanFixture(python("a"), python("b"), python("c", after=["a", "b"], rule=rule)).settle()
    for task, how in zip("ab", ends, strict=True):
        end(world, task, how)
    assert world.tasks()["c"] == came


@pytest.mark.parametrize(("rule", "ends", "came"), [case for case in CASES if case[0] != "always"])
def test_an_instance_that_skips_itself_equals_one_skipped_by_when(rule: str, ends: tuple[str, str], came: str) -> None:
    mapped = python("a", expand=[{"name": "n", "over": [0, 1]}])
    world = PlanFixture(mapped, python("c", after=["a"], rule=rule)).settle()
    for index, how in enumerate(ends):
        end(world, "a", how, index)
    assert world.tasks()["c"] == came


def test_a_task_that_skips_itself_is_skipped_with_its_message() -> None:
    world = PlanFixture(python("a"), python("b", after=["a"])).settle().skip("a", "no file today")
    task = world.task("a")
    assert (task.state, task.reason, task.skipped, task.succeeded, task.failed) == (K, "Skipped", 1, 0, 0)
    assert "no file today" in str(task.message)
    assert world.task("b").message == "upstream task a was skipped"
    assert world.status.state == S
    assert world.status.progress == "0/0"


def test_an_event_that_skips_its_task_skips_downstream_tasks() -> None:
    world = PlanFixture(wait("a"), python("b", after=["a"])).settle().skip("a")
    assert world.tasks() == {"a": K, "b": K}
    assert not world.pods


def test_a_skipped_task_is_not_retried() -> None:
    world = PlanFixture(python("a", retries={"limit": 3})).settle().skip("a")
    assert (world.state("a"), world.run("a").status.attempt) == (State.SKIPPED, 1)
    assert world.status.state == S


def test_skipped_counts_instances_that_skip_themselves_and_those_of_when() -> None:
    mapped = python("a", expand=[{"name": "n", "over": [0, 1, 2, 3]}], when="mapping.value != 3")
    world = PlanFixture(mapped).settle().succeed("a", "1", 0).skip("a", index=1)
    assert (world.task("a").skipped, world.task("a").skips, world.status.progress) == (2, "3", "1/2")
    world.succeed("a", "1", 2)
    assert (world.tasks()["a"], world.status.progress, world.status.state) == (S, "2/2", S)


def test_a_mapped_task_is_skipped_if_all_instances_are() -> None:
    mapped = python("a", expand=[{"name": "n", "over": [0, 1]}], when="mapping.value != 1")
    world = PlanFixture(mapped).settle().skip("a", index=0)
    assert (world.tasks()["a"], world.task("a").skipped) == (K, 2)


def test_a_skipped_instance_has_a_null_result_and_is_missing_in_results() -> None:
    task = python("one")
    many = python("many", expand=[{"name": "n", "over": [0, 1]}])
    args = {"one": "${tasks.one.result}", "state": "${tasks.one.state}", "there": "${tasks.many.indexes}"}
    last = python("last", args=args, rule="all_done")
    world = PlanFixture(task, many, last).settle().skip("one").skip("many", index=0).succeed("many", "7", 1)
    assert world.arguments("last") == {"one": "null", "state": '"Skipped"', "there": "[1]"}


def test_a_task_mapped_over_a_skipped_task_is_skipped() -> None:
    mapped = python("b", expand=[{"name": "n", "over": "${tasks.a.result}"}], rule="none_failed")
    world = PlanFixture(python("a"), mapped).settle().skip("a")
    assert world.tasks()["b"] == K
    assert "was skipped" in str(world.task("b").message)


def test_downstream_tasks_of_a_skipped_branch_follow_their_rules() -> None:
    fork = python("fork", branch=True)
    world = PlanFixture(
        fork, python("left", after=["fork"]), python("any", after=["fork"], rule="none_failed")
    ).settle()
    assert world.skip("fork").tasks() == {"fork": K, "left": K, "any": "Running"}


def test_within_a_group_only_its_own_index_is_skipped() -> None:
    tasks = python("a", group="g"), python("b", group="g", after=["a"]), python("c", after=["b"], rule="none_failed")
    groups = [{"name": "g", "expand": [{"name": "n", "over": [0, 1]}]}]
    world = PlanFixture(*tasks, groups=groups).settle()
    world.skip("a", index=(0,))
    world.succeed("a", "1", (1,))
    assert (world.task("a").skipped, world.task("b").skipped, world.tasks()["c"]) == (1, 1, "Pending")
    world.succeed("b", "1", (1,))
    assert (world.tasks()["a"], world.tasks()["b"], world.tasks()["c"]) == (S, S, "Running")


def test_a_skipped_taskrun_can_be_cleared() -> None:
    world = PlanFixture(python("a"), python("b", after=["a"])).settle().skip("a")
    world.workflow["metadata"]["annotations"] = {"torpor.dev/clear": "a"}
    world.settle().succeed("a", "1").succeed("b", "1")
    assert world.tasks() == {"a": S, "b": S}


def test_a_skip_does_not_hide_a_failure() -> None:
    world = PlanFixture(python("a", expand=[{"name": "n", "over": [0, 1]}])).settle()
    assert world.skip("a", index=0).fail("a", index=1).tasks()["a"] == F
