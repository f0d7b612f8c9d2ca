"""Every transition as a patch: what it tests, sets and clears, and what a status is after it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import constants, retry, text, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import EDGES, TERMINAL, State
from torpor_wire.transitions import Patch

from tests.unit.wire.edges import CLAIM, CREATED, EDGE, NOW, POD, RESUME, STAMP, WAIT, pin


def pinned_by(patch: Patch) -> dict[Any, Any]:
    return {op["path"]: op["value"] for op in patch if op["op"] == "test"}


def sets_of(patch: Patch) -> dict[str, Any]:
    ops = [op for op in patch if op["op"] == "add" and op["value"] is not None]
    sets = {str(op["path"]).removeprefix("/status/"): op["value"] for op in ops}
    return {path: value for path, value in sets.items() if path != "conditions" and not path.startswith("history/")}


def clears_of(patch: Patch) -> set[str]:
    cleared = {str(op["path"]).removeprefix("/status/") for op in patch if op["op"] == "add" and op["value"] is None}
    return cleared - {"conditions"}


MADE: dict[str, tuple[Patch, dict[str, Any], set[str]]] = {
    "claim": (
        transitions.claim(pin(State.SCHEDULED, launch=1), CLAIM, started=None, now=NOW),
        {"state": "Running", "pod": POD, "startedAt": STAMP},
        {"message", "reason"},
    ),
    "claim of a later segment": (
        transitions.claim(pin(State.SCHEDULED, launch=1), CLAIM, started=CREATED, now=NOW),
        {"state": "Running", "pod": POD, "startedAt": CREATED},
        {"message", "reason"},
    ),
    "defer from a pod": (
        transitions.defer(pin(State.RUNNING), WAIT, resume=RESUME, deadline=NOW + 60, now=NOW),
        {
            "state": "Deferred",
            "trigger": WAIT.on_status(),
            "next": RESUME,
            "deferredAt": STAMP,
            "deadline": "2023-11-14T22:14:20.000Z",
        },
        {"event", "timedOut", "message", "reason"},
    ),
    "defer without a pod": (
        transitions.defer(pin(State.SCHEDULED), WAIT, resume=None, deadline=None, now=NOW),
        {"state": "Deferred", "trigger": WAIT.on_status(), "deferredAt": STAMP, "startedAt": STAMP},
        {"event", "timedOut", "message", "reason", "next", "deadline"},
    ),
    "fire": (
        transitions.fire(pin(State.DEFERRED), '{"ok":true}', deferred=1.0, now=NOW),
        {
            "state": "Scheduled",
            "event": '{"ok":true}',
            "firedAt": STAMP,
            "segment": 4,
            "launch": 0,
            "deferredSeconds": 1.0,
        },
        {"trigger", "pod", "deadline", "message", "reason"},
    ),
    "fire without an event": (
        transitions.fire(pin(State.DEFERRED), None, deferred=2.25, now=NOW),
        {
            "state": "Scheduled",
            "timedOut": True,
            "firedAt": STAMP,
            "segment": 4,
            "launch": 0,
            "deferredSeconds": 2.25,
        },
        {"event", "trigger", "pod", "deadline", "message", "reason"},
    ),
    "succeed from a pod": (
        transitions.succeed(pin(State.RUNNING), "42", now=NOW),
        {"state": "Succeeded", "result": "42", "completionTime": STAMP, "duration": "13m20s"},
        {"message", "reason"},
    ),
    "succeed with a result in the archive": (
        transitions.succeed(pin(State.RUNNING), None, now=NOW, stored={"size": 9000}),
        {"state": "Succeeded", "stored": {"size": 9000}, "completionTime": STAMP, "duration": "13m20s"},
        {"message", "reason", "result"},
    ),
    "succeed without a pod": (
        transitions.succeed(pin(State.DEFERRED), None, now=NOW),
        {"state": "Succeeded", "completionTime": STAMP, "duration": "13m20s"},
        {"message", "reason", "trigger", "deadline", "result"},
    ),
    "fail for good": (
        transitions.fail(pin(State.RUNNING), retry.Policy(limit=1), reason=Reason.ERROR, message="no", now=NOW),
        {"state": "Failed", "reason": "Error", "message": "no", "completionTime": STAMP, "duration": "13m20s"},
        {"trigger", "deadline"},
    ),
    "fail with what the trigger said": (
        transitions.fail(pin(State.DEFERRED), retry.Policy(), reason=Reason.ERROR, message="no", log="a line", now=NOW),
        {
            "state": "Failed",
            "reason": "Error",
            "message": "no",
            "log": "a line",
            "completionTime": STAMP,
            "duration": "13m20s",
        },
        {"trigger", "deadline"},
    ),
    "fail for now": (
        transitions.fail(
            pin(State.DEFERRED), retry.Policy(limit=2, backoff=1), reason=Reason.ERROR, message="no", now=NOW
        ),
        {"state": "UpForRetry", "reason": "Error", "message": "no", "retryAt": "2023-11-14T22:13:30.000Z"},
        {"trigger", "deadline"},
    ),
    "skip": (
        transitions.skip(pin(State.RUNNING), message="no file today", now=NOW),
        {
            "state": "Skipped",
            "reason": "Skipped",
            "message": "no file today",
            "completionTime": STAMP,
            "duration": "13m20s",
        },
        {"trigger", "deadline"},
    ),
    "retry": (
        transitions.retry_now(pin(State.UP_FOR_RETRY), now=NOW),
        {"state": "Scheduled", "attempt": 3, "segment": 0, "launch": 0},
        {"next", "event", "pod", "message", "reason", "log", "exception", "exitCode", "httpStatus"}
        | {"startedAt", "deferredAt", "deferredSeconds", "firedAt", "timedOut", "deadline"},
    ),
    "end retries": (
        transitions.end_retries(pin(State.UP_FOR_RETRY), reason="Error", message="no", now=NOW),
        {"state": "Failed", "reason": "Error", "message": "no", "completionTime": STAMP, "duration": "13m20s"},
        {"retryAt"},
    ),
    "fail with details": (
        transitions.fail(
            pin(State.RUNNING),
            retry.Policy(),
            reason=Reason.ERROR,
            message="",
            now=NOW,
            details=retry.FailureDetails("m.E\n", 3),
        ),
        {
            "state": "Failed",
            "reason": "Error",
            "message": "",
            "exception": "m.E\\n",
            "exitCode": 3,
            "completionTime": STAMP,
            "duration": "13m20s",
        },
        {"trigger", "deadline"},
    ),
    "relaunch": (
        transitions.relaunch(pin(State.RUNNING, launch=1), now=NOW),
        {"state": "Scheduled", "launch": 2},
        {"pod", "message", "reason"},
    ),
    "cancel": (
        transitions.cancel(pin(State.DEFERRED), message="spec.cancel was set", now=NOW),
        {
            "state": "Cancelled",
            "reason": "Cancelled",
            "message": "spec.cancel was set",
            "completionTime": STAMP,
            "duration": "13m20s",
        },
        {"trigger", "deadline"},
    ),
    "ask to cancel": (transitions.ask_cancel(pin(State.DEFERRED), now=NOW), {"cancel": STAMP}, set()),
    "explain": (
        transitions.explain(pin(State.SCHEDULED), reason=Reason.IMAGE_PULL_FAILED, message="no such image"),
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


BACK = {
    "fire": {State.DEFERRED},
    "retry": {State.UP_FOR_RETRY},
    "end retries": {State.UP_FOR_RETRY},
    "relaunch": {State.SCHEDULED, State.RUNNING},
    "succeed": {State.SCHEDULED, State.RUNNING, State.DEFERRED},
    "skip": {State.RUNNING, State.DEFERRED},
    "mark": {State.SCHEDULED},
    "mark well": {State.SCHEDULED},
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("name", EDGE)
def test_an_edge_leads_only_out_of_its_own_states(name: str, state: State) -> None:
    make, to = EDGE[name]
    own = BACK.get(name) or {before for before, after in EDGES if after is to}
    if state in own:
        assert sets_of(make(pin(state)))["state"] == to
    else:
        with pytest.raises(ValueError, match="not"):
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


@given(st.text(st.characters(), max_size=3_000))
def test_a_message_is_cut_to_its_limit_in_bytes_and_stays_text(message: str) -> None:
    short = transitions.shorten(message)
    assert len(short.encode()) <= constants.MESSAGE_MAX
    assert short == text.printable(message) or " ... " in short


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    short = transitions.shorten("first line\n" + "x" * 5_000 + "\nValueError: the last line says it")
    assert short.startswith("first line\n")
    assert short.endswith("\nValueError: the last line says it")


def test_a_long_message_is_short_on_status_and_condition_alike() -> None:
    patch = transitions.fail(pin(State.RUNNING), retry.Policy(), reason=Reason.ERROR, message="é" * 5_000, now=NOW)
    conditions: Any = next(op["value"] for op in patch if op["path"] == "/status/conditions")
    assert len(sets_of(patch)["message"].encode()) <= constants.MESSAGE_MAX
    assert conditions[0]["message"] == sets_of(patch)["message"]


@pytest.mark.parametrize("case", MADE)
def test_only_a_transition_to_the_end_writes_a_condition(case: str) -> None:
    values = {str(op["path"]): op["value"] for op in MADE[case][0] if op["op"] == "add"}
    assert (values.get("/status/conditions") is not None) is (values.get("/status/state") in TERMINAL)


def test_a_result_is_stored_in_one_place() -> None:
    with pytest.raises(ValueError, match="not both"):
        transitions.succeed(pin(State.RUNNING), "42", now=NOW, stored={"size": 9000})
