"""A node that falls silent while a task runs on it: the run says so and waits, since the process may still go on.

The node is a second one that the tests bring and take along. What ends the silence decides: the node comes back, or
somebody deletes it. Most of the time here is Kubernetes' own: 50 s until a node counts as unreachable, the pod's
toleration, its 10 s to end; then the operator's `node_grace` of 30 s. A deleted node's pods go after 40 to 60 s.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from torpor_crds.models.taskrun import TaskRun
from torpor_demo.kubectl import Kubectl
from torpor_dev import external_cluster, extra_node
from torpor_kubernetes.client.resources import PODS
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.e2e.support import node
from tests.e2e.support.concurrent_runs import IMAGE, Spec, python, spec
from tests.e2e.support.stage import TIMEOUT, ClusterFixture, Sightings, condition, of_taskrun

_SILENT = 300.0
_BRIEFLY = {"tolerationSeconds": 2}


@pytest.fixture(scope="module")
def second(kubectl: Kubectl) -> Iterator[str]:
    """A node to lose."""
    if (given := external_cluster.kubeconfig()) is not None:
        pytest.skip(f"{given} is a cluster of the user's, and its nodes are not ours to stop")
    kubectl.read("nodes")  # ours, and brought up
    with extra_node.joined([IMAGE]) as name:
        yield name


async def test_a_lost_node_stalls_the_run_until_the_node_answers(stage: ClusterFixture, second: str) -> None:
    run = await _runs_on(stage, second, seconds=3600)
    async with stage.watching(of_taskrun(run)) as pods:
        await asyncio.to_thread(node.pause, second)
        lost = await stage.until(lambda: _lost(stage), _SILENT, "NodeLost")
        assert await _stalled(stage)
        first = f"{run.metadata.name}-a1-s0"
        assert first in (lost.status.message or "")
        note = await stage.event(run.metadata.uid, Reason.NODE_LOST)
        assert first in note
        assert (lost.status.state, lost.status.attempt, lost.status.launch) == (State.RUNNING, 1, 0)
        assert lost.status.pod == run.status.pod
        assert {state.name for state in pods.states} == {first}
        await asyncio.to_thread(node.go_on, second)
        ended = await stage.ended("w")
    assert ended.status.state == "Succeeded", ended.status.conditions
    assert condition(ended, "Stalled")[0] == "False"
    (again,) = await stage.taskruns("w", "it")
    assert again.status.result == f'"{_next(again)}"'
    _assert_one_after_the_other(pods, [first, _next(again)])


async def test_the_task_of_a_deleted_lost_node_runs_on_another_node(stage: ClusterFixture, second: str) -> None:
    run = await _runs_on(stage, second, seconds=20)
    assert run.status.pod is not None
    async with stage.watching(of_taskrun(run)) as pods:
        await asyncio.to_thread(node.pause, second)
        await asyncio.to_thread(extra_node.forget)
        ended = await stage.ended("w")
    assert ended.status.state == "Succeeded", ended.status.conditions
    (before,) = await stage.taskruns("w", "it")
    assert before.status.result == f'"{_next(before)}"'
    _assert_one_after_the_other(pods, [f"{run.metadata.name}-a1-s0", _next(before)])
    # Its sleep is over meanwhile, and it does not know that it was given up.
    await asyncio.to_thread(node.go_on, second)
    await stage.until(lambda: _is_over(second, run), TIMEOUT, "the process on the deleted node to end")
    (after,) = await stage.taskruns("w", "it")
    assert after == before


async def _runs_on(stage: ClusterFixture, second: str, *, seconds: float) -> TaskRun:
    """A task that runs user code on the node."""
    await stage.until(lambda: _takes_pods(stage, second), TIMEOUT, f"{second} to take pods")
    await stage.start("w", _first_stays(second, seconds))
    run = await stage.reached("w", "it", State.RUNNING)
    assert run.status.pod is not None
    pod = await stage.api.get(PODS, stage.namespace, run.status.pod.name)
    assert pod["spec"]["nodeName"] == second
    return run


def _first_stays(second: str, seconds: float) -> Spec:
    """Preferred, not required: what is started anew may run elsewhere."""
    there = {"key": "kubernetes.io/hostname", "operator": "In", "values": [second]}
    preferred = {"weight": 100, "preference": {"matchExpressions": [there]}}
    pod: dict[str, Any] = {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}},
        "tolerations": [
            {"key": extra_node.TAINT, "operator": "Exists"},
            *(
                {"key": f"node.kubernetes.io/{plight}", "operator": "Exists", "effect": "NoExecute", **_BRIEFLY}
                for plight in ("not-ready", "unreachable")
            ),
        ],
    }
    retries = {"limit": 1, "delay": "1s"}
    return spec(python("it", "first_stays", args={"seconds": seconds}, retries=retries, pod=pod))


async def _takes_pods(stage: ClusterFixture, name: str) -> bool | None:
    node = await stage.api.read(f"/api/v1/nodes/{name}")
    return True if [taint["key"] for taint in node["spec"].get("taints", [])] == [extra_node.TAINT] else None


async def _lost(stage: ClusterFixture) -> TaskRun | None:
    return next((run for run in await stage.taskruns("w") if run.status.reason == Reason.NODE_LOST), None)


async def _stalled(stage: ClusterFixture) -> bool:
    async def there() -> bool | None:
        return True if condition(await stage.workflow("w"), "Stalled") == ("True", Reason.NODE_LOST) else None

    return bool(await stage.until(there, TIMEOUT, "the Workflow to be Stalled with NodeLost"))


async def _is_over(name: str, run: TaskRun) -> bool | None:
    assert run.status.pod is not None
    return None if await asyncio.to_thread(node.processes, name, run.status.pod.uid or "") else True


def _next(run: TaskRun) -> str:
    """The name of the pod that came after the lost one: a launch more, or an attempt where its end was not seen."""
    launched, retried = (1, 1), (2, 0)
    assert (run.status.attempt, run.status.launch) in {launched, retried}
    suffix = "-a1-s0-l1" if run.status.launch else "-a2-s0"
    return run.metadata.name + suffix


def _assert_one_after_the_other(pods: Sightings, names: list[str]) -> None:
    assert list(dict.fromkeys(state.name for state in pods.states)) == names
    began = next(state.at for state in pods.states if state.name == names[1])
    assert pods.live(began - 1e-6, began) == []
