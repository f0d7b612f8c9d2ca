"""What the language adds to CEL's functions over texts, numbers and times, and the bounds of each."""

import pytest
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.evaluation import evaluate
from torpor_expressions.evaluator import Evaluator
from torpor_expressions.value import JSON, Value

PARAMS: dict[str, JSON] = {"n": 3, "text": "aé", "day": "2024-02-29", "none": None, "long": "x" * 60_000, "half": 1.5}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("range(params.n)", [0, 1, 2]),
        ("range(2, params.n + 2)", [2, 3, 4]),
        ("range(5, 2)", []),
        ("range(-1)", []),
        ("range(3).map(i, 'shard-' + string(i).padStart(2, '0'))", ["shard-00", "shard-01", "shard-02"]),
        ("params.text.upper()", "AÉ"),
        ("'ÀB'.lower()", "àb"),
        ("'1234'.padStart(3, '0')", "1234"),
        ("sha256(params.text) == sha256(bytes(params.text))", True),
        ("base64.encode(bytes(params.text))", "YcOp"),
        ("string(base64.decode('YcOp'))", "aé"),
        ("date(params.day).addMonths(12)", "2025-02-28T00:00:00Z"),
        ("date(params.day).addMonths(-1)", "2024-01-29T00:00:00Z"),
        ("(date(params.day) + duration('24h')).strftime('%Y%m%d')", "20240301"),
        ("date('0099-01-02').strftime('%Y-%m-%d %%Y')", "0099-01-02 %Y"),
        ("timestamp('2026-03-29T00:59:00Z').strftime('%H:%M', 'Europe/Berlin')", "01:59"),
        ("timestamp('2026-03-29T01:00:00Z').strftime('%H:%M', 'Europe/Berlin')", "03:00"),
    ],
)
def test_a_function_gives_its_value(expression: str, value: JSON) -> None:
    assert evaluate(expression, {"params": PARAMS}) == Value(json=value)


@pytest.mark.parametrize(
    ("expression", "reason", "message"),
    [
        ("range(10001)", ExpressionReason.FAILED, "range has 10,001 items; 10,000 are allowed"),
        ("range(-9223372036854775807, 9223372036854775807)", ExpressionReason.FAILED, "10,000 are allowed"),
        ("range(params.half)", ExpressionReason.FAILED, "range is not defined for (double)"),
        ("range(params.none)", ExpressionReason.FAILED, "range is not defined for"),
        ("range()", ExpressionReason.INVALID, "range takes one or two integers"),
        ("params.n.upper()", ExpressionReason.FAILED, "upper is not defined for"),
        ("'a'.padStart(1000000000, '0')", ExpressionReason.FAILED, "padStart takes a width of at most 65,536"),
        ("'a'.padStart(3, 'ab')", ExpressionReason.FAILED, "one character that fills"),
        ("date('20.11.2026')", ExpressionReason.FAILED, "date takes a day such as 2026-11-20, not '20.11.2026'"),
        ("date(params.day).addMonths(9000000000)", ExpressionReason.FAILED, "addMonths takes up to 120,000 months"),
        ("date(params.day).addMonths(119999)", ExpressionReason.FAILED, "addMonths gives the year 12024"),
        ("date(params.day).strftime('%Q')", ExpressionReason.FAILED, "strftime does not know '%Q'"),
        ("date(params.day).strftime('%')", ExpressionReason.FAILED, "strftime does not know '%'"),
        ("date(params.day).strftime('%Y', 'Mars/Base')", ExpressionReason.FAILED, "'Mars/Base' is not a time zone"),
        ("base64.decode('!')", ExpressionReason.FAILED, "invalid base64"),
    ],
)
def test_a_wrong_argument_has_a_message(expression: str, reason: ExpressionReason, message: str) -> None:
    error = evaluate(expression, {"params": PARAMS})
    assert isinstance(error, ExpressionError)
    assert error.reason is reason
    assert message in error.message


@pytest.mark.attack
@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("date(params.day).strftime('%999999999Y')", "strftime does not know '%9'"),
        ("date(params.day).strftime('%Y'.replace('Y', params.long))", "the pattern of strftime has 60,001 characters"),
        ("date(params.day).strftime('%H', '../../../etc/passwd')", "is not a time zone"),
        ("date(params.day).strftime('%H', '/etc/passwd')", "is not a time zone"),
        ("params.text.matches('((a{1,100}){1,100}){1,100}')", "invalid repetition size"),
        (r"params.text.matches(r'\pL{1000}\pL{1000}\pL{1000}')", "pattern too large"),
    ],
)
def test_no_argument_makes_a_function_unbounded(expression: str, message: str) -> None:
    error = evaluate(expression, {"params": PARAMS})
    assert isinstance(error, ExpressionError)
    assert message in error.message


@pytest.mark.attack
@pytest.mark.parametrize("pattern", ["(x+x+)+y", "^(x|xx)*$z", "(.*)(.*)(.*)(.*)(.*)[^x]", "(x?){60}x{60}y"])
def test_a_regular_expression_takes_linear_time(pattern: str) -> None:
    """RE2 does not backtrack: in another engine each of these takes exponential time."""
    assert evaluate(f"params.long.matches('{pattern}')", {"params": PARAMS}) == Value(json=False)


@pytest.mark.attack
async def test_a_result_of_these_functions_has_a_limit() -> None:
    async with Evaluator() as evaluator:
        for expression in ("params.long.upper() + params.long.lower()", "range(10000).map(i, params.long)"):
            error = await evaluator.evaluate(expression, {"params": PARAMS})
            assert isinstance(error, ExpressionError)
            assert error.reason is ExpressionReason.TOO_EXPENSIVE
