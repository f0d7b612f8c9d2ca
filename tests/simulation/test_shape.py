"""The order and the dependencies of tasks, which the invariants derive from the spec."""

import random

import pytest
from torpor_crds.models.workflow import WorkflowSpec
from torpor_local.apiserver.history import Object
from torpor_operator.graph import dag
from torpor_operator.graph.dag import Graph
from torpor_wire.instance_paths import Path

from tests.simulation.checks.creations import created_paths
from tests.simulation.checks.workflow_shape import Shape, below
from tests.simulation.scenarios import random_workflows

SPEC: Object = {
    "groups": [
        {"name": "country", "expand": [{"name": "c", "over": "${tasks.list.result}"}]},
        {"name": "town", "in": "country", "expand": [{"name": "t", "over": [1, 2]}]},
    ],
    "tasks": [
        {"name": "list"},
        {"name": "fetch", "group": "country"},
        {"name": "visit", "group": "town", "expand": [{"name": "n", "over": [1]}], "rule": "one_done"},
        {"name": "sum", "group": "country", "args": {"rows": "${tasks.visit.results}"}},
        {"name": "report", "after": ["town"], "args": {"all": "${tasks.fetch.results}"}},
    ],
}


def test_a_task_awaits_what_it_names_and_what_makes_its_groups_lists() -> None:
    shape = Shape(SPEC)
    assert shape.before["report"] == {"visit", "fetch"}
    assert shape.before["visit"] == {"list"}
    assert shape.awaits("visit", "list")
    assert [shape.shared(*pair) for pair in (("visit", "sum"), ("visit", "visit"), ("report", "fetch"))] == [1, 2, 0]
    assert [shape.depth(task) for task in ("list", "fetch", "visit")] == [0, 1, 3]


@pytest.mark.parametrize(
    ("path", "again"),
    [
        ((1, 0, 0), {("visit", (1, 0, 0)), ("sum", (1,)), ("report", ())}),
        ((1,), {("visit", (1, 0, 0)), ("visit", (1, 1, 0)), ("sum", (1,)), ("report", ())}),
    ],
)
def test_a_cleared_path_takes_with_it_what_depends_on_it_at_the_same_indexes(
    path: Path, again: set[tuple[str, Path]]
) -> None:
    wanted = Shape(SPEC).dependent({"visit": frozenset({path})})
    instances = [("visit", (1, 0, 0)), ("visit", (1, 1, 0)), ("visit", (0, 0, 0)), ("sum", (0,)), ("sum", (1,))]
    instances += [("report", ()), ("fetch", (1,))]
    assert {instance for instance in instances if below(instance[1], wanted.get(instance[0], ()))} == again


def test_what_a_status_says_was_made_is_read_by_path() -> None:
    shape = Shape(SPEC)
    assert created_paths({"name": "visit", "instances": "0-1.0.0", "skips": "1.0.0"}, shape) == {(0, 0, 0)}
    assert created_paths({"name": "fetch", "instances": "0-1", "made": "1"}, shape) == {(1,)}
    assert created_paths({"name": "list", "created": 1}, shape) == {()}


def test_the_random_workflows_have_groups_in_about_a_sixth_and_each_can_run() -> None:
    drawn = [random_workflows.workflow(random.Random(seed), "run") for seed in range(600)]
    grouped = [body for body in drawn if "groups" in body["spec"]]
    assert 60 <= len(grouped) <= 120
    for body in grouped:
        graph = dag.build(WorkflowSpec.model_validate(body["spec"]))
        assert isinstance(graph, Graph), graph
