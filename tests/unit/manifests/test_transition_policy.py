"""The tables of policy torpor-status equal the wire contract: the transitions, and the fields that each changes."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_wire import constants, retry, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import CONDITION_STATUS, EDGES, POD_EDGES, TERMINAL, TRIGGERER_EDGES, State

_POLICY = Path(__file__).resolve().parents[3] / "manifests/base/policies/status.yaml"
_WAIT = trigger.DeferredTrigger("time", "{}", "k", 0, "time")
_AGAIN = retry.Policy(limit=9)


def expression(name: str) -> str:
    policy = next(yaml.safe_load_all(_POLICY.read_text()))
    return next(str(each["expression"]) for each in policy["spec"]["variables"] if each["name"] == name)


def table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = ast.literal_eval(expression(name))
    return table


def pin(state: State) -> transitions.Pin:
    return transitions.Pin(uid="u", created="2026-01-01T00:00:00Z", state=state, attempt=1, segment=0)


def touched(patch: transitions.Patch) -> set[str]:
    return {str(operation["path"]).split("/")[2] for operation in patch if operation["op"] != "test"}


def named(edges: frozenset[tuple[State, State]]) -> set[str]:
    return {f"{old}>{new}" for old, new in edges}


def fail(old: State, policy: retry.Policy, log: str = "") -> transitions.Patch:
    details = retry.FailureDetails(exception="OSError", http_status=503 if old is State.DEFERRED else None)
    return transitions.fail(pin(old), policy, reason=Reason.ERROR, message="m", now=0.0, log=log, details=details)


POD: dict[str, transitions.Patch] = {
    "Scheduled>Running": transitions.claim(
        pin(State.SCHEDULED), transitions.Claim("p", "u", "n", "sha256:0123456789abcdef"), started=None, now=0.0
    ),
    "Running>Deferred": transitions.defer(pin(State.RUNNING), _WAIT, resume=None, deadline=None, now=0.0),
    "Running>Succeeded": transitions.succeed(pin(State.RUNNING), None, now=0.0, stored={"size": 1}, files=({},)),
    "Running>UpForRetry": fail(State.RUNNING, _AGAIN),
    "Running>Failed": fail(State.RUNNING, retry.Policy()),
    "Running>Skipped": transitions.skip(pin(State.RUNNING), message="m", now=0.0),
}
TRIGGERER: dict[str, transitions.Patch] = {
    "Deferred>Deferred": transitions.explain(pin(State.DEFERRED), reason=Reason.ERROR, message="m"),
    "Deferred>Scheduled": transitions.fire(pin(State.DEFERRED), None, deferred=1.0, now=0.0),
    "Deferred>Succeeded": transitions.succeed(pin(State.DEFERRED), None, now=0.0, stored={"size": 1}),
    "Deferred>UpForRetry": fail(State.DEFERRED, _AGAIN, log="l"),
    "Deferred>Failed": fail(State.DEFERRED, retry.Policy(), log="l"),
    "Deferred>Skipped": transitions.skip(pin(State.DEFERRED), message="m", now=0.0),
    "Deferred>Cancelled": transitions.cancel(pin(State.DEFERRED), message="m", now=0.0),
}


def test_the_policy_has_the_transitions_of_the_wire_contract() -> None:
    changes = frozenset(edge for edge in EDGES if edge[0] != edge[1])
    assert set(re.findall(r"'(\w+>\w+)'", expression("stateProblem"))) == named(changes)
    assert set(table("podTransitions")) == named(POD_EDGES) == set(POD)
    assert set(table("triggererTransitions")) == named(TRIGGERER_EDGES) | {"Deferred>Deferred"} == set(TRIGGERER)


@pytest.mark.parametrize("name", POD)
def test_a_pod_may_change_the_fields_of_its_patch(name: str) -> None:
    assert set(table("podTransitions")[name]) == touched(POD[name])


@pytest.mark.parametrize("name", TRIGGERER)
def test_a_triggerer_may_change_the_fields_of_its_patch(name: str) -> None:
    assert set(table("triggererTransitions")[name]) == touched(TRIGGERER[name])


def test_there_are_no_match_conditions_and_an_error_rejects() -> None:
    spec = next(yaml.safe_load_all(_POLICY.read_text()))["spec"]
    assert "matchConditions" not in spec
    assert spec["failurePolicy"] == "Fail"
    assert [each["reason"] for each in spec["validations"]] == ["Invalid"] + ["Forbidden"] * 4


def test_no_message_needs_the_authorizer_which_messages_do_not_have() -> None:
    spec = next(yaml.safe_load_all(_POLICY.read_text()))["spec"]
    used = [each["messageExpression"] for each in spec["validations"] if "messageExpression" in each]
    reached: set[str] = set()
    while used:
        names = set(re.findall(r"variables\.(\w+)", used.pop())) - reached
        reached |= names
        used += [expression(name) for name in names]
    assert "writerProblem" in reached
    assert not [name for name in reached if "authorizer" in expression(name)]


def test_the_policy_has_conditions_of_terminal_states_and_all_time_fields() -> None:
    assert table("ends") == {state: CONDITION_STATUS[state] for state in TERMINAL}
    entered = {path.split(">")[1] for path in (*POD, *TRIGGERER)}
    due = table("timeFields")
    assert set(due) == entered
    for path, patch in (*POD.items(), *TRIGGERER.items()):
        old, new = path.split(">")
        assert old == new or due[new] in touched(patch), path
    assert set(due.values()) <= set(re.findall(r"'(\w+)'", expression("writtenTimes")))


def test_the_policy_has_the_clock_slack_of_the_wire_contract() -> None:
    matches = re.findall(r"\b([1-9][0-9]*s)\b", _POLICY.read_text())
    assert set(matches) == {f"{constants.CLOCK_SLACK_S}s"}
