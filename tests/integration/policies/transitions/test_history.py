"""`status.history` grows by the entry of each transition, for every writer."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from torpor_crds.models import taskrun
from torpor_wire import constants, times, transitions
from torpor_wire.state import State

from tests.integration.conftest import collection
from tests.integration.policies.transitions.conftest import TransitionFixture, create_pod, now, set_fields

Patch = list[dict[str, Any]]


def read(stage: TransitionFixture, name: str) -> taskrun.TaskRun:
    path = f"{collection('taskruns', stage.namespace)}/{name}"
    return taskrun.parse(stage.server.request("GET", path).expect(200))


def history(stage: TransitionFixture, name: str) -> list[dict[str, Any]]:
    path = f"{collection('taskruns', stage.namespace)}/{name}"
    history: list[dict[str, Any]] = stage.server.request("GET", path).expect(200)["status"]["history"]
    return history


def relaunch(stage: TransitionFixture, name: str, times_: int) -> None:
    """Append an entry so many times, as the operator."""
    for _ in range(times_):
        patch = transitions.relaunch(read(stage, name).pin(launch=True), now=time.time())
        stage.server.patch_status(stage.namespace, name, patch, token=stage.operator).expect(200)


def with_history(patch: transitions.Patch, *operations: dict[str, Any]) -> Patch:
    kept = [op for op in patch if not str(op["path"]).startswith("/status/history")]
    return [*kept, *operations]


def append(**entry: Any) -> dict[str, Any]:
    return {"op": "add", "path": "/status/history/-", "value": entry}


def test_a_new_taskrun_has_an_empty_history(stage: TransitionFixture, taskrun_of: Callable[..., str]) -> None:
    assert history(stage, taskrun_of()) == []


def test_a_full_history_is_folded_and_stays_bounded(stage: TransitionFixture, taskrun_of: Callable[..., str]) -> None:
    name = taskrun_of()
    relaunch(stage, name, constants.HISTORY_MAX + 8)
    first, *others = history(stage, name)
    assert first["count"] + len(others) == constants.HISTORY_MAX + 8
    assert [entry["launch"] for entry in others] == list(range(others[0]["launch"], constants.HISTORY_MAX + 9))
    assert first["launch"] == 1


def success(stage: TransitionFixture, name: str) -> transitions.Patch:
    return transitions.succeed(read(stage, name).pin(launch=True), None, now=time.time())


CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "another state": ([append(state="Failed", attempt=2, segment=3, at=now())], "can only grow"),
    "another attempt": ([append(state="Succeeded", attempt=1, segment=3, at=now())], "can only grow"),
    "another segment": ([append(state="Succeeded", attempt=2, segment=9, at=now())], "can only grow"),
    "another launch": ([append(state="Succeeded", attempt=2, segment=3, launch=7, at=now())], "can only grow"),
    "an invented reason": ([append(state="Succeeded", attempt=2, segment=3, reason="Lost", at=now())], "can only grow"),
    "a count": ([append(state="Succeeded", attempt=2, segment=3, count=9, at=now())], "can only grow"),
    "a pod that did not claim": ([append(state="Succeeded", attempt=2, segment=3, pod="x", at=now())], "can only grow"),
    "an old time": ([append(state="Succeeded", attempt=2, segment=3, at="2020-01-01T00:00:00Z")], "clock"),
    "two entries": ([append(state="Succeeded", attempt=2, segment=3, at=now())] * 2, "can only grow"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pod_cannot_append_what_did_not_happen(stage: TransitionFixture, case: str) -> None:
    operations, message = CASES[case]
    patch = with_history(success(stage, "running"), *operations)
    token = stage.pod(State.RUNNING)
    answer = stage.server.patch_status(stage.namespace, "running", patch, token=token, dryRun="All")
    assert (answer.status, message in answer.message) == (403, True), answer.message


def test_a_pod_appends_its_own_entry(stage: TransitionFixture) -> None:
    patch = success(stage, "running")
    token = stage.pod(State.RUNNING)
    stage.server.patch_status(stage.namespace, "running", patch, token=token, dryRun="All").expect(200)


@pytest.mark.parametrize("writer", ["pod", "operator"])
@pytest.mark.parametrize("change", ["removes an entry", "changes an entry", "empties it", "folds too early"])
def test_no_writer_changes_former_entries(
    stage: TransitionFixture, taskrun_of: Callable[..., str], writer: str, change: str
) -> None:
    name = taskrun_of()
    relaunch(stage, name, 3)
    pod = create_pod(stage.server, stage.namespace, f"{name}-a1-s0-l3")
    token = stage.server.token(stage.namespace, "torpor-task", pod=pod)
    claimant = transitions.Claim(pod["metadata"]["name"], pod["metadata"]["uid"], "word")
    claim = transitions.claim(read(stage, name).pin(launch=True), claimant, started=None, now=time.time())
    extra: dict[str, list[dict[str, Any]]] = {
        "removes an entry": [{"op": "remove", "path": "/status/history/0"}],
        "changes an entry": [{"op": "replace", "path": "/status/history/1/state", "value": "Failed"}],
        "empties it": [{"op": "add", "path": "/status/history", "value": []}],
        "folds too early": [
            {"op": "remove", "path": "/status/history/1"},
            {"op": "add", "path": "/status/history/0/count", "value": 2},
        ],
    }
    patch = [*claim, *extra[change]]
    chosen = stage.operator if writer == "operator" else token
    answer = stage.server.patch_status(stage.namespace, name, patch, token=chosen)
    assert (answer.status, "can only grow" in answer.message) == (403, True), answer.message


@pytest.mark.parametrize("kept", [22, 24])
def test_a_fold_keeps_the_number_of_entries_that_the_contract_names(
    stage: TransitionFixture, taskrun_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    name = taskrun_of()
    relaunch(stage, name, constants.HISTORY_MAX - 1)
    monkeypatch.setattr(constants, "HISTORY_KEPT", kept)
    patch = transitions.relaunch(read(stage, name).pin(launch=True), now=time.time())
    answer = stage.server.patch_status(stage.namespace, name, patch, token=stage.operator)
    assert answer.status == (200 if kept == 24 else 403), answer.message


def test_a_writer_of_an_older_version_appends_nothing(stage: TransitionFixture) -> None:
    patch = with_history(success(stage, "running"))
    token = stage.pod(State.RUNNING)
    stage.server.patch_status(stage.namespace, "running", patch, token=token, dryRun="All").expect(200)


def test_a_message_is_no_transition(stage: TransitionFixture) -> None:
    patch = [*set_fields(message="it waits"), append(state="Deferred", attempt=2, segment=3, at=times.rfc3339(0))]
    answer = stage.server.patch_status(stage.namespace, "deferred", patch, token=stage.triggerer, dryRun="All")
    assert answer.status == 403
