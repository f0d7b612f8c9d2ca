"""Defaults of a namespace and of the installation, as JSON text."""

import pytest
from pydantic import ValidationError
from torpor_operator.settings import Settings
from torpor_operator.task_defaults import DefaultsError, parse_defaults
from torpor_wire import constants


def test_an_empty_text_has_no_defaults() -> None:
    assert parse_defaults("") is None
    assert parse_defaults(" ") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ('{"retry": {}}', "no field retry"),
        ('{"retries": {"times": 3}}', "no field retries.times"),
        ('{"pod": {"hostNetwork": true}}', "no field pod.hostNetwork"),
        ('{"pod": {"securityContext": {"procMount": "Unmasked"}}}', "no field pod.securityContext.procMount"),
        ('{"retries": {"limit": 1000}}', "retries.limit: "),
        ('{"timeout": "soon"}', "timeout: "),
        ("[" * 100_000, "more than"),
        ("[" * 10_000, "not valid JSON"),
        ('{"image": "' + "x" * constants.DEFAULTS_MAX + '"}', "more than"),
    ],
)
@pytest.mark.attack
def test_invalid_defaults_say_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(DefaultsError, match=problem.replace(".", r"\.")):
        parse_defaults(text)


def test_the_installation_cannot_set_an_image() -> None:
    assert Settings(task_defaults='{"retries": {"limit": 2}}').task_defaults
    with pytest.raises(ValidationError, match="image is not a default of an installation"):
        Settings(task_defaults='{"image": "a"}')
