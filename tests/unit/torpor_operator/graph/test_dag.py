"""The order of tasks, and specs that have no graph."""

import pytest
from torpor_crds.models.workflow import WorkflowSpec
from torpor_operator.graph import dag
from torpor_wire.state import State

from tests.support.builders import python, wait
from tests.support.plan_fixture import PlanFixture


def test_a_task_waits_for_the_tasks_it_comes_after() -> None:
    world = PlanFixture(python("a"), python("b", after=["a"])).settle()
    assert world.has("a")
    assert not world.has("b")
    assert world.succeed("a").state("b") is State.SCHEDULED


@pytest.mark.parametrize(
    "fields",
    [
        {"args": {"rows": "${tasks.a.result}"}},
        {"args": {"deep": {"list": ["${tasks['a']['result'] + 1}"]}}},
        {"args": {"text": "there are ${tasks.a.result} rows"}},
        {"when": "tasks.a.result > 0"},
        {"expand": [{"name": "row", "over": "${[tasks.a.result]}"}]},
    ],
)
def test_a_reference_is_a_dependency(fields: dict[str, object]) -> None:
    world = PlanFixture(python("a"), python("b", **fields)).settle()
    assert world.tasks() == {"a": "Running", "b": "Pending"}
    assert world.succeed("a", "3").tasks()["b"] == "Running"


def test_a_reference_in_a_triggers_kwargs_is_a_dependency() -> None:
    world = PlanFixture(python("a"), wait("b", kwargs={"url": "${tasks.a.result}"})).settle()
    assert not world.has("b")
    world.succeed("a", '"https://example.org"')
    assert world.run("b").status.trigger is not None


def test_independent_tasks_run_in_parallel() -> None:
    world = PlanFixture(python("a"), python("b"), python("c", after=["a", "b"])).settle()
    assert len(world.pods) == 2
    assert world.succeed("a").tasks() == {"a": "Succeeded", "b": "Running", "c": "Pending"}
    assert world.succeed("b").tasks()["c"] == "Running"


def test_tasks_may_be_listed_in_any_order() -> None:
    world = PlanFixture(python("c", after=["b"]), python("b", after=["a"]), python("a")).settle()
    assert world.tasks() == {"a": "Running", "b": "Pending", "c": "Pending"}


def test_the_order_of_the_graph_does_not_depend_on_hashes() -> None:
    tasks = [python(name) for name in "hgfedcba"] + [python("z", after=list("abcdefgh"))]
    graph = dag.build(WorkflowSpec.model_validate({"tasks": tasks[::-1]}))
    assert isinstance(graph, dag.Graph)
    assert [task.name for task in graph.order] == list("abcdefghz")


UNKNOWN_TASK = "task b: after: c: unknown task c; tasks: a, b"
UNKNOWN_IN_ARGS = "task b: args: rows: unknown task lost; tasks: a, b"
UNKNOWN_PARAM = "task b: args: day: unknown param dya; params: day"


@pytest.mark.parametrize(
    ("fields", "reason", "message"),
    [
        ({"after": ["c"]}, "WorkflowInvalid", UNKNOWN_TASK),
        ({"args": {"rows": "${tasks.lost.result}"}}, "WorkflowInvalid", UNKNOWN_IN_ARGS),
        ({"args": {"day": "${params.dya}"}}, "WorkflowInvalid", UNKNOWN_PARAM),
        ({"when": "tasks.a.result >"}, "ExpressionInvalid", "task b: when: "),
        ({"args": {"day": "${params.day"}}, "ExpressionInvalid", "task b: args: day: '${' at column 1 has no closing"),
        ({"args": {"day": {"x": "${}"}}}, "ExpressionInvalid", "task b: args: day: x: '${}' at column 1"),
        ({"args": {"all": "${tasks[params.day].result}"}}, "ExpressionInvalid", "task b: args: all: "),
        ({"when": "nobody.knows"}, "ExpressionInvalid", "task b: when: "),
        ({"args": {"n": "${item}"}}, "ExpressionInvalid", "task b: args: n: "),
        ({"args": {"n": "${workflow.name}"}}, "ExpressionInvalid", "task b: args: n: "),
        ({"when": "[1].all(a, [1].all(b, [1].all(c, true)))"}, "ExpressionTooExpensive", "task b: when: "),
    ],
)
def test_an_invalid_workflow_reports_why_and_starts_nothing(
    fields: dict[str, object], reason: str, message: str
) -> None:
    world = PlanFixture(python("a"), python("b", **fields), params={"day": "today"}).settle()
    assert world.condition()[:2] == ("False", reason)
    assert world.condition()[2].startswith(message)
    assert world.condition("Stalled")[0] == "True"
    assert world.taskruns == {}
    assert [(event.reason, event.warning) for event in world.events] == [(reason, True)]


@pytest.mark.parametrize(
    ("tasks", "ring"),
    [
        ([python("a", after=["b"]), python("b", after=["a"])], "a -> b -> a"),
        ([python("a", args={"x": "${tasks.b.result}"}), python("b", after=["a"])], "a -> b -> a"),
        ([python("a", when="tasks.a.result")], "a -> a"),
    ],
)
def test_the_message_names_all_tasks_of_a_cycle(tasks: list[dict[str, object]], ring: str) -> None:
    world = PlanFixture(*tasks).settle()
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "WorkflowInvalid")
    assert ring in message or " -> ".join(reversed(ring.split(" -> "))) in message
    assert "remove one `after` or reference" in message


def test_an_invalid_workflow_ends_and_loses_its_finalizer() -> None:
    world = PlanFixture(python("a", after=["lost"])).settle()
    assert world.status.completion_time is not None
    assert world.workflow["metadata"]["finalizers"] == []
