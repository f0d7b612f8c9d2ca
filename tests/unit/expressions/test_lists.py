"""What the language adds to CEL's functions over lists, and reading JSON text."""

import pytest
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.evaluation import evaluate
from torpor_expressions.value import JSON, Value

PARAMS: dict[str, JSON] = {"a": [1, 2, 3], "b": ["x", None], "m": {"z": 1}, "t": '{"x": [1, null, 2.5]}'}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("zip(params.a, params.b)", [[1, "x"], [2, None]]),
        ("zip(params.a, params.b, [9, 8, 7])", [[1, "x", 9], [2, None, 8]]),
        ("zip([], params.a)", []),
        ("zip(params.a)", [[1], [2], [3]]),
        ("concat(params.b)", ["x", None]),
        ("zipLongest(params.a, params.b, 0)", [[1, "x"], [2, None], [3, 0]]),
        ("zipLongest(zip(params.a, params.a), params.b, null)", [[[1, 1], "x"], [[2, 2], None], [[3, 3], None]]),
        ("concat(params.a, params.b, [7])", [1, 2, 3, "x", None, 7]),
        ("zip(params.a, ['p', 'q', 'r']).filter(p, p[0] != 2).map(p, string(p[0]) + p[1])", ["1p", "3r"]),
        ("params.a.map(x, zip([x], [x + 1]))", [[[1, 2]], [[2, 3]], [[3, 4]]]),
        ("json(params.t).x", [1, None, 2.5]),
    ],
)
def test_lists_are_put_together(expression: str, value: JSON) -> None:
    assert evaluate(expression, {"params": PARAMS}) == Value(json=value)


@pytest.mark.parametrize(
    ("expression", "reason", "message"),
    [
        ("zip(params.m, params.a)", ExpressionReason.FAILED, "no such key: 0"),
        ("zip(params.a, 3)", ExpressionReason.FAILED, "size is not defined for (int64)"),
        ("zip()", ExpressionReason.INVALID, "zip takes 1 to 4 lists at column 4"),
        ("concat(params.a, [1], [2], [3], [4])", ExpressionReason.INVALID, "concat takes 1 to 4 lists at column 7"),
        ("concat(params.m)", ExpressionReason.FAILED, "+ is not defined for"),
        ("zipLongest(params.a, params.b)", ExpressionReason.INVALID, "zipLongest takes 2 to 4 lists and the value"),
        ("json('{')", ExpressionReason.FAILED, "Expecting property name"),
        ("json('[NaN]')", ExpressionReason.FAILED, "not JSON"),
        ("json('99999999999999999999')", ExpressionReason.FAILED, "exceeds 64 bits"),
    ],
)
def test_what_does_not_go_together_is_said(expression: str, reason: ExpressionReason, message: str) -> None:
    error = evaluate(expression, {"params": PARAMS})
    assert isinstance(error, ExpressionError)
    assert error.reason is reason
    assert message in error.message


def test_a_million_nulls_pass_through_without_a_crash() -> None:
    nulls: JSON = [None] * 100
    for _ in range(2_000):
        assert evaluate("zip(params.n, params.n).size()", {"params": {"n": nulls}}) == Value(json=100)
    assert evaluate("json(params.t).size()", {"params": {"t": str([None] * 1000).replace("None", "null")}}) == Value(
        json=1000
    )
