"""Pools: a wait is its pool's, whose triggerers alone know its class and may end it. One is examples/own-trigger's."""

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_crds.models.taskrun import TaskRun
from torpor_demo import cluster, images
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_demo.install import SYSTEM, apply, roll_out
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.errors import Forbidden
from torpor_kubernetes.client.resources import TASKRUNS, Resource
from torpor_wire import transitions
from torpor_wire.state import State

from tests.e2e.support.bearer import bearer
from tests.e2e.support.concurrent_runs import spec, wait
from tests.e2e.support.stage import ClusterFixture

IMAGE = Image(name="own-trigger:dev", context=ROOT / "examples/own-trigger")
POOL = "own"
SERVICES = Resource(group="", version="v1", plural="services", kind="Service")
_FOLDER = IMAGE.context / "pool"
_DEPLOYMENT = f"deployment/torpor-triggerer-{POOL}"
_PODS = f"torpor.dev/trigger-pool={POOL}"


@pytest.fixture(scope="session")
def pool(kubectl: Kubectl) -> Iterator[str]:
    """The example's pool, set up by the commands of docs/how-to/write-a-trigger.md."""
    built = images.build([IMAGE], "")
    cluster.load([IMAGE.name])
    apply(kubectl, _FOLDER, built[IMAGE.name])
    roll_out(kubectl, _DEPLOYMENT)
    yield POOL
    kubectl.run("delete", "-k", _FOLDER, "--wait=false", "--ignore-not-found")


def example(host: str) -> Mapping[str, Any]:
    """The example's Workflow, for a host of the test's own."""
    spec: dict[str, Any] = yaml.safe_load((IMAGE.context / "workflow.yaml").read_text())["spec"]
    return {**spec, "params": {"host": host}}


async def publish(stage: ClusterFixture, name: str) -> str:
    """Have a Service; gives its address."""
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}]},
    }
    address: str = (await stage.api.create(SERVICES, stage.namespace, body))["spec"]["clusterIP"]
    return address


def scale(kubectl: Kubectl, replicas: int) -> None:
    kubectl.run("scale", "-n", SYSTEM, _DEPLOYMENT, f"--replicas={replicas}")
    if replicas:
        roll_out(kubectl, _DEPLOYMENT)
    else:
        kubectl.run("wait", "-n", SYSTEM, "--for=delete", "pod", "-l", _PODS, "--timeout=300s", limit=330)


@asynccontextmanager
async def triggerer(kubectl: Kubectl, account: str, path: Path) -> AsyncIterator[Api]:
    """The API as a pool's triggerers see it."""
    token = kubectl.run("create", "token", "-n", SYSTEM, account).strip()
    async with bearer(kubectl, token, path) as api:
        yield api


async def write(api: Api, run: TaskRun, patch: transitions.Patch) -> None:
    await api.patch(TASKRUNS, run.metadata.namespace, run.metadata.name, patch, subresource="status")


async def test_a_wait_ends_by_its_own_pools_triggerers_alone(
    pool: str, stage: ClusterFixture, kubectl: Kubectl
) -> None:
    scale(kubectl, 0)
    await stage.start("own", example(f"late.{stage.namespace}.svc.cluster.local"))
    await stage.start("due", {**spec(wait("it", "1s")), "triggerPool": pool})
    published = await stage.reached("own", "published", State.DEFERRED)
    due = await stage.reached("due", "it", State.DEFERRED)
    address = await publish(stage, "late")

    # The default pool's triggerers are there and awake; one of the two waits is of a class that they know.
    await stage.start("meanwhile", spec(wait("it", "4s")))
    await stage.ended("meanwhile")
    for before in (published, due):
        (now,) = await stage.taskruns(before.spec.owner.name)
        assert now.status.trigger == before.status.trigger
        assert (now.status.state, now.status.segment) == (State.DEFERRED, 0)

    scale(kubectl, 1)
    for name in ("own", "due"):
        workflow = await stage.ended(name)
        assert workflow.status.state == "Succeeded", workflow.status.conditions
    (run,) = await stage.taskruns("own")
    assert json.loads(run.status.result or "")["addresses"] == [address]


async def test_a_pools_triggerers_may_end_its_waits_and_no_other_pools(
    pool: str, stage: ClusterFixture, kubectl: Kubectl, tmp_path: Path
) -> None:
    await stage.start("own", {**spec(wait("it", "10m")), "triggerPool": pool})
    await stage.start("default", spec(wait("it", "10m")))
    waits = {name: await stage.reached(name, "it", State.DEFERRED) for name in ("own", "default")}
    async with (
        triggerer(kubectl, f"torpor-triggerer-{pool}", tmp_path / "own") as own,
        triggerer(kubectl, "torpor-triggerer", tmp_path / "default") as default,
    ):
        for api, closed in ((own, "default"), (default, "own")):
            for patch in (
                transitions.fire(waits[closed].pin(), '"mine"', deferred=1.0, now=time.time()),
                transitions.succeed(waits[closed].pin(), '"mine"', now=time.time()),
            ):
                with pytest.raises(Forbidden, match=f"a triggerer of pool {closed}"):
                    await write(api, waits[closed], patch)
        for api, open_ in ((own, "own"), (default, "default")):
            await write(api, waits[open_], transitions.succeed(waits[open_].pin(), '"mine"', now=time.time()))
            assert (await stage.reached(open_, "it", State.SUCCEEDED)).status.result == '"mine"'


async def test_a_class_that_the_pool_asked_does_not_have_fails_with_what_to_do(
    pool: str, stage: ClusterFixture
) -> None:
    elsewhere = {name: value for name, value in example("localhost").items() if name != "triggerPool"}
    await stage.start("w", elsewhere)
    run = await stage.reached("w", "published", State.FAILED)
    assert run.status.reason == "TriggerUnknown"
    for words in ("pool default", "'resolves'", "triggerPool", "--trigger name=module:Class"):
        assert words in (run.status.message or "")
    assert await stage.event(run.metadata.uid, "TriggerUnknown")
