"""Objects that the controller did not create as they are: foreign, orphaned, duplicate, huge, or invalid."""

import json
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from torpor_wire import constants, names

from tests.integration.controller.stage import PYTHON, ControllerFixture, Object, python, restricted_pod_spec, shell
from tests.support.manifests import manifest

pytestmark = pytest.mark.usefixtures("undisturbed")

_THEIRS = "example.com/theirs"
_LONG = ".".join(["a" * 63] * 3 + ["b" * 61])


def _taskrun(workflow: str, uid: str, task: str, name: str, **spec: Any) -> Object:
    body = spec or {"image": "tests", "python": f"{PYTHON}:echo"}
    return manifest("TaskRun", name, {"workflow": {"name": workflow, "uid": uid}, "task": task, **body})


def _pod(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": restricted_pod_spec()}


def _suspended(stage: ControllerFixture, *tasks: Object) -> tuple[str, str]:
    name = stage.submit(tasks, suspend=True)
    stage.until(lambda: stage.state(name) == "Suspended", "it has been looked at")
    return name, str(stage.get("workflows", name)["metadata"]["uid"])


def _resume(stage: ControllerFixture, name: str) -> None:
    stage.change("workflows", name, [{"op": "add", "path": "/spec/suspend", "value": False}])


def _says(stage: ControllerFixture, taskrun: str, message: str) -> None:
    """Why it does not move: on the object, and by an Event."""
    stage.until(lambda: stage.get("taskruns", taskrun)["status"].get("reason") == "Unowned", f"{taskrun} to say so")
    status = stage.get("taskruns", taskrun)["status"]
    assert (status["state"], status["message"]) == ("Scheduled", message)
    stage.until(lambda: stage.events(taskrun) == ["Unowned"], f"an Event on {taskrun}")


def test_orphaned_taskruns_are_reported_and_ignored(stage: ControllerFixture) -> None:
    name, uid = _suspended(stage, python("first", "echo"))
    strangers = [
        _taskrun("nobody", "no-uid", "first", "of-nobody"),
        _taskrun(name, "no-uid", "first", "of-another-uid"),
        _taskrun(name, uid, "unknown", "of-an-unknown-task"),
        _taskrun(name, uid, "first", "of-another-name"),
    ]
    for body in strangers:
        stage.server.create("taskruns", stage.namespace, body).expect(201)
    _resume(stage, name)
    status = stage.ends(name)
    assert (status["state"], status["progress"]) == ("Succeeded", "1/1")
    assert len(stage.notes(name)) == 1
    problems = [
        "Workflow nobody does not exist in this namespace",
        f"Workflow {name} has another uid: {uid}",
        f"Workflow {name} has no task unknown",
        f"the TaskRun of first/-1 of Workflow {name} has another name",
    ]
    for body, problem in zip(strangers, problems, strict=True):
        _says(stage, body["metadata"]["name"], f"{problem}. Torpor ignores this TaskRun; delete it")


def test_a_foreign_taskrun_of_the_same_name_is_reported_on_the_workflow(stage: ControllerFixture) -> None:
    name, uid = _suspended(stage, python("first", "echo"))
    taken = names.taskrun(name, uid, "first")
    stage.server.create("taskruns", stage.namespace, _taskrun("another", "u", "first", taken)).expect(201)
    _resume(stage, name)
    stage.until(lambda: stage.events(name) == ["LaunchFailed"], "an Event on the Workflow")
    stage.server.request("DELETE", f"/apis/torpor.dev/v1alpha1/namespaces/{stage.namespace}/taskruns/{taken}")
    assert stage.ends(name)["state"] == "Succeeded"


def test_an_invalid_taskrun_that_somebody_created_under_our_name_fails(stage: ControllerFixture) -> None:
    trigger = {"class": "duration", "kwargs": {"duration": "1s"}}
    name, uid = _suspended(stage, {"name": "alarm", "trigger": trigger}, shell("script", "true"))
    argument = {"arguments": [{"name": "x", "value": "{nope"}]}
    container = {"image": "tests", "container": {"command": ["true"]}, **argument}
    for task, spec in (("alarm", {"trigger": {"class": "time", "kwargs": "[nope"}}), ("script", container)):
        body = _taskrun(name, uid, task, names.taskrun(name, uid, task), **spec)
        stage.server.create("taskruns", stage.namespace, body).expect(201)
    _resume(stage, name)
    states = {task["name"]: (task["state"], task.get("reason")) for task in stage.ends(name)["tasks"]}
    assert states == {"alarm": ("Failed", "TriggerInvalid"), "script": ("Succeeded", None)}


def test_a_foreign_pod_of_the_same_name_fails_the_launch(stage: ControllerFixture) -> None:
    name, uid = _suspended(stage, python("first", "echo"))
    pod = names.pod(names.taskrun(name, uid, "first"), 1, 0, 0)
    stage.server.create("pods", stage.namespace, _pod(pod)).expect(201)
    _resume(stage, name)
    assert stage.ends(name)["tasks"][0]["reason"] == "LaunchFailed"
    taskrun = names.taskrun(name, uid, "first")
    stage.until(lambda: stage.events(taskrun) == ["LaunchFailed"], "an Event on the TaskRun")
    assert "deletionTimestamp" not in stage.get("pods", pod)["metadata"]


def test_names_of_the_maximal_length(stage: ControllerFixture) -> None:
    assert len(_LONG) == 253
    task = "t" * 39 + "_"
    stage.submit([python(task, "loaded", expand=[{"name": "item", "over": [1, 2]}])], name=_LONG)
    assert stage.ends(_LONG)["state"] == "Succeeded"
    assert len(stage.notes(_LONG)) == 2


def test_text_in_any_script_comes_back_unchanged(stage: ControllerFixture) -> None:
    sloth, family = "\U0001f9a5", "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    text = f"Zażółć {sloth}{family} \u202eright to left\u202c e\u0301 \ufeff 漢字 \\ ' $"
    tasks = [
        python("first", "echo", args={"said": "${params.text}", "raw": text}),
        python("last", "echo", args={"whole": "${tasks.first.result}", "longer": "<${tasks.first.result.said}>"}),
        python("zero", "echo", args={"said": "a\u0000b"}),  # what an expression cannot carry, a task can
    ]
    name = stage.submit(tasks, params={"text": text})
    status = stage.ends(name)
    assert status["state"] == "Succeeded", status
    result = json.loads(stage.taskrun(name, "last")["status"]["result"])
    assert result == {"whole": {"said": text, "raw": text}, "longer": f"<{text}>"}
    assert json.loads(stage.taskrun(name, "zero")["status"]["result"]) == {"said": "a\u0000b"}


def test_half_a_megabyte_of_params(stage: ControllerFixture) -> None:
    tasks = [
        python("first", "echo", args={"size": "${size(params.big)}"}),
        python("second", "echo", args={"whole": "${params.big}"}),
    ]
    name = stage.submit(tasks, params={"big": "x" * 500_000})
    states = {task["name"]: (task["state"], task.get("reason")) for task in stage.ends(name)["tasks"]}
    assert states == {"first": ("Succeeded", None), "second": ("Failed", "ExpressionFailed")}


def test_fields_of_a_newer_version_are_dropped(stage: ControllerFixture) -> None:
    name = stage.submit([python("first", "echo", tomorrow={"is": "here"})], tomorrow=[1])
    assert stage.ends(name)["state"] == "Succeeded"
    assert "tomorrow" not in stage.get("workflows", name)["spec"]


def test_the_end_of_a_pod_without_its_label_or_owner_is_noticed(stage: ControllerFixture) -> None:
    name = stage.submit([python(f"task_{what}", "loaded", args={"item": 1, "seconds": 60}) for what in ("a", "b")])
    stage.until(lambda: len(stage.notes(name)) == 2, "both run")
    runs = [stage.taskrun(name, "task_a"), stage.taskrun(name, "task_b")]
    pods = [stage.pods_of(run)[0]["metadata"] for run in runs]
    label = constants.LABEL_TASKRUN_UID.replace("/", "~1")
    stage.change("pods", pods[0]["name"], [{"op": "remove", "path": f"/metadata/labels/{label}"}])
    stage.change("pods", pods[1]["name"], [{"op": "remove", "path": "/metadata/ownerReferences"}])
    for pod in pods:
        stage.pods.send(pod["uid"], signal.SIGKILL)
    states = {task["name"]: task.get("reason") for task in stage.ends(name)["tasks"]}
    assert states == {"task_a": "Lost", "task_b": "Lost"}


def test_a_taskrun_without_its_labels_and_owners_continues(stage: ControllerFixture) -> None:
    slow = python("first", "loaded", args={"item": 1, "seconds": 2})
    name = stage.submit([slow, python("last", "echo", after=["first"])])
    run = stage.taskrun(name, "first")["metadata"]["name"]
    gone = [{"op": "remove", "path": f"/metadata/{field}"} for field in ("labels", "ownerReferences")]
    stage.change("taskruns", run, gone)
    assert stage.ends(name)["state"] == "Succeeded"
    stage.assert_none_twice(name)


def test_finalizers_of_others_stay(stage: ControllerFixture, tmp_path: Path) -> None:
    go = tmp_path / "go"
    name = stage.submit(
        [shell("first", f"until test -e {go}; do sleep 0.1; done"), python("last", "echo", after=["first"])]
    )
    theirs = {"op": "add", "path": "/metadata/finalizers/-", "value": _THEIRS}
    stage.until(lambda: len(stage.notes(name)) == 1, "its container runs")
    stage.change("workflows", name, [theirs])
    pod = stage.pods_of(stage.taskrun(name, "first"))[0]["metadata"]["name"]
    stage.change("pods", pod, [theirs])
    go.touch()
    assert stage.ends(name)["state"] == "Succeeded"
    for plural, which in (("pods", pod), ("workflows", name)):
        stage.until(partial(_has_theirs_alone, stage, plural, which), f"ours is gone from {which}")
        stage.change(plural, which, [{"op": "remove", "path": "/metadata/finalizers"}])


def _has_theirs_alone(stage: ControllerFixture, plural: str, name: str) -> bool:
    return bool(stage.get(plural, name)["metadata"]["finalizers"] == [_THEIRS])
