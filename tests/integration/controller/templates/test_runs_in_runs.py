"""Runs that tasks start, between real processes and with the policies of a real API server."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.conftest import collection
from tests.integration.controller.stage import ControllerFixture, Object, shell
from tests.support.manifests import manifest


@pytest.fixture
def template(stage: ControllerFixture, tmp_path: Path) -> str:
    """A template of one task, which succeeds once the file `good` exists."""
    name = f"template-{uuid.uuid4().hex[:8]}"
    workflow = {"image": "tests", "tasks": [shell("load", f"test -e {tmp_path / 'good'}")]}
    stage.server.create(
        "workflowtemplates", stage.namespace, manifest("WorkflowTemplate", name, {"workflow": workflow})
    ).expect(201)
    return name


def _run(template: str, **fields: Any) -> Object:
    return {"name": "inner", "run": {"templateRef": {"name": template}, **fields}}


def _child(stage: ControllerFixture, outer: str) -> Object:
    """The run that the only task of a run has started, once it exists."""
    uid = stage.taskrun(outer, "inner")["metadata"]["uid"]

    def started() -> list[Object]:
        items = stage.server.request("GET", collection("workflows", stage.namespace)).expect(200)["items"]
        return [item for item in items if item["spec"].get("parent", {}).get("uid") == uid]

    stage.until(lambda: bool(started()), "the run exists")
    return started()[0]


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_a_task_waits_again_for_its_run_that_was_cleared(
    stage: ControllerFixture, template: str, tmp_path: Path, policy: str
) -> None:
    outer = stage.submit([_run(template, deletionPolicy=policy)])
    assert stage.ends(outer)["state"] == "Failed"
    former, child = stage.taskrun(outer, "inner"), _child(stage, outer)
    (tmp_path / "good").touch()
    cleared = {"op": "add", "path": "/metadata/annotations", "value": {constants.CLEAR: "failed"}}
    stage.change("workflows", child["metadata"]["name"], [cleared])
    stage.until(lambda: stage.state(outer) == "Succeeded", "the outer run has succeeded")
    again = _child(stage, outer)
    assert again["metadata"]["uid"] == child["metadata"]["uid"]
    assert again["spec"]["parent"]["uid"] != former["metadata"]["uid"]
    assert len(again["metadata"].get("ownerReferences", [])) == (policy == "Delete")
    stage.skip_log("triggerer")  # the run that failed at first is an error of its trigger


def test_a_run_that_is_left_has_its_name_and_no_owner(stage: ControllerFixture, template: str, tmp_path: Path) -> None:
    (tmp_path / "good").touch()
    name = f"left-{uuid.uuid4().hex[:8]}"
    outer = stage.submit([_run(template, name=name, wait=False)])
    assert stage.ends(outer)["state"] == "Succeeded"
    child = stage.get("workflows", name)
    result = json.loads(stage.taskrun(outer, "inner")["status"]["result"])
    assert result == {"name": name, "uid": child["metadata"]["uid"]}
    assert "ownerReferences" not in child["metadata"]
    assert stage.ends(name)["state"] == "Succeeded"


def test_a_task_fails_whose_run_has_the_name_of_another(stage: ControllerFixture, template: str) -> None:
    outer = stage.submit([_run(template, name="${params.name}")], params={"name": "taken"}, name="taken")
    assert stage.ends(outer)["state"] == "Failed"
    status = stage.taskrun(outer, "inner")["status"]
    assert "RunNameTaken" in json.dumps(status), status
    assert stage.get("workflows", outer)["spec"].get("parent") is None


@pytest.mark.attack
@pytest.mark.parametrize("wait", [True, False])
def test_a_template_that_starts_itself_starts_five_runs(stage: ControllerFixture, wait: bool) -> None:
    name = f"itself-{uuid.uuid4().hex[:8]}"
    task = _run(name) if wait else _run(name, wait=False)
    spec = {"workflow": {"image": "tests", "tasks": [task]}}
    stage.server.create("workflowtemplates", stage.namespace, manifest("WorkflowTemplate", name, spec)).expect(201)
    outer = stage.submit([task])

    root = stage.get("workflows", outer)["metadata"]["uid"]

    def runs_within() -> list[Object]:
        items = stage.server.request("GET", collection("workflows", stage.namespace)).expect(200)["items"]
        return [item for item in items if item["spec"].get("parent", {}).get("root") == root]

    def is_refused() -> bool:
        deepest = [run["metadata"]["name"] for run in runs_within() if run["spec"]["parent"]["depth"] == 5]
        return any(run["status"].get("reason") == "RunLimitReached" for name in deepest for run in stage.taskruns(name))

    stage.until(is_refused, "the run at the fifth level starts no other")
    assert stage.ends(outer)["state"] == ("Failed" if wait else "Succeeded")
    assert sorted(run["spec"]["parent"]["depth"] for run in runs_within()) == [1, 2, 3, 4, 5]
    stage.skip_log("triggerer")  # the end of each run is an error of the trigger around it
