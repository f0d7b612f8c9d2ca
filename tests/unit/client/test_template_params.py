"""Params from the command line are checked by the rules of the operator and of the admission policy."""

import pytest
from torpor_client.changes import template_params
from torpor_client.errors import UsageError

from tests.support.templates import cases as template_cases
from tests.support.templates.cases import FITS, MISFITS

# The API server matches patterns and shortens long texts. The command words an unknown name with the nearest one.
_OF_THE_SERVER = {"a text around the pattern", "a long text", "an unknown param", "two problems", "a missing param"}


@pytest.mark.parametrize("case", FITS)
def test_values_that_fit_are_returned(case: str) -> None:
    template = template_cases.template()
    assert template_params.parse([], FITS[case], template) == FITS[case]
    template_params.check_required(FITS[case], template)


@pytest.mark.parametrize("case", [case for case in MISFITS if case not in _OF_THE_SERVER])
def test_values_that_do_not_fit_are_refused_with_the_operators_message(case: str) -> None:
    given, message = MISFITS[case]
    with pytest.raises(UsageError) as refused:
        template_params.parse([], given, template_cases.template())
    assert str(refused.value) == message


def test_a_missing_param_is_named() -> None:
    given, message = MISFITS["a missing param"]
    with pytest.raises(UsageError, match=message):
        template_params.check_required(given, template_cases.template())


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("date=2026", "2026"),
        ("count=4", 4),
        ("share=0.5", 0.5),
        ("dry=true", True),
        ('tables=["a"]', ["a"]),
        ('options={"a": 1}', {"a": 1}),
        ("region=eu", "eu"),
    ],
)
def test_the_text_of_an_option_has_the_type_of_its_param(pair: str, value: object) -> None:
    (parsed,) = template_params.parse([pair], {}, template_cases.template()).values()
    assert (parsed, type(parsed)) == (value, type(value))
