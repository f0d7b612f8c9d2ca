"""Decides how to repair a cluster from its observed state. Pure: no I/O, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

_FRESH = timedelta(seconds=25)  # a kubelet renews its lease every 10 s
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


class Action(Enum):
    """The next step towards a healthy cluster."""

    KEEP = "keep"
    AWAIT = "await"
    START = "start"
    CREATE = "create"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContainer:
    """The container of a node; the name of its image has the fingerprint of its configuration."""

    name: str
    image: str
    state: str

    @property
    def running(self) -> bool:
        """Whether its processes run, neither ended nor paused."""
        return self.state == "running"


def plan(containers: Sequence[NodeContainer], *, image: str, nodes: int, faults: Sequence[str]) -> Action:
    """The next step, from the nodes and the faults of the cluster."""
    if not containers:
        return Action.CREATE
    if len(containers) != nodes or any(each.image != image for each in containers):
        return Action.REPLACE
    if not all(each.running for each in containers):
        return Action.START
    return Action.AWAIT if faults else Action.KEEP


def node_faults(
    nodes: Iterable[Mapping[str, Any]], leases: Iterable[Mapping[str, Any]], *, expected: int, now: datetime
) -> list[str]:
    """The faults of the nodes.

    A node that died a minute ago is still Ready until its controller notices. So a node needs a recently renewed Lease,
    or a fresh status if it has no Lease yet.
    """
    conditions = {node["metadata"]["name"]: _ready(node) for node in nodes}
    heard = {name: ready.get("lastHeartbeatTime") for name, ready in conditions.items()}
    renewed = {lease["metadata"]["name"]: lease.get("spec", {}).get("renewTime") for lease in leases}
    missing = [] if len(conditions) == expected else [f"{len(conditions)} of {expected} nodes have joined"]
    unready = [f"node {name} is not Ready" for name, ready in conditions.items() if ready.get("status") != "True"]
    silent = [f"node {name} is silent" for name in conditions if not _any_fresh(now, heard[name], renewed.get(name))]
    return missing + unready + silent


def workload_faults(
    deployments: Iterable[Mapping[str, Any]], daemonsets: Iterable[Mapping[str, Any]], *, nodes: int
) -> list[str]:
    """The faults of the cluster's own workloads: DNS, volume provisioner, kube-proxy and network.

    `nodes` is the number of the cluster's own nodes. DaemonSet pods of an extra node do not count.
    """
    faults = []
    for deployment in deployments:
        status = deployment.get("status", {})
        if status.get("availableReplicas", 0) < 1 or status.get("observedGeneration", 0) < 1:
            faults.append(f"{deployment['metadata']['name']} is not available")
    short = [each for each in daemonsets if each.get("status", {}).get("numberReady", 0) < nodes]
    return faults + [f"{each['metadata']['name']} is not ready on every node" for each in short]


def storage_faults(classes: Iterable[Mapping[str, Any]]) -> list[str]:
    """The fault of a cluster whose creation was interrupted before its storage: volumes would stay Pending."""
    has_default = any(each["metadata"].get("annotations", {}).get(_DEFAULT_CLASS) == "true" for each in classes)
    return [] if has_default else ["there is no default StorageClass"]


def _ready(node: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions = node.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "Ready"), {})


def _any_fresh(now: datetime, *times: str | None) -> bool:
    return any(now - datetime.fromisoformat(time).astimezone(UTC) < _FRESH for time in times if time)
