"""A user who may create Workflows, and neither Jobs nor pods, gains no right of an account by a task."""

import uuid
from typing import Any

import pytest

from tests.integration.conftest import collection
from tests.integration.controller.objects.builder_account import BuilderAccount
from tests.integration.controller.stage import ControllerFixture, Object, python, shell
from tests.support.manifests import manifest

pytestmark = pytest.mark.attack
_GROUP = "rbac.authorization.k8s.io"
_JOBS = "/apis/batch/v1/namespaces/{}/jobs"
_CONTAINER = {"name": "main", "image": "busybox:1.37"}
_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"generateName": "mine-"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}}},
}
_REFUSED = "may not be used by tasks"


class WorkflowAuthor:
    """A user of the namespace who may create Workflows only."""

    def __init__(self, stage: ControllerFixture) -> None:
        self._stage, self._server, self.namespace = stage, stage.server, stage.namespace
        name = f"author-{uuid.uuid4().hex[:6]}"
        metadata = {"name": name, "namespace": self.namespace}
        account = {"kind": "ServiceAccount", **metadata}
        self._server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        rules = [{"apiGroups": ["torpor.dev"], "resources": ["workflows"], "verbs": ["create"]}]
        self._server.apply({"apiVersion": f"{_GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
        role = {"apiGroup": _GROUP, "kind": "Role", "name": name}
        binding = {"metadata": metadata, "roleRef": role, "subjects": [account]}
        self._server.apply({"apiVersion": f"{_GROUP}/v1", "kind": "RoleBinding", **binding})
        self._token = self._server.token(self.namespace, name)

    def is_refused(self, path: str, body: Object) -> bool:
        """Whether the API server refuses the object to this user."""
        return self._server.request("POST", path, body, token=self._token, dryRun="All").status == 403

    def submit(self, spec: Object) -> str:
        """Create a Workflow. Returns its name."""
        name = f"run-{uuid.uuid4().hex[:8]}"
        self._server.create("workflows", self.namespace, manifest("Workflow", name, spec), token=self._token).expect(
            201
        )
        return name


@pytest.fixture
def author(stage: ControllerFixture) -> WorkflowAuthor:
    return WorkflowAuthor(stage)


@pytest.fixture
def admin(stage: ControllerFixture) -> str:
    """An account with the right to create Jobs, whose owner does not let tasks use it, in a namespace with opt-in."""
    account = BuilderAccount(server=stage.server, namespace=stage.namespace, name=f"admin-{uuid.uuid4().hex[:6]}")
    account.create()
    metadata = {"name": account.name, "namespace": stage.namespace}
    stage.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    return account.name


def _refusal(stage: ControllerFixture, run: str, task: str) -> Object:
    """The TaskRun of a task, once its message says that the account may not be used."""

    def refused() -> bool:
        return _REFUSED in stage.taskrun(run, task)["status"].get("message", "")

    stage.until(refused, f"{task} of {run} is refused")
    return stage.taskrun(run, task)


def test_no_object_task_acts_with_an_account_of_somebody_else(
    stage: ControllerFixture, author: WorkflowAuthor, admin: str
) -> None:
    jobs = _JOBS.format(stage.namespace)
    task = {"name": "act", "object": {"serviceAccountName": admin, "manifest": _JOB}}
    template = f"platform-{uuid.uuid4().hex[:6]}"
    spec: dict[str, Any] = {"allowedNamespaces": {"names": [stage.namespace]}, "workflow": {"tasks": [task]}}
    path = "/apis/torpor.dev/v1alpha1/clusterworkflowtemplates"
    stage.server.request("POST", path, manifest("ClusterWorkflowTemplate", template, spec)).expect(201)
    assert author.is_refused(jobs, _JOB)

    reference = {"kind": "ClusterWorkflowTemplate", "name": template}
    runs = [author.submit({"tasks": [task]}), author.submit({"templateRef": reference})]

    for run in runs:
        uid = _refusal(stage, run, "act")["metadata"]["uid"]
        created = stage.server.request("GET", f"{jobs}?labelSelector=torpor.dev/object-of={uid}").expect(200)
        assert created["items"] == []
        stage.cancel(run)
        assert stage.ends(run)["state"] in {"Cancelled", "Failed"}
    stage.skip_log("triggerer")  # a refusal for a minute is an error of the trigger


def test_no_pod_has_an_account_of_somebody_else(stage: ControllerFixture, author: WorkflowAuthor, admin: str) -> None:
    pod = {"serviceAccountName": admin, "serviceAccountToken": True}
    assert author.is_refused(
        collection("pods", stage.namespace), {"metadata": {"name": "x"}, "spec": {"containers": [_CONTAINER]}}
    )

    tasks = [python("code", "echo", pod=pod), shell("program", "true", pod=pod)]
    run = author.submit({"image": "tests", "tasks": tasks})

    assert stage.ends(run)["state"] == "Failed"
    for task in ("code", "program"):
        taskrun = _refusal(stage, run, task)
        assert taskrun["status"]["reason"] == "Forbidden"
        assert stage.pods_of(taskrun) == []
