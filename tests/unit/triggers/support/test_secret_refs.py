"""References to Secrets, and what came from one."""

from typing import Any

import pytest
from torpor.triggers.support import arguments
from torpor.triggers.support.arguments import Revealed
from torpor_wire import canonical

GIVEN = {"secretRef": {"name": "db", "key": "url"}}


def test_a_reference_is_taken_as_it_is() -> None:
    assert arguments.is_reference(GIVEN)
    assert arguments.reference(GIVEN, "url") == GIVEN


@pytest.mark.parametrize(
    "value",
    [
        {"secretRef": "db"},
        {"secretRef": {"name": "db"}},
        {"secretRef": {"name": "db", "key": ""}},
        {"secretRef": {"name": "db", "key": "url", "namespace": "kube-system"}},
        {"secretRef": {"name": "db", "key": 1}},
        {"secretRef": {"name": "db", "key": "url"}, "default": "x"},
    ],
)
def test_what_names_no_key_of_a_secret_is_refused_by_the_arguments_name(value: Any) -> None:
    assert arguments.is_reference(value)
    with pytest.raises(ValueError, match="url"):
        arguments.reference(value, "url")


def test_what_a_secret_held_is_its_text_and_is_not_shown() -> None:
    held = Revealed("hunter2")
    assert held == "hunter2"
    assert f"{held!r} {[held]}" == "'***' ['***']"
    assert canonical.plain(held) == '"hunter2"'
