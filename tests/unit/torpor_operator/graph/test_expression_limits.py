"""The number and size of a Workflow's expressions are limited, and they are parsed once, in short steps."""

from typing import Any

import pytest
from torpor_crds.models import workflow as models
from torpor_expressions import library, syntax
from torpor_operator.graph import dag
from torpor_operator.graph.dag import Graph, GraphProblem

from tests.support.builders import Body, python

pytestmark = pytest.mark.attack

TOO_MANY = (
    "the Workflow has more than 4,000 expressions, or more than 256 kB of them: compute values in a task, or split the "
    "Workflow"
)


def spec(*tasks: Body, **fields: Any) -> models.WorkflowSpec:
    body = {"metadata": {"name": "run"}, "spec": {"image": "x", "tasks": list(tasks), "params": {"n": 1}, **fields}}
    return models.parse(body).spec


def tasks_with(tasks: int, each: int, expression: str = "${{params.n + {}}}") -> list[Body]:
    """Tasks that have so many different expressions each."""
    names = range(each)
    return [
        python(f"t{number}", args={f"a{name}": expression.format(number * each + name) for name in names})
        for number in range(tasks)
    ]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that the library was asked to parse, from empty caches."""
    parsed: list[str] = []
    real = library.parse

    def counted(expression: str) -> Any:
        parsed.append(expression)
        return real(expression)

    monkeypatch.setattr(library, "parse", counted)
    syntax._parse.cache_clear()
    syntax._type_problem.cache_clear()
    return parsed


@pytest.mark.parametrize(
    "tasks",
    [
        tasks_with(500, 40),
        [python("one", args={"all": [f"${{params.n + {number}}}" for number in range(4_001)]})],
        [python("one", args={"text": "".join(f"${{{number}}}" for number in range(4_001))})],
        tasks_with(270, 1, "${{params.n + {} + size('" + "x" * 990 + "')}}"),
    ],
    ids=["many tasks", "a long list", "a long text", "long expressions"],
)
def test_a_workflow_with_too_many_expressions_fails_before_any_is_parsed(tasks: list[Body], parsed: list[str]) -> None:
    assert dag.build(spec(*tasks)) == GraphProblem("ExpressionTooExpensive", TOO_MANY)
    assert parsed == []


def text_with(first: int, count: int) -> str:
    """A text with so many expressions."""
    return "".join(f"${{{number}}}" for number in range(first, first + count))


def test_expressions_of_groups_commands_and_variables_count_as_well() -> None:
    def written(last: int) -> models.WorkflowSpec:
        words = {"command": [text_with(0, 500)], "args": [text_with(0, 500), text_with(500, 500)]}
        env = [{"name": f"X{n}", "value": text_with(0, 500)} for n in range(2)]
        task = {"name": "a", "group": "g", "container": words, "pod": {"env": env}, "args": {"a": text_with(0, 1_000)}}
        group = {"name": "g", "expand": [{"name": "x", "over": [text_with(0, last)]}]}
        return spec(task, groups=[group])

    assert isinstance(dag.build(written(500)), Graph)
    assert dag.build(written(501)) == GraphProblem("ExpressionTooExpensive", TOO_MANY)


def test_a_step_parses_one_expression() -> None:
    steps = dag.build_in_steps(spec(*tasks_with(5, 20)))
    syntax._parse.cache_clear()
    before = 0
    while next(steps, None) is not None:
        now = syntax._parse.cache_info().misses
        assert now <= before + 1
        before = now
    assert before == 100


def test_a_graph_holds_its_expressions_so_that_nothing_parses_them_again(parsed: list[str]) -> None:
    written = spec(*tasks_with(80, 50))
    graph = dag.build(written)
    assert isinstance(graph, Graph)
    assert len(graph.parsed) == 4_000
    count = len(parsed)
    for task in written.tasks:
        for value in task.args.values():
            syntax.read(value[2:-1])
    assert len(parsed) == count


def _costs(tasks: int, defaults: Body) -> list[int]:
    bare = [{"name": f"t{number}", "container": {"command": ["x"]}} for number in range(tasks)]
    return list(dag.build_in_steps(spec(*bare, defaults=defaults)))


def test_the_cost_of_a_step_depends_on_the_size_of_the_pod() -> None:
    """Ten tasks share a slice of 500, unless each has a pod of 40 kB."""
    env = [{"name": f"V{number}", "value": "x" * 400} for number in range(100)]
    assert max(_costs(2, {})) < 100
    assert _costs(2, {"pod": {"env": env}})[0] > 500


def test_defaults_that_are_too_large_are_refused_before_any_task_is_read() -> None:
    env = [{"name": f"V{number}", "value": "x" * 4_096} for number in range(20)]
    problem = dag.build(spec(python("a"), defaults={"pod": {"env": env}}))
    assert isinstance(problem, GraphProblem)
    assert (
        problem.message
        == "the pod fields of spec.defaults have 82,439 characters; the limit is 81,920: mount a ConfigMap"
    )


def test_a_pod_that_is_too_large_to_be_read_in_a_step_is_refused() -> None:
    env = [{"name": f"V{number}", "value": "x" * 4_096} for number in range(70)]
    problem = dag.build(spec(python("a", pod={"env": env})))
    assert isinstance(problem, GraphProblem)
    assert problem.reason == "ExpressionTooExpensive"
    assert problem.message.startswith("task a: the fields of its pod have 288,539 characters")
