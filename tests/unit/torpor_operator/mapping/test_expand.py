"""A task with one instance for each item of a list."""

import json

import pytest
from torpor_operator.settings import Settings

from tests.support.builders import python, wait
from tests.support.plan_fixture import PlanFixture


def over(value: object, **fields: object) -> dict[str, object]:
    return python("load", expand=[{"name": "path", "over": value}], **fields)


def test_a_literal_list_creates_one_instance_per_item_in_order() -> None:
    world = PlanFixture(over(["a", {"b": [1.0, None]}, 3])).settle()
    assert [world.arguments("load", index)["path"] for index in range(3)] == ['"a"', '{"b":[1.0,null]}', "3"]
    assert world.task("load").total == 3


def test_an_item_may_have_expressions_whose_results_are_not_parsed_again() -> None:
    world = PlanFixture(over(["${params.day}/x", "$${y}"]), params={"day": "${1+1}"}).settle()
    assert [world.arguments("load", index)["path"] for index in range(2)] == ['"${1+1}/x"', '"${y}"']


def test_an_expression_yields_the_list() -> None:
    world = PlanFixture(
        python("list"), over("${tasks.list.result.filter(f, f.endsWith('.csv'))}", after=["list"])
    ).settle()
    world.succeed("list", '["a.csv", "b.txt", "c.csv"]')
    assert [world.arguments("load", index)["path"] for index in range(2)] == ['"a.csv"', '"c.csv"']


def test_every_instance_gets_the_constants_too() -> None:
    world = PlanFixture(over([1, 2], args={"day": "${params.day}"}), params={"day": "today"}).settle()
    assert world.arguments("load", 1) == {"day": '"today"', "path": "2"}


def test_an_empty_list_skips_the_task() -> None:
    world = PlanFixture(over([]), python("after", after=["load"])).settle()
    assert world.tasks() == {"load": "Skipped", "after": "Skipped"}
    assert world.task("load").message == "expand path: the list is empty"


@pytest.mark.parametrize(
    ("yields", "kind"), [('"a"', "a string"), ("3", "a number"), ("null", "null"), ("true", "a boolean")]
)
def test_a_value_that_is_neither_list_nor_object_fails_the_task(yields: str, kind: str) -> None:
    world = PlanFixture(python("list"), over("${tasks.list.result}")).settle().succeed("list", yields)
    assert world.task("load").reason == "ExpandInvalid"
    assert world.task("load").message == f"expand path: the value is {kind}; it must be a list or an object"


def test_a_list_that_is_too_long_fails_the_task_with_both_numbers() -> None:
    world = PlanFixture(over(list(range(4))), settings=Settings(max_map_size=3)).settle()
    assert world.task("load").reason == "ExpandInvalid"
    assert world.task("load").message == "expand path: 4 items; at most 3 are allowed"
    assert world.taskruns == {}


def test_an_item_too_large_for_a_taskrun_fails_the_task_and_says_which() -> None:
    world = PlanFixture(over(["small", "x" * 9000])).settle()
    assert world.task("load").reason == "ExpandInvalid"
    assert world.task("load").message == "expand path: item 1 has 9002 bytes; the limit is 8192"


def test_results_are_ordered_by_index_and_not_by_end() -> None:
    world = PlanFixture(
        over(["a", "b", "c"]), python("report", args={"rows": "${tasks.load.results.map(r, r)}"})
    ).settle()
    for index in (2, 0, 1):
        world.succeed("load", json.dumps(f"row {index}"), index)
    assert world.arguments("report") == {"rows": '["row 0","row 1","row 2"]'}


def test_one_failed_instance_fails_the_task_when_all_have_ended() -> None:
    world = PlanFixture(over(["a", "b"]), python("report", after=["load"])).settle().fail("load", "no row", 0)
    assert world.tasks() == {"load": "Running", "report": "Pending"}
    world.succeed("load", None, 1)
    assert world.tasks() == {"load": "Failed", "report": "UpstreamFailed"}
    assert "no row" in (world.task("load").message or "")


def test_a_mapped_task_has_results_and_no_result() -> None:
    world = PlanFixture(over(["a"]), python("report", args={"rows": "${tasks.load.result}"})).settle()
    assert world.condition()[1] == "ExpressionInvalid"
    assert "write tasks.load.results" in world.condition()[2]


def test_a_mapped_wait_is_one_wait_for_each_item() -> None:
    mapped = wait("drop", kwargs={"url": "a"}, expand=[{"name": "n", "over": [1, 2]}])
    world = PlanFixture(mapped).settle()
    assert [world.state("drop", index) for index in (0, 1)] == ["Deferred", "Deferred"]


def test_running_instances_go_on_when_their_list_is_lost() -> None:
    world = PlanFixture(python("list"), over("${tasks.list.result}"), parallelism=1).settle().succeed("list", "[1, 2]")
    world.lose_taskrun("list")
    world.settle()
    assert world.tasks()["load"] == "Running"
    world.succeed("load", None, 0)
    assert not world.has("load", 1)
    assert world.tasks()["load"] == "UpstreamFailed"
    assert (world.task("load").reason, world.task("load").succeeded) == ("UpstreamFailed", 1)


def test_the_message_for_an_expression_without_braces_shows_the_syntax() -> None:
    world = PlanFixture(python("a", expand=[{"name": "x", "over": "params.paths"}]), params={"paths": [1]}).settle()
    assert "write an expression as ${params.paths}" in (world.task("a").message or "")


def test_text_around_an_expression_fails_and_asks_for_the_expression() -> None:
    world = PlanFixture(over("${params.l} "), params={"l": [1]}).settle()
    assert "write one expression ${...} without other text" in (world.task("load").message or "")
