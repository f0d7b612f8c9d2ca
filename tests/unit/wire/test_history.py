"""`status.history`: an entry for each transition, bounded, and none lost."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from torpor_crds.models.taskrun import parse
from torpor_wire import constants, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State
from torpor_wire.transitions import HistorySize, Patch

from tests.unit.wire.edges import CLAIM, NOW, RESUME, STAMP, WAIT, pin
from tests.unit.wire.test_walk import patched, seen, taskrun


def entry_of(patch: Patch) -> Any:
    return next(op["value"] for op in patch if op["path"] == "/status/history/-")


def test_a_claim_names_the_pod() -> None:
    patch = transitions.claim(pin(State.SCHEDULED, launch=1), CLAIM, started=None, now=NOW)
    assert entry_of(patch) == {
        "state": "Running",
        "attempt": 2,
        "segment": 3,
        "launch": 1,
        "at": STAMP,
        "pod": CLAIM.pod,
    }


def test_a_deferral_names_the_trigger() -> None:
    patch = transitions.defer(pin(State.RUNNING), WAIT, resume=RESUME, deadline=None, now=NOW)
    assert entry_of(patch) == {"state": "Deferred", "attempt": 2, "segment": 3, "at": STAMP, "trigger": "http"}


def test_a_failure_names_its_reason_and_a_retry_its_attempt() -> None:
    failed = transitions.fail(pin(State.RUNNING), retry.Policy(limit=2), reason=Reason.ERROR, message="no", now=NOW)
    assert entry_of(failed) == {"state": "UpForRetry", "attempt": 2, "segment": 3, "at": STAMP, "reason": "Error"}
    retried = transitions.retry_now(pin(State.UP_FOR_RETRY), now=NOW)
    assert entry_of(retried) == {"state": "Scheduled", "attempt": 3, "segment": 0, "at": STAMP}


def test_a_fired_trigger_and_a_new_launch_have_their_numbers() -> None:
    fired = transitions.fire(pin(State.DEFERRED), "{}", deferred=1.0, now=NOW)
    assert entry_of(fired) == {"state": "Scheduled", "attempt": 2, "segment": 4, "at": STAMP}
    again = transitions.relaunch(pin(State.RUNNING, launch=1), now=NOW)
    assert entry_of(again) == {"state": "Scheduled", "attempt": 2, "segment": 3, "launch": 2, "at": STAMP}


def test_an_explanation_is_no_entry() -> None:
    patch = transitions.explain(pin(State.SCHEDULED), reason=Reason.IMAGE_PULL_FAILED, message="no such image")
    assert not any(str(op["path"]).startswith("/status/history") for op in patch)


def test_a_nearly_full_history_is_folded_into_its_first_entry() -> None:
    full = pin(State.RUNNING)._replace(history=HistorySize(constants.HISTORY_MAX - 1, 3))
    operations = [op for op in transitions.succeed(full, None, now=NOW) if "/status/history" in str(op["path"])]
    assert [op["path"] for op in operations[:-2]] == ["/status/history/1"] * 7
    assert operations[-2] == {"op": "add", "path": "/status/history/0/count", "value": 10}
    assert operations[-1]["path"] == "/status/history/-"


def test_the_size_of_any_value_can_be_read() -> None:
    assert transitions.history_size(None) == HistorySize()
    assert transitions.history_size([]) == HistorySize()
    assert transitions.history_size([{"state": "Running"}, {}]) == HistorySize(2, 1)
    assert transitions.history_size([{"count": 9}]) == HistorySize(1, 9)
    assert transitions.history_size(["odd"]) == HistorySize(1, 1)
    assert transitions.history_size({"odd": 1}) == HistorySize()


@given(st.integers(min_value=1, max_value=60), st.integers(min_value=0, max_value=2))
def test_history_is_bounded_and_counts_every_transition(waits: int, lost: int) -> None:
    """A claim has read nothing, so it never folds; the other writers leave room for it."""
    body, written = taskrun(), list[Any]()

    def step(patch: Patch) -> None:
        nonlocal body
        body = patched(body, patch)
        written.append(entry_of(patch))
        assert len(body["status"]["history"]) <= constants.HISTORY_MAX

    for number in range(waits):
        for _ in range(lost):
            step(transitions.relaunch(seen(body), now=NOW + number))
        blind = seen(body)._replace(history=HistorySize())
        step(transitions.claim(blind, CLAIM, started=None, now=NOW + number))
        step(transitions.defer(seen(body), WAIT, resume=RESUME, deadline=None, now=NOW + number))
        step(transitions.fire(seen(body), "{}", deferred=1.0, now=NOW + number))
    history = body["status"]["history"]
    first, *others = history
    assert first.get("count", 1) + len(others) == len(written)
    assert {key: value for key, value in first.items() if key != "count"} == written[0]
    assert others == written[len(written) - len(others) :]


def test_the_controllers_keep_only_the_size() -> None:
    body = taskrun()
    body["metadata"] |= {"name": "r", "namespace": "ns"}
    body["spec"] = {"workflow": {"name": "w", "uid": "w"}, "task": "t", "image": "i", "python": "a:b"}
    body = patched(body, transitions.claim(seen(body), CLAIM, started=None, now=NOW))
    assert parse(body).status.history == HistorySize(1, 1)
    assert parse(body).pin().history == HistorySize(1, 1)
