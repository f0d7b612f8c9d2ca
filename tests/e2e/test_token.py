"""A task pod's own token, used by hand: what it can do is its own TaskRun's next transition, and no more."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from torpor_crds.models.taskrun import TaskRun
from torpor_demo.install import NAMESPACE, SYSTEM
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.errors import Forbidden
from torpor_kubernetes.client.resources import PODS, SECRETS, TASKRUNS, WORKFLOWS, Resource
from torpor_wire import constants, transitions
from torpor_wire.state import State

from tests.e2e.support.bearer import bearer
from tests.e2e.support.concurrent_runs import python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

CONFIG_MAPS = Resource(group="", version="v1", plural="configmaps", kind="ConfigMap")
NAMESPACES = Resource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intruder:
    """The API as a task pod sees it; its own TaskRun, and others'."""

    api: Api
    own: TaskRun
    sleeping: TaskRun
    waiting: TaskRun


@pytest_asyncio.fixture(loop_scope="session")
async def intruder(stage: ClusterFixture, kubectl: Kubectl, tmp_path: Path) -> AsyncIterator[Intruder]:
    naps = {"seconds": 300}
    await stage.start("w", spec(python("own", "nap", args=naps), python("other", "nap", args=naps), wait("far", "5m")))
    own = await stage.reached("w", "own", State.RUNNING)
    sleeping = await stage.reached("w", "other", State.RUNNING)
    waiting = await stage.reached("w", "far", State.DEFERRED)
    assert own.status.pod is not None
    read = f"print(open({constants.CREDENTIALS + '/token'!r}).read())"
    token = kubectl.run("exec", "-n", stage.namespace, own.status.pod.name, "--", "python", "-c", read).strip()
    async with bearer(kubectl, token, tmp_path / "kubeconfig") as api:
        yield Intruder(api=api, own=own, sleeping=sleeping, waiting=waiting)
    await stage.edit("w", "cancel", value=True)


async def test_a_task_pods_token_reads_and_writes_what_is_its_own_alone(
    intruder: Intruder, stage: ClusterFixture
) -> None:
    api, own = intruder.api, intruder.own
    assert (await api.get(TASKRUNS, stage.namespace, own.metadata.name))["metadata"]["uid"] == own.metadata.uid

    for other in (intruder.sleeping, intruder.waiting):
        for patch in (transitions.cancel(other.pin(), message="mine", now=time.time()), _result(other)):
            with pytest.raises(Forbidden):
                await api.patch(TASKRUNS, stage.namespace, other.metadata.name, patch, subresource="status")
    fire = transitions.fire(intruder.waiting.pin(), '"now"', deferred=1.0, now=time.time())
    with pytest.raises(Forbidden):
        await api.patch(TASKRUNS, stage.namespace, intruder.waiting.metadata.name, fire, subresource="status")

    attempt = [{"op": "replace", "path": "/status/attempt", "value": 2}]
    with pytest.raises(Forbidden):
        await api.patch(TASKRUNS, stage.namespace, own.metadata.name, attempt, subresource="status")
    with pytest.raises(Forbidden):
        await api.patch(
            TASKRUNS, stage.namespace, own.metadata.name, [{"op": "add", "path": "/metadata/labels/a", "value": "b"}]
        )
    with pytest.raises(Forbidden):
        await api.delete(TASKRUNS, stage.namespace, own.metadata.name)

    await api.patch(
        TASKRUNS,
        stage.namespace,
        own.metadata.name,
        transitions.succeed(own.pin(), '"by hand"', now=time.time()),
        subresource="status",
    )
    run = await stage.reached("w", "own", State.SUCCEEDED)
    assert run.status.result == '"by hand"'


async def test_a_task_pods_token_reads_nothing_but_its_own_taskruns(intruder: Intruder, stage: ClusterFixture) -> None:
    for resource in (SECRETS, CONFIG_MAPS, PODS, WORKFLOWS, TASKRUNS):
        for namespace in (stage.namespace, NAMESPACE, SYSTEM, "kube-system", None):
            with pytest.raises(Forbidden):
                await intruder.api.list(resource, namespace)
    own = intruder.own.metadata.name
    for resource, namespace, name in (
        (SECRETS, stage.namespace, "any"),
        (SECRETS, "kube-system", "any"),
        (CONFIG_MAPS, stage.namespace, "kube-root-ca.crt"),
        (PODS, stage.namespace, f"{own}-a1-s0"),
        (WORKFLOWS, stage.namespace, "w"),
        (TASKRUNS, NAMESPACE, own),
        (NAMESPACES, None, stage.namespace),
    ):
        with pytest.raises(Forbidden):
            await intruder.api.get(resource, namespace, name)


async def test_the_token_dies_with_its_pod(intruder: Intruder, stage: ClusterFixture) -> None:
    own = intruder.own
    assert own.status.pod is not None
    await stage.api.delete(PODS, stage.namespace, own.status.pod.name, grace_seconds=0)
    await asyncio.sleep(1)

    async def refused() -> bool | None:
        try:
            await intruder.api.get(TASKRUNS, stage.namespace, own.metadata.name)
        except Forbidden:
            return True
        return None

    # The API server remembers a token that it has checked for ten seconds.
    assert await stage.until(refused, TIMEOUT, "the token of a pod that is gone to be refused")


def _result(run: TaskRun) -> transitions.Patch:
    pin = run.pin()
    return (
        transitions.succeed(pin, '"mine"', now=time.time())
        if pin.state is State.RUNNING
        else transitions.fire(pin, '"mine"', deferred=1.0, now=time.time())
    )
