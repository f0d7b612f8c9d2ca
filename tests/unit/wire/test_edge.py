"""Every transition as a patch: what it tests, sets and clears, and what a status is after it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_api.taskrun import TaskRunStatus
from torpor_wire import condition, edge, keys, retry, times, trigger
from torpor_wire.edge import Patch, Pin
from torpor_wire.reason import Reason
from torpor_wire.state import EDGES, TERMINAL, State

from tests.fake_api import json_patch

NOW = 1_700_000_000.0
STAMP = "2023-11-14T22:13:20.000Z"
CREATED = "2023-11-14T22:00:00Z"
POD = {"name": "run-load-0a1b2-a2-s3", "uid": "pod-uid", "claim": "nonce"}
CLAIM = edge.Claim("run-load-0a1b2-a2-s3", "pod-uid", "nonce")
WAIT = trigger.build("http", {"url": "a"}, namespace="ns", pool="default", now=NOW)
RESUME = {"method": "execute_complete", "kwargs": "{}"}


def pin(state: State, *, launch: int | None = None) -> Pin:
    return Pin(uid="uid", created=CREATED, state=state, attempt=2, segment=3, launch=launch)


def pinned_by(patch: Patch) -> dict[Any, Any]:
    return {op["path"]: op["value"] for op in patch if op["op"] == "test"}


def sets_of(patch: Patch) -> dict[str, Any]:
    ops = [op for op in patch if op["op"] == "add" and op["value"] is not None]
    return {str(op["path"]).removeprefix("/status/"): op["value"] for op in ops if op["path"] != "/status/conditions"}


def clears_of(patch: Patch) -> set[str]:
    return {str(op["path"]).removeprefix("/status/") for op in patch if op["op"] == "add" and op["value"] is None}


MADE: dict[str, tuple[Patch, dict[str, Any], set[str]]] = {
    "claim": (
        edge.claim(pin(State.SCHEDULED, launch=1), CLAIM, started=None, now=NOW),
        {"state": "Running", "pod": POD, "startedAt": STAMP},
        {"message", "reason"},
    ),
    "claim of a later segment": (
        edge.claim(pin(State.SCHEDULED, launch=1), CLAIM, started=CREATED, now=NOW),
        {"state": "Running", "pod": POD, "startedAt": CREATED},
        {"message", "reason"},
    ),
    "defer from a pod": (
        edge.defer(pin(State.RUNNING), WAIT, resume=RESUME, deadline=NOW + 60, now=NOW),
        {
            "state": "Deferred",
            "trigger": WAIT.on_status(),
            "next": RESUME,
            "deferredAt": STAMP,
            "deadline": "2023-11-14T22:14:20.000Z",
        },
        {"event", "message", "reason"},
    ),
    "defer without a pod": (
        edge.defer(pin(State.SCHEDULED), WAIT, resume=None, deadline=None, now=NOW),
        {"state": "Deferred", "trigger": WAIT.on_status(), "deferredAt": STAMP, "startedAt": STAMP},
        {"event", "message", "reason", "next", "deadline"},
    ),
    "fire": (
        edge.fire(pin(State.DEFERRED), '{"ok":true}', now=NOW),
        {"state": "Scheduled", "event": '{"ok":true}', "firedAt": STAMP, "segment": 4, "launch": 0},
        {"trigger", "pod", "deadline"},
    ),
    "succeed from a pod": (
        edge.succeed(pin(State.RUNNING), "42", now=NOW),
        {"state": "Succeeded", "result": "42", "completionTime": STAMP},
        {"message", "reason"},
    ),
    "succeed without a pod": (
        edge.succeed(pin(State.DEFERRED), None, now=NOW),
        {"state": "Succeeded", "completionTime": STAMP},
        {"message", "reason", "trigger", "deadline", "result"},
    ),
    "fail for good": (
        edge.fail(pin(State.RUNNING), retry.Policy(limit=1), reason=Reason.ERROR, message="no", now=NOW),
        {"state": "Failed", "reason": "Error", "message": "no", "completionTime": STAMP},
        {"trigger", "deadline"},
    ),
    "fail for now": (
        edge.fail(pin(State.DEFERRED), retry.Policy(limit=2), reason=Reason.ERROR, message="no", now=NOW),
        {"state": "UpForRetry", "reason": "Error", "message": "no", "retryAt": "2023-11-14T22:13:40.000Z"},
        {"trigger", "deadline"},
    ),
    "retry": (
        edge.retry_now(pin(State.UP_FOR_RETRY)),
        {"state": "Scheduled", "attempt": 3, "segment": 0, "launch": 0},
        {"next", "event", "pod", "message", "reason", "startedAt", "deferredAt", "firedAt", "deadline"},
    ),
    "relaunch": (
        edge.relaunch(pin(State.RUNNING, launch=1)),
        {"state": "Scheduled", "launch": 2},
        {"pod", "message", "reason"},
    ),
    "cancel": (
        edge.cancel(pin(State.DEFERRED), message="spec.cancel was set", now=NOW),
        {"state": "Cancelled", "reason": "Cancelled", "message": "spec.cancel was set", "completionTime": STAMP},
        {"trigger", "deadline"},
    ),
    "ask to cancel": (edge.ask_cancel(pin(State.DEFERRED), now=NOW), {"cancel": STAMP}, set()),
    "explain": (
        edge.explain(pin(State.SCHEDULED), reason=Reason.IMAGE_PULL_FAILED, message="no such image"),
        {"reason": "ImagePullFailed", "message": "no such image"},
        set(),
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_an_edge_sets_and_clears_what_the_design_says_and_nothing_else(name: str) -> None:
    patch, sets, clears = MADE[name]
    assert sets_of(patch) == sets
    assert clears_of(patch) == clears


@pytest.mark.parametrize("name", MADE)
def test_an_edge_begins_with_what_its_writer_saw(name: str) -> None:
    patch, _, _ = MADE[name]
    pinned = pinned_by(patch)
    state, launch = pinned.pop("/status/state"), pinned.pop("/status/launch", None)
    assert pinned == {"/metadata/uid": "uid", "/status/attempt": 2, "/status/segment": 3}
    assert state in set(State)
    assert launch == (1 if name in {"claim", "claim of a later segment", "relaunch"} else None)
    kinds = [str(op["op"]) for op in patch]
    assert kinds == sorted(kinds, reverse=True)


EDGE: dict[str, tuple[Callable[[Pin], Patch], State]] = {
    "claim": (lambda seen: edge.claim(seen, CLAIM, started=None, now=NOW), State.RUNNING),
    "defer": (lambda seen: edge.defer(seen, WAIT, resume=None, deadline=None, now=NOW), State.DEFERRED),
    "fire": (lambda seen: edge.fire(seen, "{}", now=NOW), State.SCHEDULED),
    "succeed": (lambda seen: edge.succeed(seen, None, now=NOW), State.SUCCEEDED),
    "fail": (
        lambda seen: edge.fail(seen, retry.Policy(), reason=Reason.ERROR, message="", now=NOW),
        State.FAILED,
    ),
    "fail for now": (
        lambda seen: edge.fail(seen, retry.Policy(limit=9), reason=Reason.ERROR, message="", now=NOW),
        State.UP_FOR_RETRY,
    ),
    "retry": (edge.retry_now, State.SCHEDULED),
    "relaunch": (edge.relaunch, State.SCHEDULED),
    "cancel": (lambda seen: edge.cancel(seen, message="", now=NOW), State.CANCELLED),
}


BACK = {"fire": {State.DEFERRED}, "retry": {State.UP_FOR_RETRY}, "relaunch": {State.SCHEDULED, State.RUNNING}}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("name", EDGE)
def test_an_edge_leads_only_out_of_its_own_states(name: str, state: State) -> None:
    make, to = EDGE[name]
    own = BACK.get(name) or {before for before, after in EDGES if after is to}
    if state in own:
        assert sets_of(make(pin(state)))["state"] == to
    else:
        with pytest.raises(ValueError, match="is not"):
            make(pin(state))


def test_the_edges_together_are_the_table() -> None:
    led = {(state, to) for name, (_, to) in EDGE.items() for state in State if _leads(name, state)}
    assert led == EDGES


def _leads(name: str, state: State) -> bool:
    make, _ = EDGE[name]
    try:
        make(pin(state))
    except ValueError:
        return False
    return True


def taskrun() -> dict[str, Any]:
    status = {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0}
    return {"metadata": {"uid": "uid", "creationTimestamp": CREATED}, "status": status}


def seen(body: dict[str, Any]) -> Pin:
    status = body["status"]
    numbers = status["attempt"], status["segment"], status["launch"]
    return Pin("uid", CREATED, State(status["state"]), *numbers)


def patched(body: dict[str, Any], patch: Patch) -> dict[str, Any]:
    """As the API server stores it: without nulls."""
    result: dict[str, Any] = json_patch.apply(body, patch)
    status = {name: value for name, value in result["status"].items() if value is not None}
    return result | {"status": status}


def written(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body["status"].items() if name != "conditions"}


def test_a_task_that_waits_and_is_retried_goes_through_its_states() -> None:
    body = taskrun()
    body = patched(body, edge.claim(seen(body), CLAIM, started=None, now=NOW))
    body = patched(body, edge.defer(seen(body), WAIT, resume=RESUME, deadline=NOW + 60, now=NOW))
    body = patched(body, edge.fire(seen(body), '"found"', now=NOW))
    assert written(body) == {
        "state": "Scheduled",
        "attempt": 1,
        "segment": 1,
        "launch": 0,
        "startedAt": STAMP,
        "deferredAt": STAMP,
        "firedAt": STAMP,
        "next": RESUME,
        "event": '"found"',
    }
    body = patched(body, edge.relaunch(seen(body)))
    body = patched(body, edge.claim(seen(body), CLAIM, started=STAMP, now=NOW))
    policy = retry.Policy(limit=1, delay=10)
    body = patched(body, edge.fail(seen(body), policy, reason=Reason.ERROR, message="no", now=NOW))
    body = patched(body, edge.retry_now(seen(body)))
    retried = times.rfc3339(NOW + 10)
    assert written(body) == {"state": "Scheduled", "attempt": 2, "segment": 0, "launch": 0, "retryAt": retried}
    body = patched(body, edge.claim(seen(body), CLAIM, started=None, now=NOW))
    body = patched(body, edge.succeed(seen(body), "42", now=NOW))
    assert body["status"]["conditions"] == [
        {"type": "Succeeded", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": STAMP}
    ]


def test_who_was_slower_changes_nothing() -> None:
    body = taskrun()
    slow = edge.claim(seen(body), CLAIM._replace(nonce="slow"), started=None, now=NOW)
    body = patched(body, edge.claim(seen(body), CLAIM, started=None, now=NOW))
    with pytest.raises(json_patch.PatchError):
        json_patch.apply(body, slow)


def test_a_claim_of_a_pod_that_was_disrupted_is_too_late() -> None:
    body = taskrun()
    claim = edge.claim(seen(body), CLAIM, started=None, now=NOW)
    body = patched(body, edge.relaunch(seen(body)))
    with pytest.raises(json_patch.PatchError):
        json_patch.apply(body, claim)


@given(st.lists(st.sampled_from([*EDGE, "explain", "ask to cancel"]), max_size=30))
def test_any_walk_leaves_a_status_whose_parts_agree(walk: list[str]) -> None:
    body = taskrun()
    for step in walk:
        before = seen(body)
        try:
            patch = _step(step, before)
        except ValueError:
            continue
        body = patched(body, patch)
        after, status = seen(body), body["status"]
        TaskRunStatus.model_validate(status)
        assert (before.attempt, before.segment, before.launch) <= (after.attempt, after.segment, after.launch)
        assert ("trigger" in status) == (after.state is State.DEFERRED)
        assert ("completionTime" in status) == (after.state in TERMINAL)
        assert after.state is State.DEFERRED or "deadline" not in status
        if "conditions" in status:
            completed, reason, message = (status.get(name) for name in ("completionTime", "reason", "message"))
            stands = condition.succeeded(
                after.state, created=CREATED, completed=completed, reason=reason, message=message
            )
            assert status["conditions"] == [stands]
        if step not in {"explain", "ask to cancel"}:
            with pytest.raises(json_patch.PatchError):
                json_patch.apply(body, patch)


def _step(step: str, before: Pin) -> Patch:
    match step:
        case "explain" if before.state is State.SCHEDULED:
            return edge.explain(before, reason=Reason.IMAGE_PULL_FAILED, message="no such image")
        case "ask to cancel" if before.state is State.DEFERRED:
            return edge.ask_cancel(before, now=NOW)
        case "explain" | "ask to cancel":
            raise ValueError("its state is another")
        case _:
            return EDGE[step][0](before)


@given(st.text(st.characters(), max_size=3_000))
def test_a_message_is_cut_to_its_limit_in_bytes_and_stays_text(message: str) -> None:
    short = edge.shorten(message)
    assert len(short.encode()) <= keys.MESSAGE_MAX
    assert short == message.encode(errors="replace").decode() or " ... " in short


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    short = edge.shorten("first line\n" + "x" * 5_000 + "\nValueError: the last line says it")
    assert short.startswith("first line\n")
    assert short.endswith("\nValueError: the last line says it")


def test_a_long_message_is_short_on_status_and_condition_alike() -> None:
    patch = edge.fail(pin(State.RUNNING), retry.Policy(), reason=Reason.ERROR, message="é" * 5_000, now=NOW)
    conditions: Any = next(op["value"] for op in patch if op["path"] == "/status/conditions")
    assert len(sets_of(patch)["message"].encode()) <= keys.MESSAGE_MAX
    assert conditions[0]["message"] == sets_of(patch)["message"]
