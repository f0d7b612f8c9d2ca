"""Running instances of a run again, as `kubectl annotate workflow run torpor.dev/clear=...` asks."""

import json

from torpor_kubernetes.client.resources import PODS
from torpor_wire import constants
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import container, python, spec
from tests.e2e.support.stage import TIMEOUT, ClusterFixture, of_taskrun


async def test_only_a_cleared_instance_and_its_downstream_tasks_run_again(stage: ClusterFixture) -> None:
    mapped = python("who", "who", expand=[{"name": "n", "over": [0, 1]}])
    await stage.start("w", spec(mapped, python("all", "echo", args={"value": "${tasks.who.results}"})))
    await stage.ended("w")
    before = {run.metadata.name: run for run in await stage.taskruns("w")}
    await stage.annotate("w", constants.CLEAR, "who/1")

    async def again() -> bool | None:
        workflow = await stage.workflow("w")
        return True if workflow.status.clears == 1 and workflow.status.completion_time else None

    await stage.until(again, TIMEOUT, "the run to end again")
    everyone, first, second = await stage.taskruns("w")
    assert first.metadata.uid == before[first.metadata.name].metadata.uid
    assert second.metadata.uid != before[second.metadata.name].metadata.uid
    assert json.loads(everyone.status.result or "") == [first.metadata.uid, second.metadata.uid]
    flow = await stage.workflow("w")
    assert (flow.status.state, flow.status.clearing) == ("Succeeded", None)
    assert constants.CLEAR not in flow.metadata.annotations
    await stage.event(flow.metadata.uid, "Cleared")


async def test_what_runs_has_ended_before_it_is_made_anew(stage: ClusterFixture) -> None:
    await stage.start("w", spec(container("it", "trap 'sleep 2; exit 1' TERM; while true; do sleep 0.1; done")))
    former = await stage.reached("w", "it", State.RUNNING)

    async def starts() -> bool | None:
        page = await stage.api.list(PODS, stage.namespace, label_selector=of_taskrun(former))
        return True if [body["status"]["phase"] for body in page.items] == ["Running"] else None

    await stage.until(starts, TIMEOUT, "its container to start")
    async with stage.watching(f"{constants.LABEL_TASK}=it") as pods:
        await stage.annotate("w", constants.CLEAR, "it")

        async def anew() -> bool | None:
            runs = await stage.taskruns("w", "it")
            return True if any(run.spec.clears == 1 and run.status.state is State.RUNNING for run in runs) else None

        await stage.until(anew, TIMEOUT, "it to run again")

        async def is_seen() -> bool | None:
            phases = [state.phase for state in pods.states]
            return True if "Pending" in phases[phases.index("Gone") :] else None

        await stage.until(is_seen, TIMEOUT, "its next pod to be seen")
    (run,) = await stage.taskruns("w", "it")
    names = [(state.name, state.phase) for state in pods.states]
    (gone,) = [at for at, (_, phase) in enumerate(names) if phase == "Gone"]
    assert "Pending" not in [phase for _, phase in names[:gone]]
    assert names[gone + 1][1] == "Pending"
    assert run.metadata.uid != former.metadata.uid
    page = await stage.api.list(PODS, stage.namespace, label_selector=of_taskrun(former))
    assert page.items == []
    await stage.edit("w", "cancel", value=True)
    await stage.ended("w")
