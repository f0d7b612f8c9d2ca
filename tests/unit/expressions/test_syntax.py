"""What is refused before any value is known, and how it is said."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torpor_expressions import syntax
from torpor_expressions.errors import MESSAGE_MAX, ExpressionError, ExpressionReason

GOOD = [
    "1 + 2",
    "tasks.load.results.filter(f, f.endsWith('.csv'))",
    "params.?x.orValue(3)",
    "params[?'x'].optMap(v, v + 1).orValue(0)",
    "has(params.x) && type(params.x) == int",
    "'a,b'.split(',').map(s, s.upperAscii().trim()).join('-').replace('A', 'b')",
    "timestamp('2026-01-01T00:00:00Z') + duration('1h') > timestamp(event.at)",
    "item == null ? dyn(1) : 'a'",
    "[1, 'a', null, 1.5]",
    "google.protobuf.Duration{seconds: 3} == duration('3s')",
    "params.a.map(x, params.b.filter(y, x == y)).map(z, z)",
    "b'ab' == bytes('ab') && r'\\d' == '\\\\d' && 0x1F == 31 && 1u == uint(1)",
    "!!!true",
]


def refused(expression: str, roots: frozenset[str] = syntax.ROOTS) -> ExpressionError:
    problem = syntax.check(expression, roots=roots)
    assert problem is not None, expression
    return problem


@pytest.mark.parametrize("expression", GOOD)
def test_good_expressions_pass(expression: str) -> None:
    assert syntax.check(expression) is None


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 +* 2", "unexpected '*' at column 4"),
        ("", "the expression ends too early at column 1"),
        ("HOME:-/root", "unexpected ':' at column 5"),
        ("(params.x", "the expression ends without ')' at column 10"),
        ("params.x @", "unexpected '@' at column 10"),
        ("1 +\n\n +* 2", "at line 3, column 2"),
        ("foo.bar", "unknown name 'foo' at column 1; known names: event, index, item, params, tasks, workflow"),
        ("params.x == task.y", "unknown name 'task' at column 13"),
        ("params.x ==\n  task.y", "unknown name 'task' at line 2, column 3"),
        ("now()", "unknown function or name 'now' at column 4"),
        ("params.x.lowerAsci()", "unknown function or name 'lowerAsci'"),
        ("1 + 1.0", "+ is not defined for (int, double) at column 3"),
        ("true ? 1 : 'a'", "both branches need the same type, or dyn(…) around one"),
        ("strings", "unknown function or name 'strings'"),
        ("'abc", "the text 'abc has no closing quote at column 1"),
        ("params.map(x, y)", "unknown name 'y'"),
        ("params.x == yes", "workflow; if it is a text, put it in quotes"),
        ("${params.x} == 'a'", "write the expression without braces around it"),
        ("{{tasks.flip.outputs.result}} == heads", "write the expression without braces around it"),
        ("params.x and params.y", "write && for and, || for or, and ! for not"),
        ("params.x = 'a and b'", "at column 10; write == to compare"),
    ],
)
def test_bad_expressions_are_refused_with_a_place_and_a_way_out(expression: str, message: str) -> None:
    error = refused(expression)
    assert error.reason is ExpressionReason.INVALID
    assert message in error.message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'" + "x" * 1023 + "'", "1,025 characters; 1,024 are allowed"),
        ("params.a.all(a, params.a.all(b, params.a.all(c, true)))", "nested 3 deep at column 13"),
        ("[params.a.map(a, [1].map(b, [2].map(c, c)))]", "nested 3 deep"),
        ("params.a.filter(a, params.b.map(b, b.exists(c, c == a)).size() > 0)", "nested 3 deep"),
        ("params" + ".optMap(v, v)" * 40, "optMap and optFlatMap may be used up to 3 times"),
        ("params" + ".optFlatMap(v, " * 4 + "v" + ")" * 4, "optMap and optFlatMap may be used up to 3 times"),
        ("(" * 200 + "1" + ")" * 200, "more than 32 levels of nesting or chaining"),
        ("1" + "+1" * 200, "more than 32 levels of nesting or chaining"),
        ("params" + ".a" * 200, "more than 32 levels of nesting or chaining"),
        ("params" + "[0]" * 200, "more than 32 levels of nesting or chaining"),
        ("true?1:" * 100 + "1", "more than 32 levels of nesting or chaining"),
    ],
)
def test_what_could_cost_too_much_is_refused(expression: str, message: str) -> None:
    error = refused(expression)
    assert error.reason is ExpressionReason.TOO_EXPENSIVE
    assert message in error.message


def test_an_expression_of_the_greatest_length_passes() -> None:
    assert syntax.check("'" + "x" * 1022 + "'") is None


def test_chained_macros_are_not_nested_ones() -> None:
    assert syntax.check("params.a" + ".map(x, x)" * 10) is None


def test_binding_an_optional_is_no_loop() -> None:
    assert syntax.check("params.a.map(x, params.b.map(y, params.?z.optMap(v, v + x + y)))") is None


def test_a_caller_names_the_roots_it_knows() -> None:
    roots = frozenset({"object"})
    assert syntax.check("object.status.phase == 'Ready'", roots=roots) is None
    assert "known names: object" in refused("params.x", roots).message
    assert refused("params.x == 'a'", roots).message.endswith("known names: object")


def test_without_any_root_the_message_says_so() -> None:
    assert "known names: no names at all" in refused("params.x", frozenset()).message


tokens = st.sampled_from(
    [*"()[]{}.,?:+-*/%!<>= \n'\"`\\", "'a'", "1", "tasks", "params", "x", "true", "null", ".map(a,", "has(", "in", "\0"]
)


@given(st.lists(tokens, max_size=60).map("".join) | st.text(max_size=60))
@settings(max_examples=500)
def test_no_text_crashes_the_check_and_every_message_is_short(expression: str) -> None:
    problem = syntax.check(expression)
    assert problem is None or 0 < len(problem.message) <= MESSAGE_MAX
    assert problem is None or "\n" not in problem.message
