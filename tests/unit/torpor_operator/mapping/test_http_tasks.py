"""`http`: a task that is one request, sent by the triggerer."""

import json
from typing import Any

import pytest
from torpor_wire import constants, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.support.builders import Body, python, request, wait
from tests.support.plan_fixture import PlanFixture

REFERENCE = {"secretRef": {"name": "api", "key": "token"}}
MARKED = {"__type": "secretRef", "__var": {"name": "api", "key": "token"}}


def call_of(cluster: PlanFixture, task: str, index: int = constants.UNMAPPED) -> Any:
    trigger = cluster.run(task, index).status.trigger
    assert trigger is not None
    assert trigger.class_name == "http_call"
    return json.loads(trigger.kwargs)


def test_the_fields_with_their_expressions_are_a_trigger_without_a_pod() -> None:
    call = {
        "method": "POST",
        "headers": {"Authorization": REFERENCE, "X-Day": "${params.day}"},
        "json": {"day": "${params.day}", "rows": "${params.rows}"},
        "success": [201, "400-404"],
        "timeout": "5s",
    }
    cluster = PlanFixture(request("a", "https://x/${params.day}", call=call), params={"day": "mon", "rows": 3}).settle()
    assert call_of(cluster, "a") == {
        "url": "https://x/mon",
        "method": "POST",
        "headers": {"Authorization": MARKED, "X-Day": "mon"},
        "json": {"day": "mon", "rows": 3},
        "success": [201, "400-404"],
        "timeout": "5s",
        "as_result": True,
    }
    assert not cluster.pods
    assert cluster.run("a").spec.image is None


@pytest.mark.parametrize("fields", [{"result": "event.status"}, {"fail_when": "true"}])
def test_an_expression_over_the_event_needs_the_whole_event(fields: Body) -> None:
    names = {"fail_when": "failWhen"}
    cluster = PlanFixture(request("a", **{names.get(name, name): value for name, value in fields.items()})).settle()
    assert call_of(cluster, "a") == {"url": "http://x/"}


def test_the_items_of_a_mapped_task_are_values_of_mapping() -> None:
    task = request("a", "http://x/${mapping.value}", expand=[{"name": "city", "over": ["rome", "oslo"]}])
    cluster = PlanFixture(task).settle()
    assert [call_of(cluster, "a", index)["url"] for index in range(2)] == ["http://x/rome", "http://x/oslo"]


def test_a_request_holds_a_slot_of_its_task_until_it_ends() -> None:
    task = request("a", expand=[{"name": "n", "over": [1, 2, 3, 4]}], maxActive=2)
    cluster = PlanFixture(task).settle()
    assert [cluster.has("a", index) for index in range(4)] == [True, True, False, False]
    cluster.end_wait("a", "1", 0)
    assert [cluster.has("a", index) for index in range(4)] == [True, True, True, False]


def test_a_wait_holds_no_slot() -> None:
    task = wait("a", kwargs={"url": "http://x/"}, expand=[{"name": "status", "over": [200, 201, 202]}])
    cluster = PlanFixture(task, parallelism=1).settle()
    assert all(cluster.has("a", index) for index in range(3))


def fail(cluster: PlanFixture, task: str, details: retry.FailureDetails) -> PlanFixture:
    """Let the request of a task fail, as the triggerer writes it."""
    run = cluster.run(task)
    patch = transitions.fail(
        run.pin(),
        run.spec.retries.policy(),
        reason=Reason.UNEXPECTED_RESPONSE,
        message="GET http://x/ answered",
        now=cluster.now,
        details=details,
    )
    cluster.api.patch(run, patch)
    return cluster.settle()


@pytest.mark.parametrize(
    ("status", "state"),
    [(503, State.UP_FOR_RETRY), (429, State.UP_FOR_RETRY), (404, State.FAILED), (None, State.FAILED)],
)
def test_retries_when_sees_the_status_of_the_response(status: int | None, state: State) -> None:
    rule = {"limit": 3, "when": "httpStatus == 429 || httpStatus >= 500"}
    cluster = PlanFixture(request("a", retries=rule)).settle()
    assert fail(cluster, "a", retry.FailureDetails(http_status=status)).state("a") is state


def test_the_next_attempt_waits_as_long_as_the_server_asks() -> None:
    cluster = PlanFixture(request("a", retries={"limit": 3, "delay": "1s"})).settle()
    fail(cluster, "a", retry.FailureDetails(http_status=503, retry_after=600.0))
    assert cluster.advance(590).state("a") is State.UP_FOR_RETRY
    assert cluster.advance(20).state("a") is State.DEFERRED
    status = cluster.run("a").status
    assert (status.attempt, status.http_status) == (2, None)


@pytest.mark.attack
@pytest.mark.parametrize(
    "call", [{"json": {"got": "${tasks.ask.result}"}}, {"headers": {"X": "${tasks.ask.result}"}}, {"body": "x"}]
)
def test_data_never_becomes_a_reference_to_a_secret(call: Body) -> None:
    url = "${tasks.ask.result}" if "body" in call else "http://x/"
    task = request("tell", url, call={"method": "POST", **call})
    cluster = PlanFixture(python("ask"), task).settle().succeed("ask", json.dumps(REFERENCE))
    assert cluster.task("tell").reason == "TriggerInvalid"
    message = cluster.task("tell").message or ""
    assert message.startswith("http: kwargs.")
    assert "contains a secretRef that is not in the Workflow" in message


def test_a_request_of_more_than_4_kb_fails_with_its_size() -> None:
    task = request("a", call={"method": "POST", "json": "${params.big}"})
    cluster = PlanFixture(task, params={"big": "x" * 5000}).settle()
    assert cluster.task("a").message == "http: the kwargs have 5062 bytes; the limit is 4096"
