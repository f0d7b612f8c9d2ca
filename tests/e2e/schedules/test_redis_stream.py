"""examples/schedules/stream on the cluster: each entry of a Redis stream starts one run with a real pod."""

import json

import pytest
from torpor_crds.models.schedule import Schedule
from torpor_demo import cluster, images
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_demo.kubectl import Kubectl
from torpor_wire.reason import Reason

from tests.e2e.schedules.test_schedules import ended, reached
from tests.e2e.support.stage import ClusterFixture

REDIS = Image(name="orders-redis:dev", context=ROOT / "examples/schedules/stream", based=True)
_DEPLOYMENT = "deployment/orders-redis"
_NAMESPACE = "torpor-demo"  # that of the example, also in the URL of the stream


@pytest.fixture(scope="session")
def redis(kubectl: Kubectl) -> str:
    """The example's image on the nodes, by the commands of its README."""
    images.build([REDIS], cluster.base_image())
    cluster.load([REDIS.name])
    return REDIS.name


def deploy(kubectl: Kubectl, namespace: str) -> None:
    """Apply the example in a namespace of the test's own."""
    objects = kubectl.run("kustomize", REDIS.context).replace(_NAMESPACE, namespace)
    kubectl.run("apply", "-f", "-", stdin=objects)
    kubectl.run("rollout", "status", "-n", namespace, _DEPLOYMENT, "--timeout=120s", limit=150)


def add(kubectl: Kubectl, namespace: str, order: str) -> str:
    """Add an entry to the stream; return its id."""
    entry = ("redis-cli", "XADD", "orders", "*", "order", order)
    return kubectl.run("exec", "-n", namespace, _DEPLOYMENT, "--", *entry).strip()


async def test_each_entry_of_the_stream_starts_one_run(redis: str, stage: ClusterFixture, kubectl: Kubectl) -> None:
    deploy(kubectl, stage.namespace)
    orders = [str(number) for number in range(1, 8)]
    for order in orders:
        add(kubectl, stage.namespace, order)
    last = add(kubectl, stage.namespace, "none")

    runs = await ended(stage, "orders", len(orders))
    assert sorted(run.spec.params["order"] for run in runs) == orders
    for run in runs:
        assert run.status.state == "Succeeded", run.status.conditions
        (packed,) = await stage.taskruns(run.metadata.name)
        assert json.loads(packed.status.result or "") == f"packed {run.spec.params['order']}"

    def is_over(schedule: Schedule) -> bool:
        return schedule.status.sources[0].cursor == last

    status = (await reached(stage, "orders", is_over, "handles the last entry")).status
    assert (status.started, status.sources[0].events) == (len(orders), len(orders) + 1)
    (failed,) = status.failed_events
    assert failed.reason == Reason.RUN_REJECTED
    assert "param order must match" in failed.message
