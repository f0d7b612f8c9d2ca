"""A container task that defers: the operator stores the trigger, and the next pod gets event and state."""

import json
from typing import Any

import pytest
from torpor_operator.model.pod import parse_pod, pod_name
from torpor_operator.settings import Settings
from torpor_wire import constants, times, transitions
from torpor_wire.state import State

from tests.support.builders import NOW, Body, container
from tests.support.plan_fixture import PlanFixture

GRACE = Settings().triggerer_grace
_HTTP = {"class": "http", "kwargs": {"url": "https://example.org"}}


def written(world: PlanFixture, /, code: int = 0, **body: Any) -> PlanFixture:
    """The program of task a writes an outcome document and exits."""
    pod = world.pods[pod_name(world.run("a"))]
    message = json.dumps({"torpor": 1, "nonce": environment(world).get(constants.ENV_OUTCOME_NONCE), **body})
    state = {"terminated": {"exitCode": code, "reason": "Completed", "message": message}}
    pod["status"] = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"state": state}]}
    return world.settle()


def deferred(world: PlanFixture, **fields: Any) -> PlanFixture:
    return written(world, defer={"trigger": _HTTP, "state": {"job": 7}, **fields})


def fire(world: PlanFixture, event: str | None) -> PlanFixture:
    """The triggerer fires; no event means a timeout."""
    run = world.run("a")
    world.api.patch(run, transitions.fire(run.pin(), event, deferred=10.0, now=world.now))
    return world.settle()


def environment(world: PlanFixture) -> dict[str, str]:
    main = world.pods[pod_name(world.run("a"))]["spec"]["containers"][0]
    names = [variable["name"] for variable in main["env"]]
    assert len(names) == len(set(names))
    return {variable["name"]: variable.get("value", "") for variable in main["env"]}


def start(**fields: Any) -> PlanFixture:
    program = {"command": ["sh"], "outcome": True, **fields.pop("program", {})}
    return PlanFixture(container("a", **fields) | {"container": program}).settle()


def test_the_operator_stores_the_trigger_and_the_state() -> None:
    world = deferred(start(pod={"serviceAccountName": "mine"}), timeout="1h")
    status = world.run("a").status
    assert status.state is State.DEFERRED
    assert status.trigger is not None
    assert (status.trigger.class_name, status.trigger.kwargs) == ("http", '{"url":"https://example.org"}')
    assert status.next is not None
    assert (status.next.method, status.next.kwargs, status.next.on_timeout) == ("", '{"job":7}', None)
    assert status.deadline == times.rfc3339(NOW + 3600)
    assert world.run("a").spec.service_account == "mine"


def test_the_former_pod_has_no_finalizer_after_the_deferral_is_stored() -> None:
    world = deferred(start())
    (pod,) = map(parse_pod, world.pods.values())
    assert (pod.terminal, pod.has_finalizer) == (True, False)


def test_the_next_pod_gets_event_and_state_and_is_claimed_before_its_gate() -> None:
    world = fire(
        deferred(start()), '{"status": 200, "at": {"__type": "datetime", "__var": "2026-01-01T00:00:00+00:00"}}'
    )
    assert world.state("a") is State.RUNNING
    assert pod_name(world.run("a")).endswith("-a1-s1")
    claimed = world.run("a").status.pod
    assert claimed is not None
    assert claimed.uid == world.pods[pod_name(world.run("a"))]["metadata"]["uid"]
    env = environment(world)
    assert env[constants.ENV_PROTOCOL] == "1"
    assert env[constants.ENV_SEGMENT] == "1"
    assert env[constants.ENV_EVENT] == '{"status":200,"at":"2026-01-01T00:00:00+00:00"}'
    assert env[constants.ENV_STATE] == '{"job":7}'
    assert constants.ENV_TIMED_OUT not in env


def test_a_first_segment_has_neither_event_nor_state() -> None:
    env = environment(start())
    assert (env[constants.ENV_SEGMENT], env[constants.ENV_OUTCOME]) == ("0", "/dev/termination-log")
    assert not env.keys() & {constants.ENV_EVENT, constants.ENV_STATE, constants.ENV_TIMED_OUT, constants.ENV_DEADLINE}


def test_kubernetes_expands_nothing_in_event_and_state() -> None:
    world = fire(deferred(start(), state="$(PATH)"), '"$(HOME)"')
    env = environment(world)
    assert (env[constants.ENV_STATE], env[constants.ENV_EVENT]) == ('"$$(PATH)"', '"$$(HOME)"')


def test_it_may_defer_again_and_ends_with_its_result() -> None:
    world = fire(deferred(start(args={"n": 3})), "1")
    world = fire(deferred(world, state=2), "2")
    assert environment(world)[constants.ENV_STATE] == "2"
    assert environment(world)["n"] == "3"
    world = written(world, result={"count": 3})
    assert (world.state("a"), world.run("a").status.result) == (State.SUCCEEDED, '{"count":3}')
    states = [entry["state"] for entry in world.taskruns[world.name("a", -1)]["status"].get("history", [])]
    assert states == ["Running", "Deferred", "Scheduled", "Running", "Deferred", "Scheduled", "Running", "Succeeded"]


def test_a_retry_starts_without_event_and_state() -> None:
    world = fire(deferred(start(retries={"limit": 1, "delay": "1s", "backoff": 1})), "1")
    world = written(world, code=3, defer={"trigger": _HTTP})
    assert world.state("a") is State.UP_FOR_RETRY
    world.advance(1)
    assert pod_name(world.run("a")).endswith("-a2-s0")
    assert not environment(world).keys() & {constants.ENV_EVENT, constants.ENV_STATE}


def test_a_disrupted_segment_starts_again_with_the_same_event() -> None:
    world = fire(deferred(start()), '"now"')
    condition = {"type": "DisruptionTarget", "status": "True"}
    world.kubelet("a", {"phase": "Failed", "conditions": [condition]})
    assert pod_name(world.run("a")).endswith("-a1-s1-l1")
    assert environment(world)[constants.ENV_EVENT] == '"now"'


@pytest.mark.parametrize(("while_deferred", "left"), [(True, 7200), (False, 7210)])
def test_the_program_knows_the_deadline_of_its_attempt(while_deferred: bool, left: float) -> None:
    world = start(timeout="2h", timeoutWhileDeferred=while_deferred)
    assert environment(world)[constants.ENV_DEADLINE] == times.rfc3339(NOW + 7200)
    world = deferred(world)
    assert world.run("a").status.deadline == (times.rfc3339(NOW + 7200) if while_deferred else None)
    world.now += 10
    assert environment(fire(world, "1"))[constants.ENV_DEADLINE] == times.rfc3339(NOW + left)


def test_a_timeout_fails_the_task_by_default() -> None:
    world = deferred(start(retries={"limit": 1}), timeout="100s")
    world.advance(100 + GRACE)
    assert (world.state("a"), world.run("a").status.reason) == (State.UP_FOR_RETRY, "DeferralTimeout")


def test_a_timeout_resumes_a_program_that_asks_for_it() -> None:
    world = deferred(start(), timeout="100s", onTimeout="resume")
    world.advance(100 + GRACE)
    env = environment(world)
    assert (env[constants.ENV_SEGMENT], env[constants.ENV_TIMED_OUT]) == ("1", "true")
    assert env[constants.ENV_STATE] == '{"job":7}'
    assert constants.ENV_EVENT not in env


def test_a_later_event_is_no_timeout() -> None:
    world = fire(deferred(start(), timeout="100s", onTimeout="resume"), None)
    world = fire(deferred(world), '"in time"')
    env = environment(world)
    assert env[constants.ENV_EVENT] == '"in time"'
    assert constants.ENV_TIMED_OUT not in env


@pytest.mark.parametrize(
    ("body", "reason", "message"),
    [
        ({"defer": {}}, "DeferralInvalid", '"defer.trigger" is null'),
        ({"result": 1, "defer": {"trigger": _HTTP}}, "ResultInvalid", "write exactly one of"),
        (
            {"defer": {"trigger": {"class": "duration", "kwargs": {"duration": "soon"}}}},
            "DeferralInvalid",
            "'soon' is not a duration",
        ),
        (
            {"defer": {"trigger": {"class": "approval", "kwargs": {"approvers": 7}}}},
            "DeferralInvalid",
            "trigger approval",
        ),
        ({"fail": {"message": "no such table", "retryable": False}}, "Error", "no such table"),
    ],
)
def test_what_is_invalid_or_final_is_not_retried(body: Body, reason: str, message: str) -> None:
    world = written(start(retries={"limit": 2}), **body)
    status = world.run("a").status
    assert (status.state, status.reason) == (State.FAILED, reason)
    assert message in (status.message or "")


def test_a_failure_on_exit_0_is_retried() -> None:
    world = written(start(retries={"limit": 1}), fail={"message": "the server is busy"})
    assert world.state("a") is State.UP_FOR_RETRY
    assert world.run("a").status.message == "the server is busy"


def test_a_program_may_skip_its_task() -> None:
    world = written(start(retries={"limit": 1}), skip={"message": "no new files"})
    status = world.run("a").status
    assert (status.state, status.reason, status.message) == (State.SKIPPED, "Skipped", "no new files")


def test_a_result_may_be_in_the_archive() -> None:
    world = written(start(), archived={"size": 9000, "digest": "a" * 64, "type": "list", "length": 3})
    stored = world.run("a").status.stored
    assert world.state("a") is State.SUCCEEDED
    assert stored is not None
    assert (stored.type, stored.length) == ("list", 3)


def test_a_document_counts_only_on_exit_0() -> None:
    world = written(start(), code=1, result=7)
    assert (world.state("a"), world.run("a").status.result) == (State.FAILED, None)


def test_a_very_long_timeout_is_the_latest_deadline() -> None:
    world = deferred(start(), timeout="999999999999999999d")
    assert world.run("a").status.deadline == "9999-12-31T23:59:59.000Z"


def test_a_deferral_waits_for_no_former_pod() -> None:
    """The pod has ended before the deferral is stored, so the next one starts at once."""
    world = deferred(start())
    run = world.run("a")
    world.api.patch(run, transitions.fire(run.pin(), "1", deferred=1.0, now=world.now))
    world.apply(world.plan())
    assert pod_name(world.run("a")) in world.pods


def nonces(world: PlanFixture) -> set[str]:
    """The nonce that the program knows, and the one that the operator reads."""
    pod = world.pods[pod_name(world.run("a"))]
    return {environment(world)[constants.ENV_OUTCOME_NONCE], pod["metadata"]["annotations"][constants.OUTCOME_NONCE]}


def test_each_pod_of_a_container_has_a_nonce_of_its_own() -> None:
    world = start()
    first = nonces(world)
    assert len(first) == 1
    assert first.isdisjoint(nonces(fire(deferred(world), "1")))


@pytest.mark.attack
def test_an_answer_with_the_nonce_of_an_earlier_pod_fails_the_task() -> None:
    world = start()
    (earlier,) = nonces(world)
    world = written(fire(deferred(world), "1"), nonce=earlier, defer={"trigger": _HTTP})
    assert (world.state("a"), world.run("a").status.reason) == (State.FAILED, "ResultInvalid")


@pytest.mark.attack
@pytest.mark.parametrize("body", [{"defer": {"trigger": _HTTP}}, {"skip": {}}, {"fail": {"message": "no"}}])
def test_an_answer_is_the_result_of_a_container_without_outcome(body: Body) -> None:
    world = written(start(program={"outcome": False}), **body)
    assert world.state("a") is State.SUCCEEDED
    assert json.loads(world.run("a").status.result or "") == {"torpor": 1, "nonce": None, **body}


def test_a_container_without_outcome_has_no_variables_of_the_protocol() -> None:
    env = environment(start(program={"outcome": False}))
    assert not env.keys() & {constants.ENV_PROTOCOL, constants.ENV_OUTCOME, constants.ENV_OUTCOME_NONCE}


def test_a_deferral_may_name_the_secrets_that_the_task_lists() -> None:
    listed = [{"name": "jobs", "key": "token"}]
    call = {**_HTTP, "secrets": {"/headers/Authorization": listed[0]}}
    assert written(start(program={"triggerSecrets": listed}), defer={"trigger": call}).state("a") is State.DEFERRED
    refused = written(start(), defer={"trigger": call}).run("a").status
    assert (refused.state, refused.reason) == (State.FAILED, "DeferralInvalid")


def test_the_tools_of_a_container_include_its_outcome() -> None:
    world = written(start(program={"outcome": None, "tools": True}), result=1)
    assert (world.state("a"), world.run("a").status.result) == (State.SUCCEEDED, "1")
