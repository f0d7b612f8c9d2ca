"""The ServiceAccount of a task: which tasks may have it, and who gets its token by `pod.serviceAccountToken`."""

from typing import Any

import pytest
from torpor_operator.model.actions import ReadAccount
from torpor_operator.model.pod import pod_name
from torpor_operator.model.snapshot import AccountUse
from torpor_wire.state import State

from tests.support.builders import NAMESPACE, Body, container, python
from tests.support.plan_fixture import PlanFixture

_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_ASKED: Body = {"serviceAccountName": "deployer", "serviceAccountToken": True}
_OTHERS: Body = {
    "initContainers": [{"name": "fetch", "image": "fetch:1"}],
    "sidecars": [{"name": "db", "image": "postgres:18"}],
}


def _spec(task: Body) -> Body:
    world = PlanFixture(task).settle()
    spec: Body = world.pods[pod_name(world.run("a"))]["spec"]
    return spec


def _has_token(container_: Body) -> bool:
    return any(mount["mountPath"] == _FOLDER for mount in container_.get("volumeMounts", []))


@pytest.mark.parametrize("kind", [container, python])
def test_a_task_that_asks_gets_a_token_of_its_account(kind: Any) -> None:
    spec = _spec(kind("a", pod=_ASKED))
    assert spec["serviceAccountName"] == "deployer"
    assert _has_token(spec["containers"][0])
    (volume,) = [each for each in spec["volumes"] if each["name"] == "torpor-account-token"]
    token, certificate, namespace = volume["projected"]["sources"]
    assert token == {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
    assert certificate["configMap"]["name"] == "kube-root-ca.crt"
    assert namespace["downwardAPI"]["items"][0]["path"] == "namespace"


def test_each_step_of_a_container_task_gets_it() -> None:
    steps = [{"name": "plan", "command": ["plan"]}, {"name": "apply", "command": ["apply"]}]
    spec = _spec({"name": "a", "container": {"steps": steps}, "pod": _ASKED})
    assert [_has_token(each) for each in (*spec["initContainers"], *spec["containers"])] == [True, True]


@pytest.mark.attack
@pytest.mark.parametrize(
    "pod",
    [{}, {"serviceAccountName": "deployer"}, {"serviceAccountToken": True}, {**_ASKED, "serviceAccountToken": False}],
    ids=["nothing", "only an account", "only a token", "no token"],
)
def test_a_container_without_both_fields_has_no_token(pod: Body) -> None:
    spec = _spec(container("a", pod=pod))
    assert spec["automountServiceAccountToken"] is False
    assert not _has_token(spec["containers"][0])
    sources = [
        source for volume in spec.get("volumes", []) for source in volume.get("projected", {}).get("sources", [])
    ]
    assert not any("serviceAccountToken" in source for source in sources)


@pytest.mark.attack
@pytest.mark.parametrize("kind", [container, python])
def test_init_containers_and_sidecars_never_get_it(kind: Any) -> None:
    spec = _spec(kind("a", pod={**_ASKED, **_OTHERS}))
    assert spec["automountServiceAccountToken"] is False
    others = [each for each in spec["initContainers"] if each["name"] in {"fetch", "db"}]
    assert [_has_token(each) for each in others] == [False, False]


def _launched(task: Body, use: AccountUse | None = None) -> PlanFixture:
    world = PlanFixture(task)
    world.api.accounts = {} if use is None else {task["pod"]["serviceAccountName"]: use}
    return world.settle()


@pytest.mark.attack
@pytest.mark.parametrize("kind", [container, python])
@pytest.mark.parametrize("pod", [{"serviceAccountName": "deployer"}, _ASKED], ids=["account", "token"])
@pytest.mark.parametrize(
    ("use", "words"),
    [
        (
            AccountUse.NOT_ALLOWED,
            (
                "ServiceAccount deployer may not be used by tasks: its owner can allow it with kubectl annotate "
                "serviceaccount deployer -n ns torpor.dev/tokens=allowed"
            ),
        ),
        (AccountUse.NO_ACCOUNT, "ServiceAccount deployer does not exist in namespace ns"),
    ],
    ids=["not allowed", "no account"],
)
def test_a_task_gets_no_account_that_its_owner_did_not_allow(kind: Any, pod: Body, use: AccountUse, words: str) -> None:
    world = _launched(kind("a", pod=pod, retries={"limit": 3}), use)
    status = world.run("a").status
    assert (status.state, status.reason, status.message) == (State.FAILED, "Forbidden", words)
    assert world.pods == {}


@pytest.mark.attack
def test_a_mark_that_is_withdrawn_holds_for_the_next_attempt() -> None:
    world = _launched(python("a", pod=_ASKED, retries={"limit": 3, "delay": "1s"}))
    world.claim("a")
    world.api.accounts = {"deployer": AccountUse.NOT_ALLOWED}
    world.report_failure("a")
    world.advance(60)
    assert world.run("a").status.reason == "Forbidden"
    assert len(world.pods) == 1


@pytest.mark.parametrize("pod", [{}, {"serviceAccountName": "torpor-task"}], ids=["none", "by name"])
def test_the_account_of_all_tasks_needs_no_mark(pod: Body) -> None:
    world = _launched(python("a", pod=pod))
    assert world.run("a").status.state is State.SCHEDULED
    assert ReadAccount(NAMESPACE, "torpor-task") not in world.api.confirmed


@pytest.mark.attack
def test_a_token_of_the_account_of_all_tasks_needs_the_mark() -> None:
    world = _launched(container("a", pod={**_ASKED, "serviceAccountName": "torpor-task"}), AccountUse.NOT_ALLOWED)
    assert (world.run("a").status.reason, world.pods) == ("Forbidden", {})
