"""examples/spark without pods: its workflow, its account, its CRD and its controller between real processes."""

import importlib.util
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from torpor_demo.cluster import ROOT

from tests.integration.controller.stage import ControllerFixture, Object

_FOLDER = ROOT / "examples/spark"
_SYSTEM = "torpor-system"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"


def _documents(path: str) -> Iterator[Object]:
    return (dict(each) for each in yaml.safe_load_all((ROOT / path).read_text()))


def _controller() -> Any:
    """The module of the stand-in, which is a program of a ConfigMap and no package."""
    spec = importlib.util.spec_from_file_location("spark_stand_in", _FOLDER / "stand-in/controller.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class StandIn:
    """The stand-in for the Spark operator, with the rights of the tests. The test is the kubelet."""

    def __init__(self, stage: ControllerFixture) -> None:
        self.namespace = stage.namespace
        self._stage = stage
        self._program = _controller()

    def request(self, method: str, path: str, body: Object | None = None) -> Any:
        """Send one request, as the program does."""
        content_type = _MERGE if method == "PATCH" else "application/json"
        answer = self._stage.server.request(method, path, body, content_type=content_type)
        if answer.status == 404:
            raise self._program.urllib.error.HTTPError(path, 404, "not found", None, None)
        assert answer.status in {200, 201}, answer.message
        return answer.body

    def applications(self, run: str) -> list[Object]:
        """The SparkApplications of a run: none or one."""
        uids = {each["metadata"]["uid"] for each in self._stage.taskruns(run)}
        items = self.request("GET", self._program.applications(self))["items"]
        return [each for each in items if each["metadata"]["labels"]["torpor.dev/object-of"] in uids]

    def reconcile(self, run: str) -> None:
        """Run one round of the program for the application of a run."""
        for application in self.applications(run):
            self._program.reconcile(self, application)

    def end(self, run: str) -> None:
        """End the driver, as the kubelet reports it."""
        (application,) = self.applications(run)
        ended = {"exitCode": 0, "finishedAt": "2026-11-26T09:00:00Z"}
        container: Object = {"name": "spark-kubernetes-driver", "state": {"terminated": ended}, "image": "x"}
        container |= {"imageID": "x", "ready": False, "restartCount": 0}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{application['metadata']['name']}-driver/status"
        self.request("PATCH", path, {"status": {"phase": "Succeeded", "containerStatuses": [container]}})


@pytest.fixture
def spark(stage: ControllerFixture) -> StandIn:
    """The CRD, the account with its rights, and the opt-in of the namespace."""
    (definition,) = _documents("examples/spark/stand-in/crd.yaml")
    path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
    answer = stage.server.request("PATCH", path, definition, content_type=_APPLY, fieldManager="tests", force="true")
    assert answer.status in {200, 201}, answer.message
    binding = "manifests/components/object-tasks/binding.yaml"
    for document in (*_documents("examples/spark/jobs/account.yaml"), *_documents(binding)):
        document["metadata"]["namespace"] = stage.namespace
        for subject in document.get("subjects", []):
            subject["namespace"] = _SYSTEM if subject["namespace"] == _SYSTEM else stage.namespace
        stage.server.apply(document)
    stand_in = StandIn(stage)
    served = f"/apis/sparkoperator.k8s.io/v1beta2/namespaces/{stage.namespace}/sparkapplications"
    stage.until(lambda: bool(stage.server.request("GET", served).status == 200), "the kind is served")
    return stand_in


def _submit(stage: ControllerFixture) -> str:
    (body,) = _documents("examples/spark/workflow.yaml")
    return stage.submit(**body["spec"])


def _started(stage: ControllerFixture, spark: StandIn) -> str:
    """The name of a run whose application has a driver."""
    name = _submit(stage)
    stage.until(lambda: bool(spark.applications(name)), "the application is submitted")
    spark.reconcile(name)
    return name


def test_the_result_of_the_run_is_the_driver(stage: ControllerFixture, spark: StandIn) -> None:
    name = _started(stage, spark)
    (application,) = spark.applications(name)
    assert application["spec"]["arguments"] == ["200000"]
    spark.end(name)
    spark.reconcile(name)
    assert stage.ends(name)["state"] == "Succeeded"
    driver = f"{application['metadata']['name']}-driver"
    assert json.loads(stage.status(name)["result"]) == driver
    assert stage.pods_of(stage.taskrun(name, "pi")) == []
