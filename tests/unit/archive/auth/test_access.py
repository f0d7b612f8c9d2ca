"""Access decisions, and the cache of access reviews."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest
from torpor_archive.auth import policy, reviews
from torpor_archive.auth.policy import Caller, TaskRunAccess
from torpor_archive.limits.review_rates import RequestOrigin
from torpor_kubernetes.client.api import Api
from torpor_wire.state import State

from tests.support.fake_api import VirtualClock
from tests.support.fake_api.clock import settle
from tests.unit.archive.auth.tokens import make_token

POD = Caller(
    user="system:serviceaccount:team:torpor-task",
    extra={policy.POD_UID: ("p1",), policy.POD_NAME: ("load-a1-s0",)},
)
TOKEN = make_token()
CLIENT = RequestOrigin("10.0.0.1")
TASKRUN = TaskRunAccess(uid="t1", workflow="w1", state="Running", pod_uid="p1")


def test_the_claiming_pod_may_upload_and_download() -> None:
    assert policy.check_pod(POD, "team") is None
    assert policy.check_put_result(POD, "load", TASKRUN) is None
    assert policy.check_get_result(POD, "load", TASKRUN, "w1") is None


@pytest.mark.parametrize(
    "caller",
    [
        replace(POD, extra={}),
        replace(POD, extra={policy.POD_UID: ()}),
        replace(POD, user="system:serviceaccount:other:torpor-task"),
        replace(POD, user="team"),
    ],
)
def test_a_caller_that_is_no_pod_of_the_namespace_is_refused(caller: Caller) -> None:
    refused = policy.check_pod(caller, "team")
    assert refused is not None
    assert refused.status == 403


@pytest.mark.parametrize("state", [state for state in State if state is not State.RUNNING] + [""])
def test_uploading_a_result_requires_running(state: str) -> None:
    refused = policy.check_put_result(POD, "load", replace(TASKRUN, state=state))
    assert refused is not None
    assert state in refused.message


@pytest.mark.parametrize("taskrun", [replace(TASKRUN, pod_uid="p2"), replace(TASKRUN, pod_uid="")])
def test_another_pod_may_neither_upload_nor_download(taskrun: TaskRunAccess) -> None:
    assert policy.check_put_result(POD, "load", taskrun) is not None
    assert policy.check_get_result(POD, "load", taskrun, "w1") is not None


def test_an_empty_pod_uid_matches_no_taskrun() -> None:
    unbound = replace(POD, extra={policy.POD_UID: ("",)})
    assert policy.check_put_result(unbound, "load", replace(TASKRUN, pod_uid="")) is not None


def test_a_pod_of_another_workflow_may_not_download() -> None:
    assert policy.check_get_result(POD, "load", TASKRUN, "w2") is not None


def test_a_caller_is_parsed_from_a_token_review() -> None:
    user = {"username": POD.user, "uid": "u", "groups": ["a"], "extra": {policy.POD_UID: ["p1"]}}
    caller = policy.parse_caller({"authenticated": True, "user": user})
    assert caller == Caller(user=POD.user, uid="u", groups=("a",), extra={policy.POD_UID: ("p1",)})
    for review in ({}, {"authenticated": False, "user": user}, {"authenticated": "true", "user": user}):
        assert policy.parse_caller(review) is None


def test_an_unclaimed_taskrun_has_no_pod_uid() -> None:
    taskrun = {"metadata": {"uid": "t"}, "spec": {"workflow": {"uid": "w"}}, "status": {"state": "Scheduled"}}
    assert policy.parse_taskrun(taskrun) == TaskRunAccess(uid="t", workflow="w", state="Scheduled", pod_uid="")


@pytest.mark.parametrize("state", [state for state in State if state is not State.DEFERRED] + [""])
def test_uploading_an_event_requires_deferred(state: str) -> None:
    assert policy.check_put_event("load", replace(TASKRUN, state="Deferred")) is None
    refused = policy.check_put_event("load", replace(TASKRUN, state=state))
    assert refused is not None
    assert state in refused.message


def test_a_source_of_a_schedule_may_not_upload() -> None:
    spec = {"schedule": {"name": "nightly", "uid": "s"}}
    taskrun = policy.parse_taskrun({"metadata": {"uid": "t"}, "spec": spec, "status": {"state": "Deferred"}})
    assert taskrun.workflow == ""
    refused = policy.check_put_event("load", taskrun)
    assert refused is not None
    assert "does not belong to a Workflow" in refused.message


def test_a_taskrun_without_a_pool_uses_the_default_pool() -> None:
    spec = {"workflow": {"uid": "w"}}
    assert policy.parse_taskrun({"metadata": {"uid": "u"}, "spec": spec}).pool == "default"
    assert policy.parse_taskrun({"metadata": {"uid": "u"}, "spec": spec | {"triggerPool": "gpu"}}).pool == "gpu"


class ReviewingApi:
    """Allows every request, and records the names of the created reviews and of the TaskRuns read."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.reviewed: list[str] = []
        self.read: list[str] = []

    async def create(self, _resource: object, _namespace: None, body: dict[str, Any]) -> dict[str, Any]:
        self.reviewed.append(body["spec"].get("token", body["kind"]))
        return {"status": {"authenticated": True, "allowed": True, "user": {"username": POD.user}}}

    async def get(self, _resource: object, _namespace: str, name: str) -> dict[str, Any]:
        self.read.append(name)
        status = {"state": "Running", "pod": {"uid": "p1"}}
        return {"metadata": {"uid": "t1"}, "spec": {"workflow": {"uid": "w1"}}, "status": status}


async def test_reviews_are_cached_for_some_seconds() -> None:
    api = ReviewingApi()
    access = reviews.AccessReviews(cast("Api", api))
    for _ in range(2):
        assert (await access.authenticate(TOKEN, CLIENT)).user == POD.user
        assert await access.is_allowed(POD, "get", "workflows", "team")
    assert api.reviewed == [TOKEN, "SubjectAccessReview"]
    await api.clock.advance(reviews.CACHE_SECONDS + 1)
    await access.authenticate(TOKEN, CLIENT)
    assert await access.is_allowed(POD, "get", "workflows", "team")
    assert len(api.reviewed) == 4


async def test_what_an_authorizer_may_decide_by_tells_callers_apart() -> None:
    api = ReviewingApi()
    access = reviews.AccessReviews(cast("Api", api))
    callers = [
        Caller(user="ann", groups=("a", "b")),
        Caller(user="ann", groups=("a",)),
        Caller(user="ann", groups=("a", "b"), uid="u"),
        Caller(user="ann", groups=("a", "b"), extra={"scopes": ("read",)}),
        Caller(user="ann", groups=("a", "b"), extra={"scopes": ("write",)}),
    ]
    for caller in (*callers, *callers):
        assert await access.is_allowed(caller, "get", "workflows", "team")
    assert len(api.reviewed) == len(callers)


@pytest.mark.attack
async def test_refused_reviews_of_a_namespace_leave_places_to_others() -> None:
    api, answer = ReviewingApi(), asyncio.Event()

    async def create(_resource: object, _namespace: None, body: dict[str, Any]) -> dict[str, Any]:
        api.reviewed.append(body["spec"]["user"])
        if body["spec"]["user"] == "eve":
            await answer.wait()
        return {"status": {"allowed": body["spec"]["user"] != "eve"}}

    api.create = create  # type: ignore[method-assign]
    access = reviews.AccessReviews(cast("Api", api))
    eve, ann = Caller(user="eve"), Caller(user="ann")
    refused = [asyncio.create_task(access.is_allowed(eve, "get", "workflows", f"n{number}")) for number in range(40)]
    await settle()
    assert api.reviewed.count("eve") == reviews.ACCESS_REVIEWS_LIMITS.per_namespace
    assert await access.is_allowed(ann, "get", "workflows", "team")
    answer.set()
    assert not any(await asyncio.gather(*refused))


async def test_a_cached_taskrun_serves_its_claiming_pod_only() -> None:
    api = ReviewingApi()
    access = reviews.AccessReviews(cast("Api", api))
    assert await access.get_taskrun("team", "load") == await access.get_recent_taskrun("team", "load", POD)
    assert api.read == ["load"]
    await access.get_recent_taskrun("team", "load", replace(POD, extra={policy.POD_UID: ("p2",)}))
    assert api.read == ["load", "load"]


FILES = replace(TASKRUN, outputs=frozenset({"table"}), expected_pod="load-a1-s0")
SCHEDULED = replace(FILES, state="Scheduled", pod_uid="")


@pytest.mark.attack
def test_a_pod_stores_only_the_files_of_its_task() -> None:
    assert policy.check_put_file(POD, "load", "table", FILES) is None
    for taskrun, file in (
        (FILES, "other"),
        (TASKRUN, "table"),
        (replace(FILES, pod_uid="p2"), "table"),
        (replace(FILES, state="Succeeded"), "table"),
        (SCHEDULED, "table"),
    ):
        assert policy.check_put_file(POD, "load", file, taskrun) is not None


@pytest.mark.attack
def test_a_pod_reads_files_before_its_claim_only_as_the_next_pod() -> None:
    assert policy.check_get_file(POD, "load", SCHEDULED, "w1") is None
    assert policy.check_get_file(POD, "load", FILES, "w1") is None
    for taskrun in (
        replace(SCHEDULED, expected_pod="load-a1-s0-l1"),
        replace(SCHEDULED, expected_pod=""),
        replace(SCHEDULED, pod_uid="p2"),
        replace(SCHEDULED, state="Succeeded"),
        replace(SCHEDULED, workflow="w2"),
        replace(FILES, pod_uid="p2"),
    ):
        assert policy.check_get_file(POD, "load", taskrun, "w1") is not None
    unnamed = replace(POD, extra={policy.POD_UID: ("p1",)})
    assert policy.check_get_file(unnamed, "load", replace(SCHEDULED, expected_pod=""), "w1") is not None


def test_the_outputs_and_the_next_pod_are_parsed_from_a_taskrun() -> None:
    spec = {"workflow": {"uid": "w"}, "files": {"out": [{"name": "a", "path": "/a"}]}}
    status = {"state": "Scheduled", "attempt": 2, "segment": 1, "launch": 3}
    parsed = policy.parse_taskrun({"metadata": {"uid": "t", "name": "load"}, "spec": spec, "status": status})
    assert (parsed.outputs, parsed.expected_pod) == (frozenset({"a"}), "load-a2-s1-l3")
