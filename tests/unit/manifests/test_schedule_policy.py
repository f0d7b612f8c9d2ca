"""Policy torpor-schedule decides about cron expressions as the operator does, and torpor-timezone knows its zones."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from kubectl_torpor.linting.cel import interpreter
from torpor_reference import timezones
from torpor_wire.cron.ticks import Ticks

_POLICIES = Path(__file__).resolve().parents[3] / "manifests/base/policies"
_PIECES = [
    "*",
    "/",
    "-",
    ",",
    "#",
    "L",
    "W",
    "0",
    "1",
    "2",
    "5",
    "7",
    "12",
    "23",
    "31",
    "59",
    "60",
    "MON",
    "FRI",
    "DEC",
    "00",
]
_PROBLEMS = ("invalidCount", "invalidFields", "reversedRanges")

fields = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
expressions = st.builds(
    lambda field, at, size: " ".join(field if index == at % size else "*" for index in range(size)),
    fields,
    st.integers(0, 5),
    st.sampled_from([5, 6]),
)


def _variables() -> dict[str, str]:
    policy = next(yaml.safe_load_all((_POLICIES / "schedule.yaml").read_text()))
    return {each["name"]: each["expression"] for each in policy["spec"]["variables"]}


VARIABLES = _variables()


def problems(expression: str) -> list[Any]:
    """What the policy finds in a cron expression."""
    schedule = {"spec": {"sources": [{"name": "night", "cron": expression}]}}
    found: dict[str, Any] = {}
    for name, rule in VARIABLES.items():
        found[name] = interpreter.evaluate(rule, {"object": schedule, "oldObject": None, "variables": found})
    return [each for name in _PROBLEMS for each in found[name]]


@given(expressions)
@example("*/15 0-6,12 1,15 JAN-MAR,12 MON-FRI")
@example("0 0 LW,15 * FRI#2,5L")
@example("0 0 * 1,NOV-FEB/2 *")
@example("@midnight")
@example("@reboot")
@example("* * * *")
@example("* * * * * * *")
def test_the_policy_rejects_what_the_operator_cannot_read(expression: str) -> None:
    try:
        Ticks.parse(expression, None)
    except ValueError:
        assert problems(expression)
    else:
        assert not problems(expression)


def test_the_policy_knows_the_time_zones_of_the_operator() -> None:
    names = timezones.names()
    assert len(names) > 400
    for name in names:
        assert Ticks.parse("@daily", name).next(0.0) is not None
    with pytest.raises(ValueError, match="unknown"):
        Ticks.parse("@daily", "Europe/Berln")
