"""The arguments of a task: values, expressions, and references to large values."""

import json

from torpor_wire import names

from tests.support.builders import python, wait
from tests.support.plan_fixture import PlanFixture


def test_a_value_is_stored_in_the_taskrun_as_json_text() -> None:
    world = PlanFixture(
        python("a", args={"whole": 1, "real": 1.0, "none": None, "deep": {"b": [1], "a": "é"}})
    ).settle()
    assert world.arguments("a") == {"whole": "1", "real": "1.0", "none": "null", "deep": '{"b":[1],"a":"é"}'}


def test_a_string_of_one_expression_keeps_its_type_and_a_longer_is_text() -> None:
    args = {"n": "${params.n + 1}", "text": "n is ${params.n}", "escaped": "$${params.n}"}
    world = PlanFixture(python("a", args=args), params={"n": 41}).settle()
    assert world.arguments("a") == {"n": "42", "text": '"n is 41"', "escaped": '"${params.n}"'}


def test_the_result_of_an_expression_is_not_parsed_again() -> None:
    world = PlanFixture(
        python("a", args={"x": "${params.x}"}), params={"x": "${params.secret}", "secret": "no"}
    ).settle()
    assert world.arguments("a") == {"x": '"${params.secret}"'}


def test_a_small_result_is_copied() -> None:
    world = (
        PlanFixture(python("a"), python("b", args={"rows": "${tasks.a.result}"})).settle().succeed("a", '{"n": 1.0}')
    )
    assert world.arguments("b") == {"rows": '{"n":1.0}'}


def test_a_large_result_is_read_by_the_worker_from_where_it_is() -> None:
    world = PlanFixture(python("a"), python("b", args={"rows": "${tasks.a.result}"})).settle()
    world.succeed("a", json.dumps("x" * 2000))
    assert world.arguments("b") == {"rows": {"task": "a", "field": "result", "count": 1}}


def test_large_results_are_read_by_the_worker_with_their_count() -> None:
    mapped = python("a", expand=[{"name": "n", "over": [1, 2]}])
    world = PlanFixture(mapped, python("b", args={"rows": "${tasks.a.results}"})).settle()
    for index in (0, 1):
        world.succeed("a", json.dumps("x" * 1000), index)
    assert world.arguments("b") == {"rows": {"task": "a", "field": "results", "count": 2, "missing": ""}}


def test_small_results_of_a_mapped_task_are_read_by_the_worker_too() -> None:
    mapped = python("a", expand=[{"name": "n", "over": [1, 2, 3]}])
    args = {"rows": "${tasks.a.results}", "sum": "${tasks.a.results[0] + tasks.a.results[1]}"}
    world = PlanFixture(mapped, python("b", args=args, rule="all_done")).settle()
    world.succeed("a", "1", 0).fail("a", "no", 1).succeed("a", "2", 2)
    read = {"task": "a", "field": "results", "count": 3, "missing": "1"}
    assert world.arguments("b") == {"rows": read, "sum": "3"}


def test_an_empty_mapping_has_no_results() -> None:
    empty = python("a", expand=[{"name": "n", "over": []}])
    world = PlanFixture(empty, python("b", args={"rows": "${tasks.a.results}"}, rule="all_done")).settle()
    assert world.arguments("b") == {"rows": {"task": "a", "field": "results", "count": 0, "missing": ""}}


def test_results_of_a_task_that_is_not_mapped_are_refused() -> None:
    world = PlanFixture(python("a"), python("b", args={"rows": "${tasks.a.results}"})).settle()
    assert world.condition()[2] == "task b: args: rows: task a is not mapped: write tasks.a.result"
    assert not world.taskruns


def test_results_too_large_to_evaluate_can_still_be_passed_whole() -> None:
    mapped = python("a", expand=[{"name": "n", "over": list(range(40))}])
    args = {"rows": "${tasks.a.results}"}
    world = PlanFixture(mapped, python("b", args=args), python("c", args={"n": "${size(tasks.a.results)}"})).settle()
    for index in range(40):
        world.succeed("a", json.dumps("x" * 8000), index)
    assert world.arguments("b") == {"rows": {"task": "a", "field": "results", "count": 40, "missing": ""}}
    assert world.task("c").reason == "ExpressionTooExpensive"
    assert "as the argument ${tasks.a.results}" in (world.task("c").message or "")


def test_a_large_value_that_is_not_a_whole_result_is_copied_up_to_the_limit() -> None:
    world = PlanFixture(python("a", args={"text": "x" * 8000}), python("b", args={"text": "x" * 9000})).settle()
    assert world.tasks() == {"a": "Running", "b": "Failed"}
    assert world.task("b").reason == "ExpressionFailed"
    assert "args: text: the value has 9002 bytes; the limit is 8192" in (world.task("b").message or "")


def test_an_expression_that_fails_names_the_argument() -> None:
    world = PlanFixture(python("a", args={"n": "${params.rows[9]}"}), params={"rows": []}).settle()
    assert world.task("a").reason == "ExpressionFailed"
    assert (world.task("a").message or "").startswith("args: n: ")


def test_a_task_without_a_field_is_invalid_in_an_expression() -> None:
    world = PlanFixture(python("a"), python("b", args={"x": "${tasks.a}"})).settle()
    assert world.condition()[1:] == (
        "ExpressionInvalid",
        "task b: args: x: tasks.a has no value of its own: write tasks.a.result",
    )


def test_a_task_has_no_other_fields() -> None:
    world = PlanFixture(python("a"), python("b", when="tasks.a.reslt == 1")).settle()
    assert "a task has `result`, `results`, `indexes` and `state`" in world.condition()[2]


def test_kwargs_of_a_trigger_too_large_for_a_taskrun_fail_the_task() -> None:
    world = PlanFixture(wait("a", kwargs={"text": "x" * 5000})).settle()
    assert world.task("a").reason == "TriggerInvalid"
    assert world.task("a").message == "trigger: the kwargs have 5011 bytes; the limit is 4096"


def test_a_taskrun_has_the_fields_of_its_task() -> None:
    task = python("a", image="other:1", timeout="1h", retries={"limit": 3, "delay": "1s"})
    world = PlanFixture(task, trigger_pool="x", triggerPool="edge").settle()
    spec = world.run("a").spec
    assert (spec.image, spec.timeout, spec.retries.limit, spec.trigger_pool) == ("other:1", "1h", 3, "edge")
    assert spec.owner.uid == "workflow-uid"


def test_a_task_whose_name_ends_in_a_dash_below_has_valid_labels() -> None:
    world = PlanFixture(python("load_")).settle()
    bodies = [*world.taskruns.values(), *world.pods.values()]
    labels = [body["metadata"]["labels"]["torpor.dev/task"] for body in bodies]
    assert labels == [names.label("load_")] * 2
    assert labels[0].startswith("load-")
