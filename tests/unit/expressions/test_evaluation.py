"""What expressions mean: JSON in, JSON out, the same wherever they are evaluated."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_expressions.errors import MESSAGE_MAX, ExpressionError, ExpressionReason
from torpor_expressions.evaluator import evaluate_here
from torpor_expressions.value import JSON, Value

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(leaves | text, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=12)


def value(expression: str, **variables: JSON) -> JSON:
    result = evaluate_here(expression, variables)
    assert isinstance(result, Value), result
    return result.json


def problem(expression: str, **variables: JSON) -> ExpressionError:
    result = evaluate_here(expression, variables)
    assert isinstance(result, ExpressionError), result
    return result


def shape(json: JSON) -> object:
    """Tells 1 from 1.0 and True, which Python's equality does not."""
    match json:
        case list():
            return [shape(item) for item in json]
        case dict():
            return {key: shape(item) for key, item in json.items()}
        case _:
            return type(json).__name__, json


@given(values)
def test_a_value_comes_out_as_it_went_in(json: JSON) -> None:
    assert shape(value("params", params=json)) == shape(json)


@given(text)
def test_a_quoted_string_is_that_string(string: str) -> None:
    if len(string) < 100:
        quoted = "".join(f"\\U{ord(character):08x}" for character in string)
        assert value(f"'{quoted}'") == string


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2", 3),
        ("7 / 2", 3),
        ("7.0 / 2.0", 3.5),
        ("params.one == 1.0", True),
        ("params.none == null", True),
        ("size('héé😀')", 4),
        ("params.?nope.orValue('d')", "d"),
        ("params.none", None),
        ("params.names.filter(n, n.endsWith('.csv'))", ["a.csv"]),
        ("'a,b'.split(',').map(s, s.upperAscii()).join('-')", "A-B"),
        ("' a '.trim().replace('a', 'b') + 'CD'.lowerAscii()", "bcd"),
        ("'abc'.matches('^a.*c$') && 'abc'.contains('b') && 'abc'.startsWith('a')", True),
        ("params.nope == 1 || true", True),
        ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
        ("timestamp('2026-01-01T00:00:00.5Z') + duration('1h')", "2026-01-01T01:00:00.500000Z"),
        ("[duration('90s'), duration('1.5s'), duration('-1s')]", ["90s", "1.5s", "-1s"]),
        ("b'abc'", "YWJj"),
        ("18446744073709551615u", 18446744073709551615),
        ("params.deep.a[1].b", [None, {"x": None}]),
    ],
)
def test_expressions_mean_what_cel_says(expression: str, expected: JSON) -> None:
    params: JSON = {
        "one": 1,
        "none": None,
        "names": ["a.csv", "b.txt"],
        "deep": {"a": [0, {"b": [None, {"x": None}]}]},
    }
    assert shape(value(expression, params=params)) == shape(expected)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("params.nope", 'no such key: "nope"'),
        ("params['no such'].x", 'no such key: "no such"'),
        ("params.list[5]", "no item 5 in a list of 1"),
        ("params.one + 1.0", "+ is not defined for (int64, double)"),
        ("params.one.x", "a field is selected from a value that is not an object"),
        ("params.one / 0", "divide by zero"),
        ("params.one.map(x, x)", "a macro needs a list or a map"),
        ("[1, params.one / 0]", "divide by zero"),
        ("params.big + 1", "integer overflow"),
        ("1.0 / 0.0", "the result contains inf, which is not JSON"),
        ("[0.0 / 0.0]", "the result contains nan, which is not JSON"),
        ("{1: 2}", "the result has the key 1; JSON keys must be strings"),
        ("params.?one", "append .orValue(…)"),
        ("type(1)", "the result is of type type, which is not JSON"),
        ("int('x')", "cannot convert string to int"),
        ("'a'.matches(params.regex)", "invalid regular expression"),
    ],
)
def test_what_fails_on_these_values_says_why(expression: str, message: str) -> None:
    error = problem(expression, params={"one": 1, "list": [1], "big": 2**63 - 1, "regex": "("})
    assert error.reason is ExpressionReason.FAILED
    assert message in error.message


def test_what_fails_names_the_expression_as_far_as_a_message_reaches() -> None:
    assert problem("params.nope  > 1", params={}).message == 'no such key: "nope"; in params.nope > 1'
    long = f"params.nope + '{'a' * 200}'"
    assert problem(long, params={}).message == f'no such key: "nope"; in {long[:199]}…'
    message = problem(f"params['{'b' * 400}']", params={}).message
    assert len(message) <= MESSAGE_MAX
    assert message.endswith("; in params['" + "b" * 191 + "…")


def test_an_unknown_name_is_refused_by_the_variables_given() -> None:
    error = problem("task.x", params={}, tasks={})
    assert error.reason is ExpressionReason.INVALID
    assert "unknown name 'task' at column 1; known names: params, tasks" in error.message


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("a\0b", "params.x[0] contains a NUL character"),
        ("\ud800", "params.x[0] contains an unpaired surrogate"),
        (2**63, "params.x[0] is 9223372036854775808, which exceeds 64 bits"),
        (-(2**200), "exceeds 64 bits"),
    ],
)
def test_a_value_that_cel_would_garble_is_refused_by_its_path(bad: JSON, message: str) -> None:
    error = problem("params.y", params={"x": [bad], "y": 1})
    assert error.reason is ExpressionReason.FAILED
    assert message in error.message


def test_a_variable_that_is_not_used_is_not_read() -> None:
    assert value("index", index=1, params={"x": "a\0b"}) == 1


def test_nulls_do_not_wear_out_the_interpreter() -> None:
    before = sys.getrefcount(None)
    for _ in range(2000):
        value("[null, params, {'a': null}].map(x, x)", params={"a": None})
    assert abs(sys.getrefcount(None) - before) < 500


@given(st.dictionaries(st.text("abcdefgh", min_size=1), st.none() | st.integers(0, 9), max_size=9))
def test_macros_run_over_a_map_in_the_order_of_its_keys(mapping: dict[str, JSON]) -> None:
    keys = sorted(mapping)
    assert value("m.map(k, k)", m=mapping) == keys
    assert value("m.filter(k, m[k] == null)", m=mapping) == [key for key in keys if mapping[key] is None]
    assert value("[m].map(n, n.map(k, n[k]))", m=mapping) == [[mapping[key] for key in keys]]


def test_the_order_of_a_map_is_the_same_in_every_process() -> None:
    code = (
        "from torpor_expressions.evaluator import evaluate_here as e;"
        "print(e('{\\'c\\': 1, \\'a\\': 2, \\'b\\': {\\'z\\': 1, \\'y\\': 2}}.map(k, k) + m.map(k, k)',"
        " {'m': {str(i): i for i in range(9)}}))"
    )
    outputs = {subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout for _ in range(4)}
    assert len(outputs) == 1


def test_keys_of_a_result_are_sorted_at_every_depth() -> None:
    result = value("{'b': 1, 'a': {'d': 1, 'c': 2}}")
    assert isinstance(result, dict)
    assert list(result) == ["a", "b"]
    assert list(result["a"]) == ["c", "d"]  # type: ignore[arg-type]


def test_lists_keep_their_order_in_macros() -> None:
    assert value("l.map(x, x)", l=[3, 1, 2]) == [3, 1, 2]
    assert value("[3, 1, 2].map(x, [x, 0].map(y, y))") == [[3, 0], [1, 0], [2, 0]]


def test_many_steps_of_loops_are_too_expensive() -> None:
    error = problem("l.all(a, l.all(b, a + b >= 0))", l=list(range(1000)))
    assert error.reason is ExpressionReason.TOO_EXPENSIVE
    assert "10,000 loop steps" in error.message
