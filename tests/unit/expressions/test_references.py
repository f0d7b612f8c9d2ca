"""References are what the syntax tree says, not what the text looks like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_expressions import references
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.references import PlainReference, References, TaskField

names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: name not in {"in", "as", "if", "for", "let", "var", "null", "true", "false", "else", "void", "loop"}
)


def parse_references(expression: str) -> References:
    result = references.find(expression)
    assert isinstance(result, References), result
    return result


@pytest.mark.parametrize(
    ("expression", "fields"),
    [
        ("tasks.load.result", {("load", "result")}),
        ("tasks['load']['result']", {("load", "result")}),
        ("tasks['a b'].result", {("a b", "result")}),
        ("tasks.?load.?result.orValue(1)", {("load", "result")}),
        ("tasks[?'load'].orValue({})", {("load", None)}),
        ("has(tasks.load.result)", {("load", "result")}),
        ("tasks.load", {("load", None)}),
        ("tasks.load[params.field]", {("load", None)}),
        ("tasks.load.results[0].size", {("load", "results")}),
        ("tasks.load.results.map(t, t + tasks.b.state)", {("load", "results"), ("b", "state")}),
        ("{tasks.a.x: [tasks.b.y]}", {("a", "x"), ("b", "y")}),
        ("tasks.a.result.size() > 0 ? tasks.b.x : tasks.a.y", {("a", "result"), ("b", "x"), ("a", "y")}),
        ("'tasks.x ' + r'tasks.y' // tasks.z", set()),
        ("params.tasks.x", set()),
        ("[{'x': 1}].map(tasks, tasks.x)", set()),
        ("[1].map(tasks, .tasks.x.y)", {("x", "y")}),
        ("tasks.a.result.map(tasks, tasks.x).filter(t, tasks.b.ok)", {("a", "result"), ("b", "ok")}),
        ("params.?a.optMap(tasks, tasks.x).orValue(tasks.b.y)", {("b", "y")}),
    ],
)
def test_tasks_are_read_with_the_first_field_taken_of_them(
    expression: str, fields: set[tuple[str, str | None]]
) -> None:
    result = parse_references(expression)
    assert result.fields == {TaskField(*pair) for pair in fields}
    assert result.tasks == {name for name, _ in fields}


def test_params_are_read_and_may_be_used_whole_or_computed() -> None:
    assert parse_references("params.a + params['b'] + params[item]").params == {"a", "b"}
    assert parse_references("size(params)") == References(
        tasks=frozenset(), params=frozenset(), roots=frozenset({"params"}), fields=frozenset(), parts=frozenset()
    )


def test_references_have_the_roots_used() -> None:
    assert parse_references("item.x + index + [1].map(event, event)[0]").roots == {"item", "index"}


@pytest.mark.parametrize(
    "expression",
    [
        "tasks[params.n]",
        "tasks[item].result",
        "size(tasks)",
        "'a' in tasks",
        "tasks.map(t, t)",
        "tasks",
        "tasks[?item]",
    ],
)
def test_a_task_named_by_a_computation_is_refused(expression: str) -> None:
    result = references.find(expression)
    assert isinstance(result, ExpressionError)
    assert result.reason is ExpressionReason.INVALID
    assert "needs a literal task name, such as tasks.load" in result.message


def test_an_unknown_name_is_refused_naming_the_known_ones() -> None:
    result = references.find("task.load.result")
    assert isinstance(result, ExpressionError)
    assert "unknown name 'task' at column 1; known names: event, index, item, params, tasks" in result.message


@given(names, names)
def test_both_spellings_of_a_reference_mean_the_same(name: str, field: str) -> None:
    assert (
        parse_references(f"tasks.{name}.{field}")
        == parse_references(f"tasks['{name}'].{field}")
        == parse_references(f'tasks["{name}"]["{field}"]')
    )


@given(st.sets(names, min_size=1, max_size=5), st.sets(names, max_size=5))
def test_every_reference_is_found_at_any_position(tasks: set[str], params: set[str]) -> None:
    items = [f"tasks.{name}.result" for name in sorted(tasks)] + [f"params.{name}" for name in sorted(params)]
    result = parse_references(f"[1].map(v, {{'k': [{', '.join(items)}]}})")
    assert result.tasks == tasks
    assert result.params == params


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        ("tasks.load.results", PlainReference("tasks", "load", "results")),
        (" tasks['load'].result // all of it", PlainReference("tasks", "load", "result")),
        ("tasks.load.state", None),
        ("tasks.load.result.x", None),
        ("tasks.load.results + []", None),
        ("params.load.result", None),
        ("has(tasks.load.result)", None),
        ("tasks.?load.result", None),
        ("1 +", None),
    ],
)
def test_only_a_bare_result_is_passed_by_reference(expression: str, plain: PlainReference | None) -> None:
    assert references.is_plain(expression) == plain
