"""A stopped run is resumed by an annotation, with a real API server and its policies."""

from tests.integration.controller.stage import ControllerFixture

_FIRST = {"name": "first", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
_LONG = {"name": "long", "trigger": {"class": "duration", "kwargs": {"duration": "${params.wait}"}}}
_HOOK = {"name": "last", "hook": "end", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}


def test_a_stopped_run_runs_its_hook_and_is_fixed_and_resumed(stage: ControllerFixture) -> None:
    name = stage.submit([_FIRST, _LONG | {"after": ["first"]}, _HOOK], params={"wait": "1h"})
    kept = stage.taskrun(name, "first")["metadata"]["uid"]
    stage.until(lambda: stage.taskrun(name, "long")["status"]["state"] == "Deferred", "it waits")
    stage.change("workflows", name, [{"op": "add", "path": "/spec/stop", "value": True}])
    ended = stage.ends(name)
    assert [condition["reason"] for condition in ended["conditions"] if condition["type"] == "Succeeded"] == [
        "Cancelled"
    ]
    assert {task["name"]: task["state"] for task in ended["tasks"]} == {
        "first": "Succeeded",
        "long": "Cancelled",
        "last": "Succeeded",
    }
    mend = {"op": "add", "path": "/spec/params/wait", "value": "1s"}
    stage.change(
        "workflows",
        name,
        [mend, {"op": "add", "path": "/metadata/annotations", "value": {"torpor.dev/clear": "failed"}}],
    )
    stage.until(lambda: stage.state(name) == "Succeeded", "it has ended well")
    assert stage.get("workflows", name)["spec"]["stop"] is False
    assert stage.taskrun(name, "first")["metadata"]["uid"] == kept
