"""Who may do what, over every way in which who asks and the TaskRun may fail to fit."""

from dataclasses import replace

import pytest
from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller, Standing
from torpor_wire.state import State

POD = Caller(
    user="system:serviceaccount:team:torpor-task",
    extra={policy.POD_UID: ("p1",), policy.POD_NAME: ("load-a1-s0",)},
)
STANDS = Standing(uid="t1", workflow="w1", state="Running", pod_uid="p1")


def test_the_pod_that_has_claimed_puts_and_reads() -> None:
    assert policy.may_ask(POD, "team") is None
    assert policy.may_write(POD, "load", STANDS) is None
    assert policy.may_read(POD, "load", STANDS, "w1") is None


@pytest.mark.parametrize(
    "who",
    [
        replace(POD, extra={}),
        replace(POD, extra={policy.POD_UID: ()}),
        replace(POD, user="system:serviceaccount:other:torpor-task"),
        replace(POD, user="team"),
    ],
)
def test_who_is_no_pod_of_the_namespace_asks_for_nothing(who: Caller) -> None:
    refused = policy.may_ask(who, "team")
    assert refused is not None
    assert refused.status == 403


@pytest.mark.parametrize("state", [state for state in State if state is not State.RUNNING] + [""])
def test_a_result_is_put_in_no_other_state(state: str) -> None:
    refused = policy.may_write(POD, "load", replace(STANDS, state=state))
    assert refused is not None
    assert state in refused.message


@pytest.mark.parametrize("stands", [replace(STANDS, pod_uid="p2"), replace(STANDS, pod_uid="")])
def test_another_pod_neither_puts_nor_reads(stands: Standing) -> None:
    assert policy.may_write(POD, "load", stands) is not None
    assert policy.may_read(POD, "load", stands, "w1") is not None


def test_no_uid_is_nobodys() -> None:
    nobody = replace(POD, extra={policy.POD_UID: ("",)})
    assert policy.may_write(nobody, "load", replace(STANDS, pod_uid="")) is not None


def test_another_workflow_does_not_read() -> None:
    assert policy.may_read(POD, "load", STANDS, "w2") is not None


def test_a_caller_is_what_the_review_says() -> None:
    user = {"username": POD.user, "uid": "u", "groups": ["a"], "extra": {policy.POD_UID: ["p1"]}}
    found = policy.caller({"authenticated": True, "user": user})
    assert found == Caller(user=POD.user, uid="u", groups=("a",), extra={policy.POD_UID: ("p1",)})
    for review in ({}, {"authenticated": False, "user": user}, {"authenticated": "true", "user": user}):
        assert policy.caller(review) is None


def test_a_taskrun_that_nobody_has_claimed_is_no_pods() -> None:
    taskrun = {"metadata": {"uid": "t"}, "spec": {"workflow": {"uid": "w"}}, "status": {"state": "Scheduled"}}
    assert policy.standing(taskrun) == Standing(uid="t", workflow="w", state="Scheduled", pod_uid="")


@pytest.mark.parametrize("state", [state for state in State if state is not State.DEFERRED] + [""])
def test_an_event_is_put_while_the_taskrun_is_deferred_and_in_no_other_state(state: str) -> None:
    assert policy.may_end("load", replace(STANDS, state="Deferred")) is None
    refused = policy.may_end("load", replace(STANDS, state=state))
    assert refused is not None
    assert state in refused.message


def test_a_taskrun_that_names_no_pool_is_of_the_default_one() -> None:
    spec = {"workflow": {"uid": "w"}}
    assert policy.standing({"metadata": {"uid": "u"}, "spec": spec}).pool == "default"
    assert policy.standing({"metadata": {"uid": "u"}, "spec": spec | {"triggerPool": "gpu"}}).pool == "gpu"
