"""Objects that nest so deeply that Python's decoder gives up: the operator and the triggerer go on with all others.

The admission policy refuses such a Workflow. These tests switch it off, as an older installation would lack it.
"""

import json
from collections.abc import Iterator

import pytest
from torpor_wire import constants

from tests.integration.conftest import collection
from tests.integration.controller.stage import ControllerFixture, Object

pytestmark = [pytest.mark.attack, pytest.mark.usefixtures("undisturbed")]

_BINDING = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/torpor-bounds"
_PLACE = '"VALUE"'


def _deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def _send(stage: ControllerFixture, method: str, path: str, body: object, value: str) -> int:
    """A request whose body holds the value, as text, where it says VALUE; gives the status code."""
    content_type = "application/json-patch+json" if method == "PATCH" else "application/json"
    text = json.dumps(body).replace(_PLACE, value)
    headers = {"Content-Type": content_type}
    answer = stage.server.administrator.request(method, stage.server.url + path, body=text, headers=headers)
    return int(answer.status)


@pytest.fixture
def unbounded(stage: ControllerFixture) -> Iterator[None]:
    """The policy on the depth of values is off."""
    _validation_actions(stage, ["Warn"])
    yield
    _validation_actions(stage, ["Deny"])


def _validation_actions(stage: ControllerFixture, actions: list[str]) -> None:
    ops = [{"op": "replace", "path": "/spec/validationActions", "value": actions}]
    stage.server.request("PATCH", _BINDING, ops, content_type="application/json-patch+json").expect(200)


def _workflow(name: str, **metadata: object) -> Object:
    task = {"name": "wait", "trigger": {"class": "duration", "kwargs": {"duration": "1h"}}}
    spec: Object = {"params": {}, "tasks": [task]}
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


@pytest.mark.parametrize("levels", [1_100, 700])
@pytest.mark.usefixtures("unbounded")
def test_a_workflow_with_deep_params_is_reported_and_affects_no_other(stage: ControllerFixture, levels: int) -> None:
    name, path = f"deep-{levels}", collection("workflows", stage.namespace)
    body = _workflow(name)
    body["spec"]["params"] = {"p": "VALUE"}
    stage.until(lambda: _send(stage, "POST", path, body, _deep(levels)) == 201, "the policy is off")
    stage.until(lambda: stage.events(name) == ["WorkflowInvalid"], f"an Event on {name}")

    def stalled() -> list[str]:
        return [each["message"] for each in stage.status(name).get("conditions", []) if each["type"] == "Stalled"]

    stage.until(lambda: bool(stalled()), f"a condition on {name}")
    assert stalled() == [
        "The operator cannot read this Workflow and ignores it: spec: nested more than 100 levels deep"
    ]
    # It is still there when a controller begins, which reads a list.
    started = stage.start_controller()
    calls = started.proxy.calls
    stage.until(lambda: any(call.watch and "/workflows" in call.path for call in calls), "it has listed Workflows")
    started.end()
    stage.server.request("DELETE", f"{path}/{name}").expect(200)


def test_managed_fields_of_any_depth_are_ignored(stage: ControllerFixture) -> None:
    managed = [
        {
            "manager": "attack",
            "operation": "Update",
            "apiVersion": constants.API_VERSION,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": "VALUE"},
        }
    ]
    deep = '{"f:a":' * 1_500 + "{}" + "}" * 1_500
    path = collection("workflows", stage.namespace)
    assert _send(stage, "POST", path, _workflow("managed", managedFields=managed), deep) == 201
    stage.until(lambda: bool(stage.taskruns("managed")), "the Workflow runs like any other")
    run = stage.taskrun("managed", "wait")
    stage.until(lambda: stage.get("taskruns", run["metadata"]["name"])["status"]["state"] == "Deferred", "it waits")
    ops = [{"op": "add", "path": "/metadata/managedFields", "value": managed}]
    where = f"{collection('taskruns', stage.namespace)}/{run['metadata']['name']}"
    assert _send(stage, "PATCH", where, ops, deep) == 200
    stage.cancel("managed")
    assert stage.ends("managed")["conditions"][0]["reason"] == "Cancelled"
