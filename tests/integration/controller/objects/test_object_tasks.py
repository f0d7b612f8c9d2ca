"""Object tasks between real processes: they act with the rights of their account, and wait by a watch."""

import json
import uuid
from typing import Any

import pytest

from tests.integration.controller.stage import ControllerFixture, Object

_CORE = "/api/v1"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_JOBS = "/apis/batch/v1"
_MERGE = "application/merge-patch+json"
_VERBS = ["create", "get", "list", "watch", "patch", "delete"]


class BuilderAccount:
    """A ServiceAccount that may act on ConfigMaps and Jobs, and whose owner lets tasks use it."""

    def __init__(self, stage: ControllerFixture) -> None:
        self.stage = stage
        self.name = f"builder-{uuid.uuid4().hex[:6]}"
        metadata = {"name": self.name, "namespace": stage.namespace}
        marked = {**metadata, "annotations": {"torpor.dev/tokens": "allowed"}}
        stage.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": marked})
        rules = [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": _VERBS},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _VERBS},
        ]
        stage.server.apply(
            {"apiVersion": _RBAC.removeprefix("/apis/"), "kind": "Role", "metadata": metadata, "rules": rules},
        )
        self.bind()

    def bind(self) -> None:
        """Grant the rights."""
        stage = self.stage
        stage.server.apply(
            {
                "apiVersion": _RBAC.removeprefix("/apis/"),
                "kind": "RoleBinding",
                "metadata": {"name": self.name, "namespace": stage.namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": self.name},
                "subjects": [{"kind": "ServiceAccount", "name": self.name, "namespace": stage.namespace}],
            }
        )

    def task(self, manifest: Object, **fields: Any) -> Object:
        """A task that acts as this account."""
        return {"name": "act", "object": {"serviceAccountName": self.name, "manifest": manifest, **fields}}


@pytest.fixture
def account(stage: ControllerFixture) -> BuilderAccount:
    """The namespace has opted in."""
    stage.server.apply(
        {
            "apiVersion": _RBAC.removeprefix("/apis/"),
            "kind": "RoleBinding",
            "metadata": {"name": "torpor-object-tasks", "namespace": stage.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "torpor-object-tasks"},
            "subjects": [{"kind": "ServiceAccount", "name": "torpor-triggerer", "namespace": "torpor-system"}],
        }
    )
    return BuilderAccount(stage)


def _config_map(**metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"state": "new"}}


def _job() -> Object:
    container = {"name": "main", "image": "busybox:1.37"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "train-"},
        "spec": {"parallelism": "${params.width}", "template": template},
    }


def _created(stage: ControllerFixture, workflow: str, collection: str) -> Object:
    """The object that the only task of a Workflow has created, once it exists."""
    uid = stage.taskrun(workflow, "act")["metadata"]["uid"]
    path = f"{collection}?labelSelector=torpor.dev/object-of={uid}"

    def found() -> list[Object]:
        return list(stage.server.request("GET", path).expect(200)["items"])

    stage.until(lambda: bool(found()), "the object exists")
    return found()[0]


def _change(stage: ControllerFixture, path: str, body: Object) -> None:
    stage.server.request("PATCH", path, body, content_type=_MERGE).expect(200)


def test_a_job_is_created_and_waited_for_without_a_pod(stage: ControllerFixture, account: BuilderAccount) -> None:
    until = "object.status.succeeded >= object.spec.parallelism"
    task = account.task(_job(), until=until, failWhen="object.status.failed > 0", result="object.metadata.name")
    name = stage.submit([task], params={"width": 3})

    jobs = f"{_JOBS}/namespaces/{stage.namespace}/jobs"
    job = _created(stage, name, jobs)
    assert job["metadata"]["name"].startswith("train-")
    assert job["spec"]["parallelism"] == 3
    stage.until(lambda: stage.taskrun(name, "act")["status"]["state"] == "Deferred", "the task waits")
    _change(stage, f"{jobs}/{job['metadata']['name']}/status", {"status": {"succeeded": 3}})

    assert stage.ends(name)["state"] == "Succeeded"
    status = stage.taskrun(name, "act")["status"]
    assert json.loads(status["result"]) == job["metadata"]["name"]
    assert stage.pods_of(stage.taskrun(name, "act")) == []
