"""Walks over the edges: what a status is after each, and that its parts agree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_crds.models.taskrun import TaskRunStatus
from torpor_local.apiserver import json_patch
from torpor_wire import retry, times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State, succeeded_condition
from torpor_wire.transitions import Patch, Pin

from tests.unit.wire.edges import CLAIM, CREATED, EDGE, NOW, RESUME, STAMP, WAIT


def taskrun() -> dict[str, Any]:
    status = {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0, "history": []}
    return {"metadata": {"uid": "uid", "creationTimestamp": CREATED}, "status": status}


def seen(body: dict[str, Any]) -> Pin:
    status = body["status"]
    numbers = status["attempt"], status["segment"], status["launch"]
    size = transitions.history_size(status.get("history"))
    return Pin("uid", CREATED, State(status["state"]), *numbers, history=size)


def patched(body: dict[str, Any], patch: Patch) -> dict[str, Any]:
    """As the API server stores it: without nulls."""
    result: dict[str, Any] = json_patch.apply(body, patch)
    status = {name: value for name, value in result["status"].items() if value is not None}
    return result | {"status": status}


def written(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body["status"].items() if name not in {"conditions", "history"}}


def test_a_task_that_waits_and_is_retried_goes_through_its_states() -> None:
    body = taskrun()
    body = patched(body, transitions.claim(seen(body), CLAIM, started=None, now=NOW))
    body = patched(body, transitions.defer(seen(body), WAIT, resume=RESUME, deadline=NOW + 60, now=NOW))
    body = patched(body, transitions.fire(seen(body), '"found"', deferred=1.0, now=NOW))
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
        "deferredSeconds": 1.0,
    }
    body = patched(body, transitions.relaunch(seen(body), now=NOW))
    body = patched(body, transitions.claim(seen(body), CLAIM, started=STAMP, now=NOW))
    policy = retry.Policy(limit=1, delay=10, backoff=1)
    body = patched(body, transitions.fail(seen(body), policy, reason=Reason.ERROR, message="no", now=NOW))
    body = patched(body, transitions.retry_now(seen(body), now=NOW))
    retried = times.rfc3339(NOW + 10)
    assert written(body) == {"state": "Scheduled", "attempt": 2, "segment": 0, "launch": 0, "retryAt": retried}
    body = patched(body, transitions.claim(seen(body), CLAIM, started=None, now=NOW))
    body = patched(body, transitions.succeed(seen(body), "42", now=NOW))
    assert body["status"]["conditions"] == [
        {"type": "Succeeded", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": STAMP}
    ]


def test_who_was_slower_changes_nothing() -> None:
    body = taskrun()
    slow = transitions.claim(seen(body), CLAIM._replace(nonce="slow"), started=None, now=NOW)
    body = patched(body, transitions.claim(seen(body), CLAIM, started=None, now=NOW))
    with pytest.raises(json_patch.PatchError):
        json_patch.apply(body, slow)


def test_a_claim_of_a_pod_that_was_disrupted_is_too_late() -> None:
    body = taskrun()
    claim = transitions.claim(seen(body), CLAIM, started=None, now=NOW)
    body = patched(body, transitions.relaunch(seen(body), now=NOW))
    with pytest.raises(json_patch.PatchError):
        json_patch.apply(body, claim)


@given(st.lists(st.sampled_from([*EDGE, "explain", "ask to cancel"]), max_size=30))
def test_any_sequence_of_transitions_leaves_a_consistent_status(walk: list[str]) -> None:
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
        assert ("conditions" in status) == (after.state in TERMINAL)
        if after.state in TERMINAL:
            completed, reason, message = (status.get(name) for name in ("completionTime", "reason", "message"))
            condition = succeeded_condition(after.state, completed=str(completed), reason=reason, message=message)
            assert status["conditions"] == [condition]
        if step not in {"explain", "ask to cancel"}:
            with pytest.raises(json_patch.PatchError):
                json_patch.apply(body, patch)


def _step(step: str, before: Pin) -> Patch:
    match step:
        case "explain" if before.state in {State.SCHEDULED, State.RUNNING}:
            return transitions.explain(before, reason=Reason.IMAGE_PULL_FAILED, message="no such image")
        case "ask to cancel" if before.state is State.DEFERRED:
            return transitions.ask_cancel(before, now=NOW)
        case "explain" | "ask to cancel":
            raise ValueError("its state is another")
        case _:
            return EDGE[step][0](before)
