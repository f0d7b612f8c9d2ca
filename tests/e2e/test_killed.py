"""The operator or a triggerer dies of SIGKILL in the middle of a run; nothing is lost and nothing is done twice."""

import asyncio
import json
import time
from datetime import datetime

from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.resources import LEASES
from torpor_triggerer.sharding import assignment
from torpor_wire.state import State

from tests.e2e.support import node
from tests.e2e.support.concurrent_runs import example, python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_OPERATOR = "torpor_operator"
_TRIGGERER = "torpor_triggerer"
_LEASE = 15
_WAITS = [f"{seconds}s" for seconds in range(60, 70)]


async def test_the_demo_succeeds_although_the_leading_operator_is_killed(
    stage: ClusterFixture, kubectl: Kubectl
) -> None:
    await stage.start("census", example())
    await stage.until(lambda: _fanned_out(stage), TIMEOUT, "the first of the mapped TaskRuns")
    leader = await _leader(stage)
    before = node.restarts(kubectl, leader)
    assert await asyncio.to_thread(node.kill, kubectl, leader, _OPERATOR) > 0
    workflow = await stage.ended("census")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    runs = await stage.taskruns("census")
    assert {(run.status.state, run.status.attempt) for run in runs} == {(State.SUCCEEDED, 1)}
    assert sorted(run.status.segment for run in runs)[-2:] == [0, 1]
    assert node.restarts(kubectl, leader) == before + 1


async def test_each_trigger_of_a_killed_triggerer_fires_once(stage: ClusterFixture, kubectl: Kubectl) -> None:
    await stage.start(
        "w",
        spec(
            python("mid", "wait", expand=[{"name": "length", "over": _WAITS[:4]}]),
            *(wait(f"w{position}", length) for position, length in enumerate(_WAITS)),
        ),
    )
    await stage.until(lambda: _all_deferred(stage), TIMEOUT, "every wait to be deferred")
    held = await _held(stage)
    victim = max(held, key=lambda name: len(held[name]))
    assert held[victim]
    assert await asyncio.to_thread(node.kill, kubectl, victim, _TRIGGERER) > 0
    # Gone for good: what it held must go to another, and not back to a container that starts anew under the same name.
    kubectl.run("delete", "pod", victim, "-n", node.SYSTEM, "--force", "--grace-period=0")
    workflow = await stage.ended("w")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    runs = await stage.taskruns("w")
    assert {(run.status.attempt, run.status.segment) for run in runs if run.spec.trigger} <= {(1, 0), (1, 1)}
    resumed = [json.loads(run.status.result or "") for run in runs if run.spec.python]
    assert [(each["attempt"], each["segment"]) for each in resumed] == [(1, 1)] * 4
    kubectl.run("rollout", "status", "deployment/torpor-triggerer", "-n", node.SYSTEM, "--timeout=300s", limit=330)


async def test_a_leading_operator_that_is_told_to_stop_hands_over_at_once(
    stage: ClusterFixture, kubectl: Kubectl
) -> None:
    leader = await _leader(stage)

    async def another() -> bool | None:
        return True if await _leader(stage) not in {leader, ""} else None

    kubectl.run("delete", "pod", leader, "-n", node.SYSTEM, "--wait=false")
    assert await stage.until(another, _LEASE - 1, "another operator to lead")


async def _fanned_out(stage: ClusterFixture) -> bool | None:
    return True if await stage.taskruns("census", "measure") else None


async def _leader(stage: ClusterFixture) -> str:
    lease = await stage.api.get(LEASES, node.SYSTEM, "torpor-operator")
    holder: str = lease["spec"].get("holderIdentity", "")
    return holder


async def _all_deferred(stage: ClusterFixture) -> bool | None:
    runs = await stage.taskruns("w")
    return True if len(runs) == 14 and all(run.status.state is State.DEFERRED for run in runs) else None


async def _held(stage: ClusterFixture) -> dict[str, list[str]]:
    """The waits that each triggerer's pod runs, by the rule that the triggerers themselves go by."""
    leases = (await stage.api.list(LEASES, node.SYSTEM, label_selector="torpor.dev/trigger-pool=default")).items
    holders = {
        lease["metadata"]["name"]: lease["spec"]["holderIdentity"]
        for lease in leases
        if time.time() - datetime.fromisoformat(lease["spec"]["renewTime"]).timestamp() < _LEASE
    }
    held: dict[str, list[str]] = {holder: [] for holder in holders.values()}
    for run in await stage.taskruns("w"):
        assert run.status.trigger is not None
        owner = assignment.owner(run.status.trigger.shard, holders)
        held[holders[owner or ""]].append(run.metadata.name)
    return held
