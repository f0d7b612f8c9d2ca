"""Object tasks between real processes: they act with the rights of their account, and wait by a watch."""

import json
import uuid
from typing import Any

import pytest

from tests.integration.controller.objects.builder_account import BuilderAccount
from tests.integration.controller.stage import ControllerFixture, Object

_CORE = "/api/v1"
_JOBS = "/apis/batch/v1"
_MERGE = "application/merge-patch+json"


@pytest.fixture
def account(stage: ControllerFixture) -> BuilderAccount:
    """The namespace has opted in."""
    name = f"builder-{uuid.uuid4().hex[:6]}"
    account = BuilderAccount(server=stage.server, namespace=stage.namespace, name=name)
    account.create()
    return account


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
