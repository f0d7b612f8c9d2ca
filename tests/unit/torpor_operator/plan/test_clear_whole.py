"""Clearing with the whole controller: the real writes, a watch that brings them, and a garbage collector."""

from torpor_api.client.resources import TASKRUNS, WORKFLOWS
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness


async def test_a_failed_instance_is_deleted_after_its_pods_and_made_anew() -> None:
    async with ControllerHarness(Settings()).running() as rig:
        broken = {"load"}

        def script(task: str, _: int) -> str | None:
            if task in broken:
                raise RuntimeError("it broke")
            return None

        rig.script = script
        rig.create("run", python("load", expand=[{"name": "n", "over": [1, 2]}]), python("report", after=["load"]))
        await rig.advance(3)
        assert rig.state("run") == "Failed"
        before = {run["metadata"]["name"]: run["metadata"]["uid"] for run in rig.fake.all(TASKRUNS)}
        broken.clear()
        rig.fake.edit(WORKFLOWS, NAMESPACE, "run", {"metadata": {"annotations": {constants.CLEAR: "load/1"}}})
        await rig.advance(5)
        assert rig.state("run") == "Failed"
        rig.fake.edit(WORKFLOWS, NAMESPACE, "run", {"metadata": {"annotations": {constants.CLEAR: "failed"}}})
        await rig.advance(5)
        assert rig.state("run") == "Succeeded"
        assert constants.CLEAR not in rig.workflow("run")["metadata"].get("annotations", {})
        assert all(before.get(run["metadata"]["name"]) != run["metadata"]["uid"] for run in rig.fake.all(TASKRUNS))
        deletions = [request for request in rig.fake.writes() if request.method == "DELETE"]
        assert {request.body["propagationPolicy"] for request in deletions if "/taskruns/" in request.path} == {
            "Foreground"
        }
