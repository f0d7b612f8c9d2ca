"""What a triggerer cannot do, even on the waits of its own pool."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from torpor.triggers.support import http_request
from torpor_crds.models import taskrun
from torpor_wire import retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.integration.conftest import collection
from tests.integration.policies.transitions.conftest import (
    POOL,
    WAIT,
    TransitionFixture,
    now,
    older_conditions,
    set_fields,
)

_FIRE: dict[str, Any] = {
    "state": "Scheduled",
    "event": "{}",
    "firedAt": "2026-01-01T00:00:00Z",
    "segment": 4,
    "launch": 0,
    "trigger": None,
    "pod": None,
}

WRITES: dict[str, tuple[dict[str, Any], str]] = {
    "a fire that skips a segment": (_FIRE | {"segment": 5}, "must add 1 to segment"),
    "a fire without a new segment": (_FIRE | {"segment": 3, "launch": 1}, "must add 1 to segment"),
    "a fire that keeps the launch": (_FIRE | {"launch": 1}, "set launch to 0"),
    "a fire without an event": (_FIRE | {"event": None}, "set event (or timedOut"),
    "a fire that keeps the pod": ({**_FIRE, "pod": {"name": "a", "uid": "b", "claim": "c"}}, "clear pod"),
    "a fire that keeps the trigger": (
        {name: value for name, value in _FIRE.items() if name != "trigger"},
        "trigger must be cleared when the TaskRun leaves Deferred",
    ),
    "a fire with a state to resume with": (_FIRE | {"next": {"method": "evil"}}, "may not change next"),
    "a fire of a new attempt": (_FIRE | {"attempt": 3}, "may not change attempt"),
    "a failure that bumps the segment": ({"state": "Failed", "segment": 4, "trigger": None}, "may not change segment"),
    "a failure with a result": ({"state": "Failed", "result": "1", "trigger": None}, "may not change result"),
    "a success that clears the pod": ({"state": "Succeeded", "pod": None, "trigger": None}, "may not change pod"),
    "another wait in place": ({"trigger": {"class": "time", "key": "k", "shard": 9}}, "may not change trigger"),
    "a later deadline": ({"deadline": "2036-01-01T00:00:00Z"}, "may not change deadline"),
    "a cancel of its own": ({"cancel": "2026-01-01T00:00:00Z"}, "may not change cancel"),
    "an event in place": ({"event": "{}"}, "may not change event"),
}


@pytest.mark.parametrize("case", WRITES)
def test_a_triggerer_is_refused(stage: TransitionFixture, case: str) -> None:
    fields, said = WRITES[case]
    patch = set_fields(**fields)
    answer = stage.server.patch_status(
        stage.namespace, State.DEFERRED.lower(), patch, token=stage.triggerer, dryRun="All"
    )
    assert answer.status == 403, answer.message
    assert said in answer.message


def test_a_triggerer_fires_and_explains(stage: TransitionFixture) -> None:
    said = older_conditions(stage, State.DEFERRED, name="deferred")
    writes: list[dict[str, Any]] = [_FIRE | {"firedAt": now()}, {"reason": "TriggerFailed", "message": "not yet"}]
    for fields in writes:
        fields["conditions"] = said
        stage.server.patch_status(
            stage.namespace, State.DEFERRED.lower(), set_fields(**fields), token=stage.triggerer, dryRun="All"
        ).expect(200)


@pytest.mark.parametrize("limit", [0, 5], ids=["the last attempt", "another attempt"])
def test_a_triggerer_reports_the_status_and_pause_of_a_server(
    stage: TransitionFixture, taskrun_of: Callable[..., str], limit: int
) -> None:
    wait = {"state": "Deferred", "trigger": WAIT, "deferredAt": now()}
    name = taskrun_of({"retries": {"limit": limit, "delay": "1s", "maxDelay": "10s"}}, **wait)
    stored = stage.server.request("GET", f"{collection('taskruns', stage.namespace)}/{name}").expect(200)
    details = retry.FailureDetails(http_status=503, retry_after=http_request.RETRY_AFTER_MAX)
    patch = transitions.fail(
        taskrun.parse(stored).pin(),
        retry.Policy(limit=limit, delay=1.0, max_delay=10.0),
        reason=Reason.UNEXPECTED_RESPONSE,
        message="503",
        now=time.time(),
        details=details,
    )
    stage.server.patch_status(stage.namespace, name, patch, token=stage.triggerer).expect(200)


def test_another_pool_is_closed(stage: TransitionFixture) -> None:
    answer = stage.server.patch_status(
        stage.namespace, State.DEFERRED.lower(), set_fields(**_FIRE), token=stage.other_pool, dryRun="All"
    )
    assert answer.status == 403
    assert f"a triggerer of pool {POOL}" in answer.message
