"""The params of a run of a template: types, enums, patterns, defaults, constants."""

from typing import Any

import pytest
from torpor_crds.models import template as templates
from torpor_expressions.evaluator import evaluate_here
from torpor_operator.expressions.context import Pending
from torpor_operator.mapping import template_params
from torpor_operator.mapping.template_params import InvalidParams
from torpor_operator.model.actions import Evaluate, Need
from torpor_operator.model.snapshot import Answer

from tests.support.builders import Body
from tests.support.templates import cases as template_cases
from tests.support.templates.cases import DATE, FITS, MISFITS


def resolved(given: Body, params: list[Body] | None = None) -> dict[str, Any] | str:
    """The params of the run, or why these do not fit, with all patterns evaluated."""
    template = templates.parse(template_cases.template(params))
    known: dict[Need, Answer] = {}
    for _ in range(2):
        match template_params.resolve(template, given, known):
            case Pending(needs):
                known |= {
                    need: evaluate_here(need.expression, need.variables) for need in needs if isinstance(need, Evaluate)
                }
            case InvalidParams(message):
                return message
            case values:
                return values
    raise AssertionError("the evaluations did not answer the needs")


@pytest.mark.parametrize("case", FITS)
def test_params_that_fit_are_kept(case: str) -> None:
    template = resolved(FITS[case])
    assert isinstance(template, dict)
    assert template.items() >= FITS[case].items()


@pytest.mark.parametrize("case", MISFITS)
def test_params_that_do_not_fit_are_named(case: str) -> None:
    given, message = MISFITS[case]
    assert resolved(given) == message


def test_constants_and_defaults_are_filled_in_and_an_unset_param_is_null() -> None:
    assert resolved(DATE) == DATE | {
        "bucket": "raw",
        "region": "eu",
        "count": 3,
        "share": None,
        "dry": False,
        "tables": None,
        "options": {"fast": True},
        "level": None,
        "shape": None,
    }


def test_a_default_must_fit_too() -> None:
    assert resolved({}, [{"name": "n", "type": "integer", "default": "3"}]) == 'param n must be an integer, not "3"'


def test_true_is_not_1_in_an_enum() -> None:
    params = [{"name": "o", "type": "object", "enum": [{"a": [1]}]}]
    assert resolved({"o": {"a": [1]}}, params) == {"bucket": "raw", "o": {"a": [1]}}
    assert resolved({"o": {"a": [True]}}, params) == "param o must be one of an object, not an object"
    assert resolved({"o": {"a": [1, 1]}}, params) == "param o must be one of an object, not an object"


def test_a_template_without_params_takes_none() -> None:
    assert resolved({"x": 1}, []) == "unknown param x; params of template nightly: none"
    assert resolved({}, []) == {"bucket": "raw"}


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("a|b", "b", True),
        ("a|b", "ab", False),
        ("(?i)eu", "EU", True),
        ("[a-z]+", "eu\n", False),
        ("(?m)a$", "a\nb", False),
        ("(a+)+", "a" * 10_000 + "b", False),
        (".*", "", True),
    ],
)
def test_a_pattern_matches_the_whole_string(pattern: str, value: str, *, fits: bool) -> None:
    template = resolved({"p": value}, [{"name": "p", "pattern": pattern}])
    assert isinstance(template, dict) is fits


def test_an_invalid_pattern_is_named() -> None:
    template = resolved({"p": "x"}, [{"name": "p", "pattern": "[a"}])
    assert template == "param p cannot be matched with [a: invalid regular expression: missing ]: [a)$"


def test_a_value_that_expressions_do_not_support_is_a_misfit() -> None:
    template = resolved({"p": "a\0"}, [{"name": "p", "pattern": ".*"}])
    assert isinstance(template, str)
    assert template.startswith("param p cannot be matched with .*: value contains a NUL character")


def test_a_long_list_is_shortened() -> None:
    template = resolved({"y": 1}, [{"name": f"p{n}"} for n in range(30)])
    assert isinstance(template, str)
    assert template.endswith("p18, p19 and 10 more")
