"""`pod.serviceAccountToken`: who gets the token of the task's ServiceAccount, and where it is."""

from typing import Any

import pytest
from torpor_operator.model.pod import pod_name

from tests.support.builders import Body, container, python
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
