"""TaskRuns that no Workflow has: they are told why nothing is done for them, once, and else left alone."""

from torpor_api.client.resources import TASKRUNS, WORKFLOWS
from torpor_operator.settings import Settings
from torpor_wire import names
from torpor_wire.instance_paths import Path

from tests.support.builders import FRESH, NAMESPACE, Body, python
from tests.support.controller_harness import ControllerHarness


def taskrun(  # noqa: PLR0913 - what a TaskRun says of itself
    rig: ControllerHarness, name: str, workflow: str, uid: str, task: str = "a", *, frame: Path = ()
) -> None:
    spec = {"workflow": {"name": workflow, "uid": uid}, "task": task, "mapIndex": -1, "groupIndexes": list(frame)}
    rig.fake.put(TASKRUNS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec, "status": dict(FRESH)})


def said(rig: ControllerHarness, name: str) -> str | None:
    found: Body | None = rig.fake.get(TASKRUNS, NAMESPACE, name)
    assert found is not None
    message = found["status"].get("message")
    assert (found["status"].get("reason") == "Unowned") == (message is not None)
    return None if message is None else str(message).partition(", so nothing")[0]


async def test_what_no_workflow_has_is_told_once_after_the_grace() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as rig:
        rig.create("run", python("a"), suspend=True)
        await rig.advance(1)
        uid = rig.workflow("run")["metadata"]["uid"]
        taskrun(rig, "of-nobody", "nobody", "u")
        taskrun(rig, "of-another", "run", "u")
        taskrun(rig, names.taskrun("run", uid, "b"), "run", uid, "b")
        taskrun(rig, "misnamed", "run", uid)
        await rig.advance(4)
        assert said(rig, "of-nobody") is None
        await rig.advance(8)
        assert said(rig, "of-nobody") == "there is no Workflow nobody in this namespace"
        assert said(rig, "of-another") == f"Workflow run is another one now, with uid {uid}"
        assert said(rig, names.taskrun("run", uid, "b")) == "Workflow run has no task b"
        assert said(rig, "misnamed") == "the instance a/-1 of Workflow run has another name"
        before = len(rig.fake.writes())
        await rig.advance(30)
        assert len(rig.fake.writes()) == before
        assert rig.state("run") == "Suspended"


async def test_one_that_stands_in_other_groups_than_its_task_is_told() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as rig:
        group = {"name": "g", "expand": [{"name": "n", "over": [1]}]}
        rig.create("run", python("a", group="g"), groups=[group], suspend=True)
        await rig.advance(1)
        uid = rig.workflow("run")["metadata"]["uid"]
        deeper = names.taskrun("run", uid, "a", groups=(0, 1))
        taskrun(rig, deeper, "run", uid, frame=(0, 1))
        await rig.advance(12)
        assert said(rig, deeper) == "task a of Workflow run stands in 1 groups, this in 2"


async def test_one_whose_workflow_comes_in_time_is_not_told() -> None:
    async with ControllerHarness(Settings(stray_grace=5)).running() as rig:
        taskrun(rig, "early", "late", "u")
        await rig.advance(6)
        rig.fake.remove(TASKRUNS, NAMESPACE, "early")
        await rig.advance(6)
        assert not [request for request in rig.fake.writes() if "early" in request.path]
        assert rig.fake.all(WORKFLOWS) == []
