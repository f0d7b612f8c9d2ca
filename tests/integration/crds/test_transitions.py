"""The state machine, as the API server holds every writer to it, an administrator included."""

from collections.abc import Callable
from typing import Any

import pytest
from torpor_wire.state import EDGES, MARK_EDGES, TERMINAL, State

from tests.integration.conftest import Server
from tests.support.manifests import manifest

_PATHS: dict[State, tuple[State, ...]] = {
    State.SCHEDULED: (),
    State.RUNNING: (State.RUNNING,),
    State.DEFERRED: (State.DEFERRED,),
    State.UP_FOR_RETRY: (State.RUNNING, State.UP_FOR_RETRY),
    State.SUCCEEDED: (State.RUNNING, State.SUCCEEDED),
    State.FAILED: (State.FAILED,),
    State.SKIPPED: (State.RUNNING, State.SKIPPED),
    State.CANCELLED: (State.CANCELLED,),
}

_TRIGGER = {"class": "time", "kwargs": "{}", "key": "k", "shard": 1}


def set_fields(**fields: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in fields.items()]


@pytest.fixture(scope="module")
def standing(server: Server, open_namespace: Callable[[], str]) -> str:
    """A namespace with one TaskRun in each state, named after it, at attempt 2, segment 3, launch 1 where not final."""
    namespace = open_namespace()
    for state, path in _PATHS.items():
        name = state.lower()
        spec = {
            "workflow": {"name": "run", "uid": "u"},
            "task": "task",
            "image": "x",
            "container": {"command": ["run"], "outcome": True},
        }
        body = manifest("TaskRun", name, spec)
        server.create("taskruns", namespace, body).expect(201)
        server.patch_status(namespace, name, set_fields(attempt=2, segment=3, launch=1)).expect(200)
        for step in path:
            server.patch_status(namespace, name, set_fields(state=step)).expect(200)
    return namespace


@pytest.mark.parametrize("new", State)
@pytest.mark.parametrize("old", State)
def test_only_the_legal_edges_can_be_written(server: Server, standing: str, old: State, new: State) -> None:
    fields = {"state": new} | ({"trigger": _TRIGGER} if new is State.DEFERRED else {})
    answer = server.patch_status(standing, old.lower(), set_fields(**fields), dryRun="All")
    if old == new or (old, new) in EDGES - MARK_EDGES:
        answer.expect(200)
    else:
        assert answer.status == 422
        assert answer.causes
        assert old in answer.message


_STORED = {"size": 9000, "digest": "0" * 64, "type": "list", "length": 3}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"result": "1"}, ""),
        ({"stored": _STORED}, ""),
        ({"stored": {**_STORED, "type": "object", "keys": '["' + "k" * 16_000 + '"]'}}, ""),
        ({"result": "1", "stored": _STORED}, "not both"),
        ({"stored": {**_STORED, "type": "pickle"}}, "status.stored.type"),
        ({"stored": {"type": "list", "length": 3}}, "status.stored.digest"),
    ],
)
def test_a_result_is_on_the_taskrun_or_in_the_archive(
    server: Server, standing: str, fields: dict[str, Any], said: str
) -> None:
    answer = server.patch_status(standing, "running", set_fields(state=State.SUCCEEDED, **fields), dryRun="All")
    assert answer.status == (422 if said else 200), answer.message
    assert said in answer.message


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_a_finished_taskrun_does_not_change(server: Server, standing: str, state: State) -> None:
    answer = server.patch_status(standing, state.lower(), set_fields(message="on second thought"), dryRun="All")
    assert answer.status == 422
    assert "clear the task to run it again" in answer.message


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"attempt": 3, "segment": 0, "launch": 0}, True),
        ({"segment": 4, "launch": 0}, True),
        ({"launch": 2}, True),
        ({"attempt": 1}, False),
        ({"segment": 2}, False),
        ({"launch": 0}, False),
        ({"attempt": 1, "segment": 9, "launch": 9}, False),
    ],
)
def test_counters_grow_within_what_they_count(
    server: Server, standing: str, fields: dict[str, int], allowed: bool
) -> None:
    answer = server.patch_status(standing, "scheduled", set_fields(**fields), dryRun="All")
    assert answer.status == (200 if allowed else 422), answer.message
    assert allowed or "cannot decrease" in answer.message
