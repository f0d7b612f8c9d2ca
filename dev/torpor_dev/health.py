"""What to do about a cluster, decided from what is seen of it. Pure: no I/O, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

_FRESH = timedelta(seconds=25)  # a kubelet renews its lease every 10 s


class Action(Enum):
    """The next step towards a healthy cluster."""

    KEEP = "keep"
    AWAIT = "await"
    START = "start"
    CREATE = "create"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A node's container; its image's name carries the fingerprint of the configuration it was made with."""

    name: str
    image: str
    state: str

    @property
    def running(self) -> bool:
        """Whether its processes run: neither ended nor paused."""
        return self.state == "running"


def plan(containers: Sequence[Container], *, image: str, nodes: int, faults: Sequence[str]) -> Action:
    """The step that leads on, given the nodes found and what is wrong with the cluster."""
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
    """What is wrong with the nodes.

    A node that died a minute ago still reads Ready, until its controller notices: only a lease renewed lately
    shows that its kubelet lives, or a fresh status where the first lease is still to come.
    """
    found = {node["metadata"]["name"]: _ready(node) for node in nodes}
    heard = {name: ready.get("lastHeartbeatTime") for name, ready in found.items()}
    renewed = {lease["metadata"]["name"]: lease.get("spec", {}).get("renewTime") for lease in leases}
    missing = [] if len(found) == expected else [f"{len(found)} of {expected} nodes have joined"]
    unready = [f"node {name} is not Ready" for name, ready in found.items() if ready.get("status") != "True"]
    silent = [f"node {name} is silent" for name in found if not _any_fresh(now, heard[name], renewed.get(name))]
    return missing + unready + silent


def workload_faults(
    deployments: Iterable[Mapping[str, Any]], daemonsets: Iterable[Mapping[str, Any]], *, nodes: int
) -> list[str]:
    """Which of the cluster's own workloads do not run: DNS, the volume provisioner, kube-proxy and the network.

    `nodes` are the cluster's own; what a node that joined for a while has of a daemon set does not count.
    """
    faults = []
    for deployment in deployments:
        status = deployment.get("status", {})
        if status.get("availableReplicas", 0) < 1 or status.get("observedGeneration", 0) < 1:
            faults.append(f"{deployment['metadata']['name']} is not available")
    short = [each for each in daemonsets if each.get("status", {}).get("numberReady", 0) < nodes]
    return faults + [f"{each['metadata']['name']} is not ready on every node" for each in short]


def _ready(node: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions = node.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "Ready"), {})


def _any_fresh(now: datetime, *times: str | None) -> bool:
    return any(now - datetime.fromisoformat(time).astimezone(UTC) < _FRESH for time in times if time)
