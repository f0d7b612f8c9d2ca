"""The pod of a task, compared with golden files, and the fields that are read from a pod.

After an intended change, run `TORPOR_GOLDEN=write pytest tests/unit/torpor_operator/taskrun/test_pod_builder.py`
and review the diff.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_operator.model.pod import Pod, owner_uids, parse_pod

from tests.support.builders import Body, python
from tests.support.plan_fixture import PlanFixture

GOLDEN = Path(__file__).parent / "golden"
CHOSEN = {
    "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    "env": [{"name": "MODE", "value": "fast"}],
    "envFrom": [{"secretRef": {"name": "database"}}],
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    "serviceAccountName": "loader",
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"disk": "fast"},
    "labels": {"team": "data"},
    "annotations": {"example.org/note": "text"},
}


SOURCE = {"configMap": "etl"}


def first() -> PlanFixture:
    return PlanFixture(python("load", args={"day": "today"}), runtime="Image").settle()


def resumed() -> PlanFixture:
    world = PlanFixture(python("load", expand=[{"name": "path", "over": ["a"]}]), runtime="Image").settle()
    return world.defer("load", 0).fire("load", 0).kubelet("load", {"phase": "Failed", "reason": "Evicted"}, 0)


def container() -> PlanFixture:
    program = {"command": ["sh", "-c"], "args": ["wc -l $(path)"]}
    world = PlanFixture({"name": "count", "container": program, "args": {"path": "/data", "n": [1]}})
    for _ in range(2):
        world.apply(world.plan())
    return world


def container_with_tools() -> PlanFixture:
    """The folder is copied by an init container, because its program must be executable."""
    world = PlanFixture({"name": "count", "container": {"command": ["sh"], "tools": True}})
    world.api.archive = ArchiveEndpoint(url="https://archive:8443", certificate="pem")
    world.image_volumes = True
    for _ in range(2):
        world.apply(world.plan())
    return world


def chosen() -> PlanFixture:
    return PlanFixture(python("load", pod=CHOSEN), runtime="Image").settle()


def injected() -> PlanFixture:
    """By an init container, with all fields that a task can choose."""
    return PlanFixture(python("load", pod=CHOSEN, source=SOURCE)).settle()


def injected_volume() -> PlanFixture:
    world = PlanFixture(python("load"))
    world.image_volumes = True
    return world.settle()


CASES = [first, resumed, container, container_with_tools, chosen, injected, injected_volume]


def test_tools_without_an_archive_need_no_token() -> None:
    world = PlanFixture({"name": "count", "container": {"command": ["sh"], "tools": True}}).settle()
    (body,) = world.pods.values()
    assert [volume["name"] for volume in body["spec"]["volumes"]] == ["torpor-tmp", "torpor-runtime"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_pod_is_the_one_in_the_golden_file(case: Any) -> None:
    world = case()
    body = list(world.pods.values())[-1]
    fields = {name: value for name, value in body.items() if name != "status"}
    path = GOLDEN / f"{case.__name__}.yaml"
    if os.environ.get("TORPOR_GOLDEN") == "write":
        path.write_text(yaml.safe_dump(fields, sort_keys=True))
    assert fields == yaml.safe_load(path.read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_pod_meets_pod_security_restricted(case: Any) -> None:
    for body in case().pods.values():
        spec = body["spec"]
        restricted = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert spec["securityContext"] == restricted
        assert spec["automountServiceAccountToken"] is False
        wanted = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
        for each in [*spec["containers"], *spec.get("initContainers", [])]:
            context = dict(each["securityContext"])
            assert context.pop("runAsUser", 65532) == 65532
            assert context == wanted | {"runAsGroup": 65532}


def pod(**status: Any) -> Pod:
    owner = {"uid": "other"}, {"uid": "taskrun", "kind": "TaskRun", "name": "run-load", "controller": True}
    metadata = {"name": "run-load-a1-s0", "namespace": "ns", "uid": "pod", "ownerReferences": list(owner)}
    body: Body = {"metadata": metadata} | ({"status": status} if status else {})
    return parse_pod(body)


def test_a_pod_belongs_to_its_controlling_owner() -> None:
    assert owner_uids(pod()) == ("taskrun",)


def test_a_pod_without_a_status_is_pending_and_not_terminal() -> None:
    assert pod().phase == "Pending"
    assert not pod().terminal


@pytest.mark.parametrize(
    ("phase", "terminal"),
    [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True), ("Unknown", False)],
)
def test_a_pod_is_terminal_once_no_process_can_run(phase: str, *, terminal: bool) -> None:
    assert pod(phase=phase).terminal is terminal


@pytest.mark.parametrize(
    ("status", "disrupted"),
    [
        ({"conditions": [{"type": "DisruptionTarget", "status": "True"}]}, True),
        ({"conditions": [{"type": "DisruptionTarget", "status": "False"}]}, False),
        ({"reason": "Evicted"}, True),
        ({"reason": "Preempting"}, True),
        ({"reason": "DeadlineExceeded"}, False),
        ({}, False),
    ],
)
def test_a_disruption_is_distinguished_from_a_failure(status: dict[str, Any], *, disrupted: bool) -> None:
    assert pod(phase="Failed", **status).disrupted is disrupted


@pytest.mark.parametrize(
    ("status", "end_message"),
    [
        ({"reason": "Evicted", "message": "low on memory"}, "low on memory"),
        ({"reason": "Evicted"}, "Evicted"),
        ({"containerStatuses": [{"state": {"terminated": {"exitCode": 1}}}]}, "exited, exit code 1"),
        (
            {"containerStatuses": [{"state": {"terminated": {"reason": "Error", "exitCode": 2, "message": "x\n"}}}]},
            "Error, exit code 2: x",
        ),
        ({"containerStatuses": [{"state": {"running": {}}}]}, ""),
    ],
)
def test_the_end_message_of_a_pod(status: dict[str, Any], end_message: str) -> None:
    assert pod(phase="Failed", **status).end_message == end_message
