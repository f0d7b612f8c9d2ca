"""The interpreter agrees with the CEL library, and has what the library lacks."""

from typing import Any

import pytest
from torpor_cli.linting.cel import functions, interpreter, tree
from torpor_expressions import evaluation
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import Value

_VALUES: dict[str, Any] = {
    "params": {"list": [3, 1, 2], "name": "Load", "deep": {"a": {"b": 5}}, "yes": True, "rows": [{"x": 1}, {"y": 2}]}
}
_SAME = [
    "1 + 2 * 3 - 4",
    "'a' + 'b'",
    "[1] + [2, 3]",
    "params.list.map(x, x * 2)",
    "params.list.map(x, x > 1, x * 2)",
    "params.list.filter(x, x >= 2)",
    "params.list.exists(x, x == 2) && !params.list.all(x, x < 3)",
    "params.rows.exists(r, r.y == 2)",
    "params.rows.all(r, r.x == 2)",
    "has(params.deep.a.b) && !has(params.deep.z)",
    "params.deep.?z.?b.orValue(7)",
    "params.deep[?'a'].hasValue() ? params.deep['a'].b : 0",
    "'a' in params.deep && !('b' in params.deep) && 3 in params.list",
    "params.missing || true",
    "true || params.missing",
    "params.missing && false",
    "size(params.name) + params.list.size()",
    "params.name.matches('^[A-Z][a-z]+$') && params.name.lowerAscii() == 'load'",
    "['b', 'a'].join(', ') + 'x'",
    "'a/b/c'.split('/')[1]",
    "' a '.trim() + string(5) + string(true)",
    "type(params.list) == list && type(params.deep) == map && type('') == string && type(1) != string",
    "params.yes == true && dyn(params.yes) != dyn(1)",
    "{'a': [1, {'b': true}]} == {'a': [1, {'b': true}]}",
    "{'a': 1}['a'] < 2 && -1 < 0 && 1.5 > 1.0",
    "'loader'.contains('ad') && 'loader'.startsWith('lo') && 'loader'.endsWith('er')",
    "'loader'.indexOf('d')",
]
_FAILS = ["params.missing", "params.list[9]", "params.missing || false", "params.rows.exists(r, r.z)"]


@pytest.mark.parametrize("expression", _SAME)
def test_a_value_is_that_of_the_library(expression: str) -> None:
    expected = evaluation.evaluate(expression, _VALUES)
    assert isinstance(expected, Value), expected
    assert interpreter.evaluate(expression, _VALUES) == expected.json


@pytest.mark.parametrize("expression", _FAILS)
def test_what_fails_in_the_library_fails(expression: str) -> None:
    assert isinstance(evaluation.evaluate(expression, _VALUES), ExpressionError)
    with pytest.raises(functions.CelError):
        interpreter.evaluate(expression, _VALUES)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{'a': 1, 'b': 2}.transformList(k, v, k + string(v))", ["a1", "b2"]),
        ("['x', 'y'].transformList(i, v, i > 0, v)", ["y"]),
        ("{'a': 1, 'b': 2}.transformMap(k, v, k != 'a', v)", {"b": 2}),
        ("['x', 'y'].transformMapEntry(i, v, {v: i})", {"x": 0, "y": 1}),
        ("['x', 'y'].indexOf('y') + ['x'].indexOf('z')", 0),
    ],
)
def test_comprehensions_with_two_variables_and_functions_of_lists(expression: str, value: object) -> None:
    assert interpreter.evaluate(expression, {}) == value


@pytest.mark.parametrize(
    "expression", ["['x', 'x'].transformMapEntry(i, v, {v: i})", "nope(1)", "1 + 'a'", "(5).map(x, x)", "name"]
)
def test_an_invalid_operation_is_an_error(expression: str) -> None:
    with pytest.raises(functions.CelError):
        interpreter.evaluate(expression, {})


def test_a_rule_that_does_not_parse_is_a_rule_error() -> None:
    with pytest.raises(tree.RuleError):
        tree.parse("1 +")
