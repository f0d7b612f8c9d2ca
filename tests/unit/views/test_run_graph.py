"""The graph of a run: nodes, labels, edges."""

from typing import Any

import pytest
from torpor_views import run_graph
from torpor_views.model import RunView
from torpor_views.run_graph import EdgeKind, RunGraph

TASKS: list[dict[str, Any]] = [
    {"name": "tell", "python": "m:f", "hook": "failure"},
    {"name": "drop", "trigger": {"class": "http", "kwargs": {}}},
    {"name": "list", "python": "m:f", "after": ["drop"], "when": "params.x == 1", "branch": True},
    {"name": "load", "python": "m:f", "group": "days", "expand": [{"name": "p", "over": [1, 2]}]},
    {"name": "report", "container": {}, "args": {"r": "${tasks.load.results}"}, "rule": "all_done"},
]
GROUPS = [{"name": "days", "expand": [{"name": "d", "over": "${tasks.list.result}"}]}]


def build(*, states: bool = True, **status: Any) -> RunGraph:
    body = {"metadata": {"name": "ingest"}, "spec": {"tasks": TASKS, "groups": GROUPS}, "status": status}
    return run_graph.build(RunView.parse(body, now=0.0), states=states)


def test_a_node_says_what_differs_from_a_plain_task() -> None:
    assert {node.name: node.details for node in build(states=False).nodes} == {
        "drop": ("trigger http",),
        "list": ("python", "branch", "when params.x == 1"),
        "load": ("python", "mapped"),
        "report": ("container", "rule all_done"),
        "tell": ("python", "hook for failure"),
    }


def test_an_edge_leads_from_each_upstream_task_and_from_the_list_of_a_group() -> None:
    graph = build(states=False)
    names = [node.name for node in graph.nodes]
    assert [(names[edge.source], names[edge.target], edge.kind) for edge in graph.edges] == [
        ("drop", "list", EdgeKind.UPSTREAM),
        ("list", "load", EdgeKind.LIST),
        ("load", "report", EdgeKind.UPSTREAM),
    ]
    assert graph.after(names.index("report")) == ("load",)


def test_states_are_those_of_the_run_and_absent_before_it() -> None:
    tasks = [
        {"name": "drop", "state": "Succeeded"},
        {"name": "load", "state": "Running", "total": 4, "created": 4, "active": 1, "succeeded": 3},
    ]
    graph = build(state="Running", tasks=tasks)
    states = {node.name: (node.state, node.progress) for node in graph.nodes}
    assert (graph.state, states["drop"], states["report"]) == ("Running", ("Succeeded", ""), ("Pending", ""))
    assert states["load"][0] == "Running"
    assert "3" in states["load"][1]
    assert {(node.state, node.progress) for node in build(states=False).nodes} == {("", "")}


@pytest.mark.parametrize("spec", [None, [], {"tasks": "x"}, {"tasks": [{"name": 1}, None]}, {"groups": [{"in": []}]}])
def test_a_spec_of_any_shape_has_a_graph(spec: Any) -> None:
    assert run_graph.build(RunView.parse({"spec": spec}, now=0.0)).nodes == ()
