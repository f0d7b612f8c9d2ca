"""Templates: where expressions begin and end, what they become, and that nothing is parsed twice."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_expressions import template
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.template import StringTemplate, TemplateExpression
from torpor_expressions.value import JSON

texts = st.text(alphabet=st.sampled_from("ab$${}\"'\\ \né"), max_size=20)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner), max_leaves=8)
sources = st.sampled_from(
    [
        "params.a",
        "{'a': {'b': 1}}.a",
        "'}' + \"}\"",
        '"""}"}"""',
        "x['${']",
        "r'\\' + '}'",
        "'''}'\n}'''",
        "1 // }\n",
        "`a}b`.c",
    ]
)


def escaped(text: str) -> str:
    return text.replace("${", "$${")


def parsed(text: str) -> StringTemplate:
    result = template.parse(text)
    assert isinstance(result, StringTemplate), result
    return result


def refused(text: str) -> str:
    result = template.parse(text)
    assert isinstance(result, ExpressionError), result
    assert result.reason is ExpressionReason.INVALID
    return result.message


@given(texts)
def test_escaped_text_is_rendered_as_it_was(text: str) -> None:
    assert parsed(escaped(text)).render({}) == text


@given(st.lists(st.tuples(texts, sources), min_size=1, max_size=4), texts)
def test_parse_finds_what_was_composed(pairs: list[tuple[str, str]], tail: str) -> None:
    # A literal that ends in a dollar would escape the expression behind it, as the syntax says.
    pairs = [(text.rstrip("$"), source) for text, source in pairs]
    whole = "".join(f"{escaped(text)}${{{source}}}" for text, source in pairs) + escaped(tail)
    expected: list[str | TemplateExpression] = []
    for text, source in [*pairs, (tail, "")]:
        expected += [
            part
            for part in (text, TemplateExpression(source=source.strip()))
            if part and part != TemplateExpression(source="")
        ]
    assert list(parsed(whole).parts) == (expected or [""])


@given(values)
def test_a_single_expression_keeps_the_type_of_its_value(value: JSON) -> None:
    result = parsed("${ params.a }")
    assert result.single == "params.a"
    assert result.render({"params.a": value}) == value


@pytest.mark.parametrize(
    ("value", "inserted"),
    [
        (True, "true"),
        (None, "null"),
        (1, "1"),
        (1.0, "1.0"),
        ("a b", "a b"),
        (["a", 1], '["a",1]'),
        ({"é": None}, '{"é":null}'),
    ],
)
def test_a_longer_string_contains_values_as_json_and_strings_unquoted(value: JSON, inserted: str) -> None:
    assert parsed("<${a}>").render({"a": value}) == f"<{inserted}>"


@given(texts)
def test_what_an_expression_yields_is_not_parsed_again(text: str) -> None:
    result = "${params.secret}" + text
    assert template.substitute({"x": ["${a}", "-${a}"]}, {"a": result}) == {"x": [result, "-" + result]}


@given(values)
def test_a_value_without_templates_is_substituted_by_itself(value: JSON) -> None:
    plain = json.loads(json.dumps(value).replace("$", "S"))
    assert template.expressions(plain) == ()
    assert template.substitute(plain, {}) == plain


def test_expressions_are_found_at_any_depth_in_order_and_once() -> None:
    value: JSON = {"a": "${one} and ${two}", "b": [{"c": "${ one }"}, "${three}"], "${key}": 1}
    assert template.expressions(value) == ("one", "two", "three")


def test_keys_are_never_templates() -> None:
    assert template.substitute({"${a}": "${a}"}, {"a": 1}) == {"${a}": 1}


def test_an_unclosed_expression_is_refused_with_its_position() -> None:
    assert "'${' at column 3 has no closing '}'" in refused("a ${params.x")
    assert "column 1" in refused("${'}'")


def test_an_empty_expression_is_refused() -> None:
    assert "column 4 is empty" in refused("abc${  }")


def test_a_problem_in_a_nested_value_names_its_path() -> None:
    distinct = template.expressions({"files": [{"name": "x"}, {"name": "${y"}]})
    assert isinstance(distinct, ExpressionError)
    assert distinct.message.startswith("files[1].name: '${' at column 1")


def test_a_missing_result_is_a_bug_of_the_caller() -> None:
    with pytest.raises(KeyError):
        template.substitute("${a}", {})
