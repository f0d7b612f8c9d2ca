"""What is decided about a cluster that was found, for each state it can be in."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from torpor_dev import health
from torpor_dev.health import Action, NodeContainer

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def node(name: str = "one", *, ready: str = "True", heard: timedelta = timedelta(minutes=2)) -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": (NOW - heard).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {"metadata": {"name": name}, "status": {"conditions": [condition]}}


def lease(name: str = "one", *, age: timedelta = timedelta(seconds=5)) -> dict[str, Any]:
    renewed = (NOW - age).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"metadata": {"name": name}, "spec": {"renewTime": renewed}}


def container(state: str = "running", image: str = "node:a", name: str = "one") -> NodeContainer:
    return NodeContainer(name=name, image=image, state=state)


@pytest.mark.parametrize(
    ("containers", "faults", "expected"),
    [
        ([], [], Action.CREATE),
        ([container()], [], Action.KEEP),
        ([container()], ["coredns is not available"], Action.AWAIT),
        ([container("exited")], [], Action.START),
        ([container("paused")], [], Action.START),
        ([container(image="node:b")], [], Action.REPLACE),
        ([container("exited", image="node:b")], [], Action.REPLACE),
        ([container(), container(name="two")], [], Action.REPLACE),
    ],
)
def test_the_step_follows_from_what_is_found(
    containers: list[NodeContainer], faults: list[str], expected: Action
) -> None:
    assert health.plan(containers, image="node:a", nodes=1, faults=faults) is expected


def test_a_ready_node_with_a_fresh_lease_has_no_fault() -> None:
    assert health.node_faults([node()], [lease()], expected=1, now=NOW) == []


def test_a_node_that_reads_ready_but_went_silent_is_a_fault() -> None:
    stale = lease(age=timedelta(seconds=40))
    assert health.node_faults([node()], [stale], expected=1, now=NOW) == ["node one is silent"]


def test_a_young_node_without_a_lease_is_believed_by_its_status() -> None:
    young = node(heard=timedelta(seconds=3))
    assert health.node_faults([young], [], expected=1, now=NOW) == []


def test_missing_and_unready_nodes_are_named() -> None:
    faults = health.node_faults([node(ready="False")], [lease()], expected=2, now=NOW)
    assert faults == ["1 of 2 nodes have joined", "node one is not Ready"]


def test_workloads_that_do_not_run_are_named() -> None:
    deployments = [{"metadata": {"name": "coredns"}, "status": {"observedGeneration": 1}}]
    daemonsets = [{"metadata": {"name": "kube-proxy"}, "status": {"desiredNumberScheduled": 2, "numberReady": 1}}]
    assert health.workload_faults(deployments, daemonsets, nodes=2) == [
        "coredns is not available",
        "kube-proxy is not ready on every node",
    ]


def test_workloads_that_run_have_no_fault() -> None:
    deployments = [{"metadata": {"name": "coredns"}, "status": {"observedGeneration": 1, "availableReplicas": 1}}]
    daemonsets = [{"metadata": {"name": "kube-proxy"}, "status": {"desiredNumberScheduled": 2, "numberReady": 2}}]
    assert health.workload_faults(deployments, daemonsets, nodes=2) == []


def test_a_daemonset_pod_missing_on_an_extra_node_is_not_a_fault() -> None:
    daemonsets = [{"metadata": {"name": "kube-proxy"}, "status": {"desiredNumberScheduled": 2, "numberReady": 1}}]
    assert health.workload_faults([], daemonsets, nodes=1) == []


def test_a_cluster_without_a_default_storage_class_is_not_complete() -> None:
    usual = {"metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    assert health.storage_faults([{"metadata": {"name": "other"}}, usual]) == []
    for classes in ([], [{"metadata": {"name": "other"}}]):
        assert health.storage_faults(classes) == ["there is no default StorageClass"]
