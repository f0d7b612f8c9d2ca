"""What a task pod cannot do with its own token."""

from collections.abc import Callable
from typing import Any

import pytest
from torpor_wire.state import State

from tests.integration.conftest import collection
from tests.integration.policies.transitions.conftest import (
    TransitionFixture,
    create_pod,
    now,
    older_conditions,
    set_fields,
)

_TRIGGER = {"class": "time", "kwargs": "{}", "key": "k", "shard": 0, "waitsFor": "time"}
HASH = "sha256:0123456789abcdef"
_DEFERRAL = {"state": "Deferred", "trigger": _TRIGGER, "next": {"method": "m"}}


def mine(stage: TransitionFixture, state: State) -> dict[str, Any]:
    metadata = stage.pods[state]["metadata"]
    return {"name": metadata["name"], "uid": metadata["uid"], "claim": "word"}


def try_fields(stage: TransitionFixture, at: State, token: str, /, **fields: Any) -> tuple[int, str]:
    patch = set_fields(**fields)
    answer = stage.server.patch_status(stage.namespace, at.lower(), patch, token=token, dryRun="All")
    return answer.status, answer.message


CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "without a uid": ({"uid": None}, "its own uid"),
    "with another's uid": ({"uid": "another"}, "its own uid"),
    "with another's name": ({"name": "another"}, "the pod's own name"),
    "without a word of its own": ({"claim": None}, "a nonce"),
    "with an empty word": ({"claim": ""}, "a nonce"),
    "with a source that the task does not have": ({"source": HASH}, "only if the task has a source"),
}


@pytest.mark.parametrize("case", CLAIMS)
def test_a_claim_is_refused(stage: TransitionFixture, case: str) -> None:
    change, said = CLAIMS[case]
    pod = mine(stage, State.SCHEDULED) | change
    status, message = try_fields(stage, State.SCHEDULED, stage.pod(State.SCHEDULED), state="Running", pod=pod)
    assert status == 403, message
    assert said in message


def test_a_segment_that_another_pod_has_is_not_claimed(
    stage: TransitionFixture, taskrun_of: Callable[..., str]
) -> None:
    name = taskrun_of(pod={"name": "x", "uid": "another", "claim": "c"})
    pod = create_pod(stage.server, stage.namespace, f"{name}-a1-s0")
    token = stage.server.token(stage.namespace, "torpor-task", pod=pod)
    claim = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "word"}
    answer = stage.server.patch_status(stage.namespace, name, set_fields(state="Running", pod=claim), token=token)
    assert answer.status == 403
    assert "the segment must be unclaimed or claimed by this pod" in answer.message


@pytest.mark.parametrize(
    ("source", "status", "said"),
    [(HASH, 200, ""), (None, 200, ""), ("sha256:0123", 422, "status.pod.source"), ("x" * 23, 422, "status.pod.source")],
)
def test_a_claim_has_the_hash_of_the_source(
    stage: TransitionFixture, taskrun_of: Callable[..., str], source: str | None, status: int, said: str
) -> None:
    name = taskrun_of({"source": {"configMap": "etl"}})
    pod = create_pod(stage.server, stage.namespace, f"{name}-a1-s0")
    token = stage.server.token(stage.namespace, "torpor-task", pod=pod)
    claim = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "word", "source": source}
    said_of = older_conditions(stage, State.RUNNING, name=name)
    patch = set_fields(state="Running", pod=claim, startedAt=now(), conditions=said_of)
    answer = stage.server.patch_status(stage.namespace, name, patch, token=token)
    assert answer.status == status, answer.message
    assert said in answer.message


def test_a_later_segment_keeps_when_the_attempt_began(stage: TransitionFixture, taskrun_of: Callable[..., str]) -> None:
    name = taskrun_of(startedAt="2026-01-01T00:00:00Z")
    pod = create_pod(stage.server, stage.namespace, f"{name}-a1-s0")
    token = stage.server.token(stage.namespace, "torpor-task", pod=pod)
    claim = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "word"}
    said = older_conditions(stage, State.RUNNING, name=name)
    for started, status in (("2026-01-02T00:00:00Z", 403), ("2026-01-01T00:00:00Z", 200)):
        patch = set_fields(state="Running", pod=claim, startedAt=started, conditions=said)
        answer = stage.server.patch_status(stage.namespace, name, patch, token=token)
        assert answer.status == status, answer.message
        assert status == 200 or "startedAt is set by the first claim of an attempt" in answer.message


@pytest.mark.parametrize("name", ["running-a2-s3", "running-a2-s3-l2", "running-a1-s3-l1", "running-a2-s2-l1", "other"])
def test_a_pod_of_other_numbers_is_a_stranger(stage: TransitionFixture, name: str) -> None:
    pod = create_pod(stage.server, stage.namespace, name)
    token = stage.server.token(stage.namespace, "torpor-task", pod=pod)
    status, message = try_fields(stage, State.RUNNING, token, state="Succeeded")
    assert status == 403
    assert "the pod running-a2-s3-l1 may write the status of this TaskRun" in message


def test_a_pod_made_anew_under_the_same_name_may_not_report(
    stage: TransitionFixture, taskrun_of: Callable[..., str]
) -> None:
    name = taskrun_of()
    stage.server.patch_status(
        stage.namespace, name, set_fields(state="Running", pod={"name": f"{name}-a1-s0", "uid": "first", "claim": "c"})
    ).expect(200)
    pod = create_pod(stage.server, stage.namespace, f"{name}-a1-s0")
    token = stage.server.token(stage.namespace, "torpor-task", pod=pod)
    answer = stage.server.patch_status(stage.namespace, name, set_fields(state="Succeeded"), token=token)
    assert answer.status == 403
    assert "only the pod that claimed this segment" in answer.message


def test_a_pod_of_another_namespace_is_a_stranger(stage: TransitionFixture, open_namespace: Callable[[], str]) -> None:
    elsewhere = open_namespace()
    subject = {"kind": "ServiceAccount", "name": "torpor-task", "namespace": elsewhere}
    stage.server.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "a-mistake", "namespace": stage.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "torpor-task"},
            "subjects": [subject],
        }
    )
    pod = create_pod(stage.server, elsewhere, stage.pods[State.SCHEDULED]["metadata"]["name"])
    token = stage.server.token(elsewhere, "torpor-task", pod=pod)
    claim = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "word"}
    status, message = try_fields(stage, State.SCHEDULED, token, state="Running", pod=claim)
    assert status == 403
    assert "torpor-status" in message


REPORTS: dict[str, tuple[dict[str, Any], str]] = {
    "a word without a transition": ({"message": "hello"}, "may not change state Running to Running"),
    "a bumped attempt": (
        {"state": "Succeeded", "attempt": 3},
        "may not change attempt in the transition Running to Succeeded",
    ),
    "a bumped segment": (_DEFERRAL | {"segment": 4}, "may not change segment"),
    "a bumped launch": ({"state": "Failed", "launch": 2}, "may not change launch"),
    "another's pod": ({"state": "Succeeded", "pod": {"name": "a", "uid": "b", "claim": "c"}}, "may not change pod"),
    "no pod": ({"state": "Succeeded", "pod": None}, "may not change pod"),
    "an event of its own": (_DEFERRAL | {"event": "{}"}, "a deferral must set trigger and clear event"),
    "a wait for nothing": ({"state": "Deferred"}, "a deferral must set trigger"),
    "a fire's time": (_DEFERRAL | {"firedAt": "2026-01-01T00:00:00Z"}, "may not change firedAt"),
    "a cancel": ({"state": "Failed", "cancel": "2026-01-01T00:00:00Z"}, "may not change cancel"),
    "a result of what failed": ({"state": "Failed", "result": "1"}, "may not change result"),
    "a trigger of what succeeded": ({"state": "Succeeded", "trigger": _TRIGGER}, "may not change trigger"),
    "its own cancellation": ({"state": "Cancelled"}, "may not change state Running to Cancelled"),
    "its own relaunch": ({"state": "Scheduled", "launch": 2}, "may not change state Running to Scheduled"),
}


@pytest.mark.parametrize("case", REPORTS)
def test_a_report_is_refused(stage: TransitionFixture, case: str) -> None:
    fields, said = REPORTS[case]
    status, message = try_fields(stage, State.RUNNING, stage.pod(State.RUNNING), **fields)
    assert status == 403, message
    assert said in message


def test_a_retry_beyond_the_limit_is_refused(stage: TransitionFixture, taskrun_of: Callable[..., str]) -> None:
    name = taskrun_of(attempt=6)
    pod = create_pod(stage.server, stage.namespace, f"{name}-a6-s0")
    token = stage.server.token(stage.namespace, "torpor-task", pod=pod)
    claim = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "word"}
    claimed = set_fields(
        state="Running", pod=claim, startedAt=now(), conditions=older_conditions(stage, State.RUNNING, name=name)
    )
    stage.server.patch_status(stage.namespace, name, claimed, token=token).expect(200)
    answer = stage.server.patch_status(stage.namespace, name, set_fields(state="UpForRetry"), token=token)
    assert answer.status == 403
    assert "attempt 6 is the last one that spec.retries.limit 5 allows" in answer.message


def test_a_pod_reads_taskruns_of_its_namespace_and_nothing_else(stage: TransitionFixture) -> None:
    token = stage.pod(State.RUNNING)
    taskruns = collection("taskruns", stage.namespace)

    def status(method: str, path: str, body: object = None) -> int:
        content_type = "application/json-patch+json" if method == "PATCH" else "application/json"
        return stage.server.request(method, path, body, token=token, content_type=content_type).status

    assert status("GET", f"{taskruns}/running") == 200
    assert status("GET", f"{collection('taskruns', 'default')}/any") == 403
    assert status("GET", taskruns) == 403
    assert status("DELETE", f"{taskruns}/running") == 403
    assert status("PATCH", f"{taskruns}/running", [{"op": "add", "path": "/metadata/labels", "value": {}}]) == 403
    assert status("POST", taskruns, {}) == 403
    for plural in ("pods", "secrets", "configmaps", "workflows"):
        assert status("GET", collection(plural, stage.namespace)) == 403
        assert status("GET", f"{collection(plural, stage.namespace)}/any") == 403
    path = f"/api/v1/namespaces/{stage.namespace}/serviceaccounts/torpor-task/token"
    assert status("POST", path, {"spec": {}}) == 403
