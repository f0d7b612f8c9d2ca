"""The graph of a Workflow: order, upstream tasks by `after` and by reference, groups."""

from typing import Any

import pytest
from torpor_views import task_graph

from tests.unit.views.objects import python


def build(*tasks: dict[str, Any], **spec: Any) -> task_graph.TaskGraph:
    return task_graph.build({"tasks": list(tasks), **spec})


def test_tasks_are_in_topological_order_and_else_in_that_of_the_spec() -> None:
    graph = build(python("last", after=["b", "c"]), python("c"), python("b", after=["a"]), python("a"))
    assert graph.order == ("c", "a", "b", "last")


def test_hooks_come_last() -> None:
    assert build(python("tell", hook="end"), python("load")).order == ("load", "tell")


def test_a_hook_comes_after_the_hooks_that_it_names_and_no_rule_counts_tasks() -> None:
    graph = build(python("load"), python("a", hook="end"), python("b", hook="end", after=["a", "load"]))
    assert graph.upstream["b"] == ("a",)


@pytest.mark.parametrize(
    "fields",
    [
        {"args": {"rows": "${tasks.list.result}"}},
        {"args": {"rows": ["x ${ tasks['list'].result } y"]}},
        {"expand": [{"name": "row", "over": "${tasks.list.result}"}]},
        {"when": "size(tasks.list.result) > 0"},
        {"trigger": {"class": "http", "kwargs": {"url": "${tasks.list.result}"}}},
    ],
)
def test_a_reference_is_an_upstream_task(fields: dict[str, Any]) -> None:
    assert build(python("list"), python("load", **fields)).upstream["load"] == ("list",)


@pytest.mark.parametrize("text", ["tasks.list.result", "$${tasks.list.result}", "${tasks.other.result}"])
def test_other_text_is_no_reference(text: str) -> None:
    assert build(python("list"), python("load", args={"x": text})).upstream["load"] == ()


def test_an_entry_of_after_may_be_a_group() -> None:
    graph = build(
        python("a", group="inner"),
        python("b", group="outer"),
        python("c", after=["outer"]),
        groups=[{"name": "inner", "in": "outer"}, {"name": "outer"}],
    )
    assert graph.upstream["c"] == ("a", "b")
    assert graph.chains["a"] == ("outer", "inner")


def test_a_task_runs_after_its_groups_producer_which_its_rule_does_not_count() -> None:
    group = {"name": "cities", "expand": [{"name": "city", "over": "${tasks.list.result}"}]}
    graph = build(python("list"), python("load", group="cities"), groups=[group])
    assert (graph.before["load"], graph.upstream["load"]) == (("list",), ())


def test_the_tasks_of_a_cycle_come_last_and_a_cycle_of_groups_ends() -> None:
    graph = build(python("a", after=["b"]), python("b", after=["a"]), python("c"))
    assert graph.order == ("c", "a", "b")
    assert task_graph.group_chains({"groups": [{"name": "x", "in": "y"}, {"name": "y", "in": "x"}]})["x"] == ("y", "x")
