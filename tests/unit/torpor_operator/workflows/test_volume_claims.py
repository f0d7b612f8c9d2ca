"""Volumes of a run: created before the first pod that mounts them, owned by the run, deleted by their rule."""

from typing import Any, cast

import pytest
from torpor_crds.models import workflow as workflows
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import Resource
from torpor_operator.model import volume_claims
from torpor_operator.model.actions import CreatePod, ReadClaimWarning, SetFinalizers
from torpor_operator.model.snapshot import PodWarning
from torpor_operator.workflows.claim_writer import ClaimWriter, ForeignClaimError

from tests.support.builders import UID, container
from tests.support.plan_fixture import PlanFixture

WORK = {"name": "work", "size": "1Gi"}
MOUNT = {"pod": {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}}


def _started(*tasks: Any, **spec: Any) -> CreatePod:
    world = PlanFixture(*tasks, volumeClaims=[WORK], **spec)
    world.apply(world.plan())
    return next(action for action in world.plan().actions if isinstance(action, CreatePod))


def test_a_pod_that_mounts_a_volume_of_the_run_gets_its_claim() -> None:
    action = _started(container("a", **MOUNT))
    (claim,) = action.claims
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    assert claim["metadata"]["ownerReferences"][0]["uid"] == UID
    volume = next(each for each in action.body["spec"]["volumes"] if each["name"] == "work")
    assert volume == {"name": "work", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}


def test_a_pod_that_mounts_none_creates_none() -> None:
    action = _started(container("a"))
    assert action.claims == ()
    assert all("persistentVolumeClaim" not in volume for volume in action.body["spec"].get("volumes", []))


def test_a_sidecar_mounts_a_volume_of_the_run_too() -> None:
    sidecar = {"name": "db", "image": "postgres", "volumeMounts": [{"name": "work", "mountPath": "/data"}]}
    assert len(_started(container("a", pod={"sidecars": [sidecar]})).claims) == 1


@pytest.mark.parametrize(
    ("deletion", "succeeds", "deleted"),
    [
        ("AtEnd", True, True),
        ("AtEnd", False, True),
        ("AfterSuccess", True, True),
        ("AfterSuccess", False, False),
        ("WithRun", True, False),
        ("Never", True, False),
    ],
)
def test_a_claim_is_deleted_at_the_end_by_its_rule(deletion: str, *, succeeds: bool, deleted: bool) -> None:
    world = PlanFixture(container("a", **MOUNT), volumeClaims=[WORK | {"deletion": deletion}]).settle()
    terminated = {"reason": "Completed" if succeeds else "Error", "exitCode": 0 if succeeds else 1}
    phase = "Succeeded" if succeeds else "Failed"
    world.write_pod("a", -1, {"phase": phase, "containerStatuses": [{"state": {"terminated": terminated}}]})
    seen: list[SetFinalizers] = []
    for _ in range(6):
        planned = world.plan()
        seen += [action for action in planned.actions if isinstance(action, SetFinalizers)]
        world.apply(planned)
    assert world.workflow["metadata"]["finalizers"] == []
    names = {name for action in seen for name in action.deleted_claims}
    assert names == (set(volume_claims.claim_names(world.stored).values()) if deleted else set())


def test_only_a_claim_that_is_kept_forever_has_no_owner() -> None:
    for deletion, owned in (("Never", False), ("WithRun", True)):
        world = PlanFixture(container("a", **MOUNT), volumeClaims=[WORK | {"deletion": deletion}])
        name = next(iter(volume_claims.claim_names(world.stored).values()))
        pod = {"spec": {"volumes": [{"name": "work", "persistentVolumeClaim": {"claimName": name}}]}}
        (claim,) = volume_claims.used_claims(world.stored, pod)
        assert bool(claim["metadata"]["ownerReferences"]) is owned


class Claims:
    """An API server with one claim."""

    def __init__(self, stored: Object | None = None) -> None:
        self.stored, self.requests = stored, 0

    async def create(self, _resource: Resource, _namespace: str, body: Object) -> Object:
        self.requests += 1
        if self.stored is not None:
            raise errors.AlreadyExists("it exists")
        self.stored = body | {"metadata": body["metadata"] | {"uid": "u"}}
        return self.stored

    async def get(self, _resource: Resource, _namespace: str, _name: str) -> Object:
        if self.stored is None:
            raise errors.NotFound("none")
        return self.stored

    async def delete(self, _resource: Resource, _namespace: str, _name: str, *, uid: str) -> None:
        assert uid == "u"
        self.stored = None


def _writer(api: Claims) -> ClaimWriter:
    return ClaimWriter(cast("Api", api))


def _claim() -> tuple[workflows.Workflow, Object]:
    world = PlanFixture(container("a", **MOUNT), volumeClaims=[WORK])
    action = _started(container("a", **MOUNT))
    return world.stored, action.claims[0]


async def test_a_claim_is_created_once() -> None:
    api, (workflow, claim) = Claims(), _claim()
    writer = _writer(api)
    for _ in range(3):
        await writer.create(claim)
    assert api.requests == 1
    await _writer(api).create(claim)
    await writer.delete(workflow, claim["metadata"]["name"])
    assert api.stored is None
    await writer.delete(workflow, claim["metadata"]["name"])
    await writer.create(claim)
    assert api.stored is not None


@pytest.mark.attack
async def test_a_claim_of_another_owner_is_neither_mounted_nor_deleted() -> None:
    workflow, claim = _claim()
    name = claim["metadata"]["name"]
    foreign = {"metadata": {"name": name, "uid": "u", "labels": {"torpor.dev/workflow-uid": "another"}}}
    api = Claims(foreign)
    with pytest.raises(ForeignClaimError, match="does not belong to the run"):
        await _writer(api).create(claim)
    await _writer(api).delete(workflow, name)
    assert api.stored is foreign


async def test_a_claim_that_is_being_deleted_is_waited_for() -> None:
    _, claim = _claim()
    ending = claim | {"metadata": claim["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    with pytest.raises(errors.ApiUnavailable, match="being deleted"):
        await _writer(Claims(ending)).create(claim)


def _unbound(message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


def test_a_claim_that_stays_pending_is_explained() -> None:
    world = PlanFixture(container("a", **MOUNT), volumeClaims=[WORK]).settle()
    world.api.claim_warning = PodWarning("ProvisioningFailed", "claim c is Pending: ProvisioningFailed: no class fast")
    world.kubelet("a", _unbound("0/1 nodes: pod has unbound immediate PersistentVolumeClaims"))
    status = world.advance(6).run("a").status
    assert (status.reason, status.message) == (
        "ClaimPending",
        f"pod {next(iter(world.pods))} waits for a volume: claim c is Pending: ProvisioningFailed: no class fast",
    )
    world.kubelet("a", {"phase": "Running"})
    assert world.run("a").status.reason is None


def test_a_pod_that_waits_for_memory_costs_no_read_of_its_claims() -> None:
    world = PlanFixture(container("a", **MOUNT), volumeClaims=[WORK]).settle()
    world.kubelet("a", _unbound("0/1 nodes are available: 1 Insufficient memory"))
    assert world.advance(6).run("a").status.reason == "Unschedulable"
    assert not any(isinstance(need, ReadClaimWarning) for need in world.api.confirmed)
