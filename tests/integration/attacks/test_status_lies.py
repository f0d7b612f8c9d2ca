"""A task pod or a triggerer that lies in the status of its own TaskRun: an end that is none, a date that never was.

Each write is one that the API server took before: `kubectl wait` believed it, or an older wait lost its place by it.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest
from torpor_wire import retry, times, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import CONDITION_STATUS, State, succeeded_condition

from tests.integration.conftest import Answer, Server, collection
from tests.integration.policies.transitions.conftest import TransitionFixture, set_up

_LONG_AGO, _FAR_OFF = times.epoch("1970-01-01T00:00:01Z"), times.epoch("2090-01-01T00:00:00Z")
_WAIT = trigger.build("time", {"at": "2030-01-01T00:00:00Z"}, namespace="a", pool="b", now=0.0)


@pytest.fixture(scope="module")
def liar(server: Server, open_namespace: Callable[[], str]) -> TransitionFixture:
    """Everybody's tokens; what they try is tried as a dry run."""
    return set_up(server, open_namespace())


def try_patch(liar: TransitionFixture, state: State, patch: transitions.Patch, **query: str) -> Answer:
    token = liar.triggerer if state is State.DEFERRED else liar.pod(state)
    return liar.server.patch_status(liar.namespace, state.lower(), patch, token=token, dryRun="All", **query)


def pin(liar: TransitionFixture, state: State) -> transitions.Pin:
    path = f"{collection('taskruns', liar.namespace)}/{state.lower()}"
    metadata = liar.server.request("GET", path).expect(200)["metadata"]
    return transitions.Pin(metadata["uid"], metadata["creationTimestamp"], state, 2, 3, 1)


def claim(liar: TransitionFixture, now: float) -> transitions.Patch:
    pod = liar.pods[State.SCHEDULED]["metadata"]
    return transitions.claim(
        pin(liar, State.SCHEDULED), transitions.Claim(pod["name"], pod["uid"], "word"), started=None, now=now
    )


def defer(liar: TransitionFixture, now: float) -> transitions.Patch:
    return transitions.defer(pin(liar, State.RUNNING), _WAIT, resume={"method": "m"}, deadline=now + 60, now=now)


def fail(liar: TransitionFixture, now: float, limit: int = 0, state: State = State.RUNNING) -> transitions.Patch:
    return transitions.fail(pin(liar, state), retry.Policy(limit), reason=Reason.ERROR, message="no", now=now)


WRITES: dict[str, tuple[State, Callable[[TransitionFixture, float], transitions.Patch]]] = {
    "a pod's claim": (State.SCHEDULED, claim),
    "a pod's deferral": (State.RUNNING, defer),
    "a pod's success": (State.RUNNING, lambda liar, now: transitions.succeed(pin(liar, State.RUNNING), "1", now=now)),
    "a pod's failure": (State.RUNNING, fail),
    "a pod's retry": (State.RUNNING, lambda liar, now: fail(liar, now, 5)),
    "a triggerer's fire": (
        State.DEFERRED,
        lambda liar, now: transitions.fire(pin(liar, State.DEFERRED), "{}", deferred=1.0, now=now),
    ),
    "a triggerer's success": (
        State.DEFERRED,
        lambda liar, now: transitions.succeed(pin(liar, State.DEFERRED), "1", now=now),
    ),
    "a triggerer's retry": (State.DEFERRED, lambda liar, now: fail(liar, now, 5, State.DEFERRED)),
    "a triggerer's cancel": (
        State.DEFERRED,
        lambda liar, now: transitions.cancel(pin(liar, State.DEFERRED), message="no", now=now),
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_a_moment_far_from_the_api_servers_clock_is_refused(liar: TransitionFixture, case: str) -> None:
    state, write = WRITES[case]
    try_patch(liar, state, write(liar, time.time())).expect(200)
    for moment in (_LONG_AGO, time.time() - 3_600, time.time() + 7_200, _FAR_OFF):
        answer = try_patch(liar, state, write(liar, moment))
        assert answer.status == 403, f"{times.rfc3339(moment)}: {answer.message}"
        assert "of the clock of the API server" in answer.message


@pytest.mark.parametrize("case", WRITES)
def test_a_moment_that_is_left_out_is_refused(liar: TransitionFixture, case: str) -> None:
    state, write = WRITES[case]
    moments = {
        "/status/startedAt",
        "/status/deferredAt",
        "/status/firedAt",
        "/status/completionTime",
        "/status/retryAt",
    }
    patch = [operation for operation in write(liar, time.time()) if operation["path"] not in moments]
    answer = try_patch(liar, state, patch)
    assert answer.status == 403, answer.message


@pytest.mark.parametrize("status", ["True", "Unknown"])
@pytest.mark.parametrize("who", ["pod", "operator"])
def test_no_writer_reports_a_failure_that_kubectl_wait_takes_for_success(
    liar: TransitionFixture, who: str, status: str
) -> None:
    patch = fail(liar, time.time())
    conditions: Any = next(operation["value"] for operation in patch if operation["path"] == "/status/conditions")
    conditions[0]["status"] = status
    token = liar.operator if who == "operator" else liar.pod(State.RUNNING)
    answer = liar.server.patch_status(liar.namespace, "running", patch, token=token, dryRun="All")
    assert answer.status == 422
    assert "the condition Succeeded of a TaskRun in state Failed must be False" in answer.message


@pytest.mark.parametrize("state", [state for state in State if state not in CONDITION_STATUS])
def test_what_has_not_ended_is_not_called_a_success(liar: TransitionFixture, state: State) -> None:
    """Also by who may write everything: the rule is the kind's own."""
    said = succeeded_condition(State.SUCCEEDED, completed="2026-01-01T00:00:00Z", reason=None, message="")
    patch: transitions.Patch = [{"op": "add", "path": "/status/conditions", "value": [said]}]
    answer = liar.server.patch_status(liar.namespace, state.lower(), patch, dryRun="All")
    assert answer.status == 422
    assert "must be Unknown" in answer.message


CONDITIONS: dict[str, Any] = {
    "none": [],
    "one of another name": {"type": "Complete", "status": "True"},
    "one that is dated long ago": {"lastTransitionTime": "1970-01-01T00:00:00Z"},
    "one that is dated far off": {"lastTransitionTime": "2090-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_report_has_the_condition_of_its_state_and_no_other(liar: TransitionFixture, case: str) -> None:
    patch = fail(liar, time.time())
    entry = next(operation for operation in patch if operation["path"] == "/status/conditions")
    conditions: Any = entry["value"]
    change = CONDITIONS[case]
    entry["value"] = [conditions[0] | change] if change else []
    answer = try_patch(liar, State.RUNNING, patch)
    assert answer.status == 403, answer.message
    assert "with lastTransitionTime = completionTime" in answer.message


def test_a_deadline_before_the_taskrun_was_made_is_refused(liar: TransitionFixture) -> None:
    now = time.time()
    patch = transitions.defer(pin(liar, State.RUNNING), _WAIT, resume={"method": "m"}, deadline=_LONG_AGO, now=now)
    assert "deadline is before the creation of the TaskRun" in try_patch(liar, State.RUNNING, patch).message


def forged(**fields: Any) -> dict[str, Any]:
    """An entry of managedFields as the API server writes them, of the year 2090."""
    return {
        "manager": "torpor",
        "operation": "Update",
        "apiVersion": "torpor.dev/v1alpha1",
        "time": "2090-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {}},
        "subresource": "status",
    } | fields


FORGERIES = {
    "its own entry": [forged()],
    "its own entry twice": [forged(), forged()],
    "an entry of server-side apply": [forged(operation="Apply")],
    "an entry of another version": [forged(apiVersion="torpor.dev/v9")],
    "an entry of another subresource": [forged(subresource="")],
    "an entry of another writer": [forged(manager="another")],
    "an entry for single fields": [forged(fieldsV1={"f:status": {"f:attempt": {}, "f:segment": {}, "f:launch": {}}})],
    "no entry at all": [{}],
}


@pytest.mark.parametrize("case", FORGERIES)
def test_the_moment_of_a_write_cannot_be_forged_with_managed_fields(liar: TransitionFixture, case: str) -> None:
    entries: Any = FORGERIES[case]
    forgery: transitions.Patch = [{"op": "add", "path": "/metadata/managedFields", "value": entries}]
    for moment in (_LONG_AGO, _FAR_OFF):
        answer = try_patch(liar, State.RUNNING, [*forgery, *fail(liar, moment)])
        assert answer.status == 403, answer.message


def test_a_write_that_does_not_name_its_field_manager_is_refused(liar: TransitionFixture) -> None:
    answer = try_patch(liar, State.RUNNING, fail(liar, time.time()), fieldManager="")
    assert answer.status == 403
    assert "names a fieldManager" in answer.message


def test_server_side_apply_cannot_borrow_the_moment_of_an_earlier_write(
    liar: TransitionFixture, server: Server, open_namespace: Callable[[], str]
) -> None:
    path = f"{collection('taskruns', liar.namespace)}/running/status"
    status = server.request("GET", path).expect(200)["status"]
    status |= {"state": "Failed", "completionTime": times.rfc3339(_FAR_OFF)}
    body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "TaskRun", "metadata": {"name": "running"}, "status": status}
    answer = server.request(
        "PATCH",
        path,
        body,
        token=liar.pod(State.RUNNING),
        content_type="application/apply-patch+yaml",
        fieldManager="torpor",
        force="true",
        dryRun="All",
    )
    assert answer.status == 403, answer.message
