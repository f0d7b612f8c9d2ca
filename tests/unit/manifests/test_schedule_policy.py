"""Policy torpor-schedule decides about cron expressions as the operator does, and torpor-timezone knows its zones."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from torpor_cli.linting.cel import interpreter
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
    "?",
]
_PROBLEMS = ("invalidCount", "invalidFields", "reversedRanges", "impossibleDays")

fields = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
expressions = st.builds(
    lambda field, at, size: " ".join(field if index == at % size else "*" for index in range(size)),
    fields,
    st.integers(0, 5),
    st.sampled_from([5, 6]),
)


def _variables(file: str) -> dict[str, str]:
    policy = next(yaml.safe_load_all((_POLICIES / file).read_text()))
    return {each["name"]: each["expression"] for each in policy["spec"]["variables"]}


VARIABLES = _variables("schedule.yaml")
WARNING = _variables("cron-warning.yaml")


def evaluated(rules: dict[str, str], expression: str) -> dict[str, Any]:
    """The variables of a policy for a Schedule with a cron expression."""
    schedule = {"kind": "Schedule", "spec": {"sources": [{"name": "night", "cron": expression}]}}
    variables: dict[str, Any] = {}
    for name, rule in rules.items():
        variables[name] = interpreter.evaluate(rule, {"object": schedule, "oldObject": None, "variables": variables})
    return variables


def problems(expression: str) -> list[Any]:
    """What the policy finds in a cron expression."""
    result = evaluated(VARIABLES, expression)
    return [each for name in _PROBLEMS for each in result[name]]


@given(expressions)
@example("*/15 0-6,12 1,15 JAN-MAR,12 MON-FRI")
@example("0 0 LW,15 * FRI#2,5L")
@example("0 0 * 1,NOV-FEB/2 *")
@example("@midnight")
@example("@reboot")
@example("* * * *")
@example("* * * * * * *")
@example("0 0 ? * ?")
@example("? 0 * * *")
@example("0 0 1,? * *")
@example("0 0 31,30 FEB *")
@example("0 0 30 2 ?")
@example("0 0 30 2 */7")
@example("0 0 30 2 1")
@example("0 0 031 APR,6,SEP,11,2 *")
@example("0 0 30 2,3 *")
@example("0 0 31 4-6 *")
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


@pytest.mark.parametrize(
    ("expression", "remedy"),
    [
        ("0 0 * * L5", "write 5L for the last Friday of a month"),
        ("0 0 * * L", "write 5L for the last Friday of a month"),
        ("0 0 * * FRI#6", "write 5#2 for the second Friday; the number is 1 to 5"),
        ("0 0 15W * *", "write LW for the last day from Monday to Friday; W has no other use"),
        ("0 0 L-3 * *", "write L for the last day of the month; days before it cannot be counted"),
        ("0 0 1,? * *", "write ? or * alone"),
        ("0 ? * * *", "write *; only the day fields accept ?"),
    ],
)
def test_policy_and_operator_name_the_same_remedy(expression: str, remedy: str) -> None:
    ((message,),) = evaluated(VARIABLES, expression)["invalidFields"]
    assert message.endswith(f"; {remedy}")
    with pytest.raises(ValueError, match="; ") as caught:
        Ticks.parse(expression, None)
    assert str(caught.value).endswith(f"; {remedy}")


@pytest.mark.parametrize(
    "expression",
    [
        "0 6 */2 * MON-FRI",
        "0 6 1-7 * */2",
        "0 6 */2 * */3",
        "30 0 6 */2 * MON",
        " 0\t6  */10,15 1-3\t1 ",
        "0 6 */02 * 5#2",
    ],
)
def test_an_expression_that_means_something_else_elsewhere_is_a_warning(expression: str) -> None:
    assert evaluated(WARNING, expression)["ambiguousSources"]


@pytest.mark.parametrize(
    "expression",
    [
        "0 6 */2 * *",
        "0 6 * * */2",
        "0 6 */2 * ?",
        "0 6 */1 * MON",
        "0 6 1-31/2 * MON-FRI",
        "0 6 1 * MON",
        "*/2 */2 * */2 *",
        "*/2 */2 1 */2 MON",
        "0 0 6 */2 * *",
        "@daily",
        "0 6 *,2 * MON",
    ],
)
def test_an_expression_that_means_the_same_elsewhere_is_none(expression: str) -> None:
    assert not evaluated(WARNING, expression)["ambiguousSources"]
