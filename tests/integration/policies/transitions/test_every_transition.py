"""Every pair of states and every writer, with the patch of the real writer, compared with the wire contract."""

import time
from typing import cast

import pytest
from torpor_crds.models import taskrun
from torpor_wire import retry, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import EDGES as ALL_EDGES
from torpor_wire.state import MARK_EDGES, POD_EDGES, TERMINAL, TRIGGERER_EDGES, State

from tests.integration.policies.transitions.conftest import TransitionFixture, set_fields

EDGES = ALL_EDGES - MARK_EDGES
"""Those of a TaskRun that is not marked: test_marks.py has the others."""
_OWN = {
    "operator": EDGES - {(State.RUNNING, State.DEFERRED)},  # of a python task; test_operator.py has containers
    "pod": POD_EDGES,
    "triggerer": TRIGGERER_EDGES | {(State.DEFERRED, State.DEFERRED)},
    "another pool's triggerer": frozenset[tuple[State, State]](),
    "stranger": frozenset[tuple[State, State]](),
    "unbound token": frozenset[tuple[State, State]](),
}


@pytest.mark.parametrize("who", _OWN)
@pytest.mark.parametrize("old", State)
def test_each_writer_can_make_exactly_its_own_transitions(stage: TransitionFixture, who: str, old: State) -> None:
    token = _token(stage, who, old)
    for new in State:
        answer = stage.server.patch_status(
            stage.namespace, old.lower(), _patch(stage, old, new), token=token, dryRun="All"
        )
        said = f"{old} -> {new}: {answer.status} {answer.message}"
        assert answer.status == _expected(who, old, new), said
        if answer.status == 403:
            assert "torpor-status" in answer.message, said


def _expected(who: str, old: State, new: State) -> int:
    if (old, new) not in EDGES and (old != new or old in TERMINAL):
        return 422
    in_place = old == new and (old, new) not in EDGES
    return 200 if (old, new) in _OWN[who] or (in_place and who == "operator") else 403


def _token(stage: TransitionFixture, who: str, state: State) -> str:
    match who:
        case "operator":
            return stage.operator
        case "pod":
            return stage.pod(state)
        case "triggerer":
            return stage.triggerer
        case "another pool's triggerer":
            return stage.other_pool
        case "stranger":
            return stage.stranger
        case _:
            return stage.unbound


def _patch(stage: TransitionFixture, old: State, new: State) -> transitions.Patch:  # noqa: C901 - a case an edge
    now = time.time()
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{stage.namespace}/taskruns/{old.lower()}"
    pin = taskrun.parse(stage.server.request("GET", path).expect(200)).pin(launch=True)
    if (old, new) not in EDGES and old == new:
        return transitions.explain(pin, reason=Reason.WAITING, message="a word")
    if (old, new) not in EDGES:
        return cast("transitions.Patch", set_fields(state=new, message="a word"))
    match new:
        case State.RUNNING:
            pod = stage.pods[old]["metadata"]
            return transitions.claim(pin, transitions.Claim(pod["name"], pod["uid"], "word"), started=None, now=now)
        case State.DEFERRED:
            wait = trigger.build("time", {"at": "2030-01-01T00:00:00Z"}, namespace="a", pool="b", now=now)
            return transitions.defer(pin, wait, resume={"method": "m", "kwargs": "{}"}, deadline=now, now=now)
        case State.SCHEDULED:
            return _to_scheduled(pin, old)
        case State.SUCCEEDED:
            return transitions.succeed(pin, '"well"', now=now)
        case State.UP_FOR_RETRY:
            return transitions.fail(pin, retry.Policy(limit=5), reason=Reason.ERROR, message="no", now=now)
        case State.FAILED:
            return transitions.fail(pin, retry.Policy(), reason=Reason.ERROR, message="no", now=now)
        case State.SKIPPED:
            return transitions.skip(pin, message="no", now=now)
        case State.CANCELLED:
            return transitions.cancel(pin, message="no", now=now)


def _to_scheduled(pin: transitions.Pin, old: State) -> transitions.Patch:
    match old:
        case State.DEFERRED:
            return transitions.fire(pin, '{"at": 1}', deferred=1.0, now=time.time())
        case State.UP_FOR_RETRY:
            return transitions.retry_now(pin, now=time.time())
        case _:
            return transitions.relaunch(pin, now=time.time())
