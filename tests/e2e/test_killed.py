"""The operator or a triggerer dies of SIGKILL in the middle of a run; nothing is lost and nothing is done twice."""

import asyncio
import json
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.resources import LEASES
from torpor_triggerer.sharding import assignment
from torpor_wire.state import State

from tests.e2e.support import node
from tests.e2e.support.concurrent_runs import example, python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_OPERATOR = "torpor_operator"
_OPERATOR_LEASE = "torpor-operator"
_TRIGGERER = "torpor_triggerer"
_LEASE = 15
_WAITS = [f"{seconds}s" for seconds in range(60, 70)]


async def test_the_demo_succeeds_although_the_leading_operator_is_killed(
    stage: ClusterFixture, kubectl: Kubectl
) -> None:
    await stage.start("census", example())
    await stage.until(lambda: _fanned_out(stage), TIMEOUT, "the first of the mapped TaskRuns")
    leader = _holder(await stage.until(lambda: _held_lease(stage), TIMEOUT, "an operator to lead"))
    before = node.restarts(kubectl, leader)
    assert await asyncio.to_thread(node.kill, kubectl, leader, _OPERATOR) > 0
    workflow = await stage.ended("census")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    runs = await stage.taskruns("census")
    assert {(run.status.state, run.status.attempt) for run in runs} == {(State.SUCCEEDED, 1)}
    assert sorted(run.status.segment for run in runs)[-2:] == [0, 1]

    async def is_restarted() -> bool | None:
        return True if node.restarts(kubectl, leader) == before + 1 else None

    await stage.until(is_restarted, TIMEOUT, "the container of the killed operator to start again")


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


async def test_a_leading_operator_that_stops_hands_over_at_once(stage: ClusterFixture, kubectl: Kubectl) -> None:
    lease = await stage.until(lambda: _held_lease(stage), TIMEOUT, "an operator to lead")
    leader = _holder(lease)
    kubectl.run("delete", "pod", leader, "-n", node.SYSTEM, "--wait=false")
    holders = await asyncio.wait_for(_holders(stage, lease), TIMEOUT)
    assert holders[-1] != leader
    assert "" in holders, "the Lease was released, and did not expire"


async def _fanned_out(stage: ClusterFixture) -> bool | None:
    return True if await stage.taskruns("census", "measure") else None


async def _held_lease(stage: ClusterFixture) -> dict[str, Any] | None:
    lease = await stage.api.get(LEASES, node.SYSTEM, _OPERATOR_LEASE)
    return lease if _holder(lease) else None


def _holder(lease: Mapping[str, Any]) -> str:
    holder: str = lease["spec"].get("holderIdentity") or ""
    return holder


async def _holders(stage: ClusterFixture, lease: Mapping[str, Any]) -> list[str]:
    """The holders of a Lease after this version of it, up to the first that is another one."""
    metadata, holders = lease["metadata"], list[str]()
    field, version = f"metadata.name={metadata['name']}", metadata["resourceVersion"]
    async for event in stage.api.watch(LEASES, node.SYSTEM, resource_version=version, field_selector=field):
        if event.type != "BOOKMARK":
            holders.append(_holder(event.object))
            if holders[-1] not in {"", _holder(lease)}:
                break
    return holders


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
