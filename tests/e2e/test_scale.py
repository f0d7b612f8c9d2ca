"""Triggerers come and go as people make them: scaled up and down, rolled, evicted. Each wait fires once, none early."""

import asyncio
import json
from datetime import datetime, timedelta

from torpor_crds.models.taskrun import TaskRun
from torpor_demo.kubectl import Kubectl
from torpor_dev.console import CommandError
from torpor_kubernetes.client.resources import LEASES, PODS
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import spec, wait
from tests.e2e.support.node import SYSTEM
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_DEPLOYMENT = "deployment/torpor-triggerer"
_POOL = "torpor.dev/trigger-pool=default"
_LENGTHS = [f"{seconds}s" for seconds in range(60, 110)]


async def test_waits_fire_once_while_triggerers_are_scaled_rolled_and_evicted(
    stage: ClusterFixture, kubectl: Kubectl
) -> None:
    await stage.start(
        "w",
        spec(
            {"name": "sleep", "trigger": {"class": "duration"}, "expand": [{"name": "duration", "over": _LENGTHS}]},
            {"name": "same", "trigger": {"class": "workflow"}, "expand": [{"name": "name", "over": 20 * ["go"]}]},
        ),
    )
    await stage.until(lambda: _deferred(stage, len(_LENGTHS) + 20), TIMEOUT, "every wait to be deferred")
    try:
        await _scaled(stage, kubectl, 5)
        await _evicted(stage, kubectl)
        _run(kubectl, "rollout", "restart", _DEPLOYMENT)
        await asyncio.to_thread(_run, kubectl, "rollout", "status", _DEPLOYMENT, "--timeout=300s")
    finally:
        await _scaled(stage, kubectl, 2)
    await stage.start("go", spec(wait("a", "1s")))
    workflow = await stage.ended("w")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    runs = await stage.taskruns("w")
    assert {(run.status.state, run.status.attempt, run.status.segment) for run in runs} == {(State.SUCCEEDED, 1, 0)}
    assert [run.metadata.name for run in runs if run.spec.task == "sleep" and _ended_early(run)] == []


async def _deferred(stage: ClusterFixture, count: int) -> bool | None:
    runs = await stage.taskruns("w")
    return True if len(runs) == count and all(run.status.state is State.DEFERRED for run in runs) else None


async def _scaled(stage: ClusterFixture, kubectl: Kubectl, replicas: int) -> None:
    """Return when there are that many, each with a Lease; one that was killed long ago may have left its own."""
    _run(kubectl, "scale", _DEPLOYMENT, f"--replicas={replicas}")

    async def there() -> bool | None:
        pods = {pod["metadata"]["name"] for pod in (await stage.api.list(PODS, SYSTEM, label_selector=_POOL)).items}
        leases = (await stage.api.list(LEASES, SYSTEM, label_selector=_POOL)).items
        held = {lease["spec"].get("holderIdentity", "") for lease in leases}
        return True if len(pods) == replicas and pods <= held else None

    await stage.until(there, TIMEOUT, f"{replicas} triggerers to hold a Lease each")


async def _evicted(stage: ClusterFixture, kubectl: Kubectl) -> None:
    """As a drain of its node does it, one that the disruption budget allows."""
    items = (await stage.api.list(PODS, SYSTEM, label_selector=_POOL)).items
    name = items[0]["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": SYSTEM}}

    async def accepted() -> bool | None:
        """The budget refuses while another replica is not ready yet; a drain asks again, too."""
        try:
            kubectl.run("create", "--raw", PODS.path(SYSTEM, name, "eviction"), "-f", "-", stdin=json.dumps(body))
        except CommandError as error:
            if "disruption budget" not in str(error):
                raise
            return None
        return True

    await stage.until(accepted, TIMEOUT, f"the eviction of {name} to be allowed")

    async def gone() -> bool | None:
        left = (await stage.api.list(PODS, SYSTEM, label_selector=_POOL)).items
        return True if name not in {pod["metadata"]["name"] for pod in left} else None

    await stage.until(gone, TIMEOUT, f"pod {name} to go")


def _run(kubectl: Kubectl, *words: str) -> None:
    kubectl.run(*words, "-n", SYSTEM, limit=330)


def _ended_early(run: TaskRun) -> bool:
    """Whether it ended before its own length had passed since it was deferred, to the millisecond."""
    began, ended = run.status.deferred_at, run.status.completion_time
    assert began is not None
    assert ended is not None
    length = timedelta(seconds=int(_LENGTHS[run.spec.map_index].rstrip("s")), milliseconds=-5)
    return datetime.fromisoformat(ended) < datetime.fromisoformat(began) + length
