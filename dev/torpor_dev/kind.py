"""The configuration and commands of kind for one cluster, whose kubeconfig is a file of its own."""

import json
import os
import re
from pathlib import Path

from torpor_dev import cache, command
from torpor_dev.console import DevError
from torpor_dev.health import NodeContainer
from torpor_dev.offline import golang

DEFAULT_NAME = "torpor"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_LABEL = "io.x-k8s.kind.cluster"
_CREATE_LIMIT = 420.0
_MAX_PODS = 200
"""The subnet of a node has 254 addresses. The kubelet's default of 110 is too low for a hundred blocking waits."""
_ARGUMENTS = {
    # With the default rates (20 and 50 requests a second) a benchmark would measure the client.
    "kube-api-qps": "200",
    "kube-api-burst": "400",
    # There is one replica; after a crash it would wait 15 s for its own Lease to expire.
    "leader-elect": "false",
}


def name() -> str:
    """The name of the cluster: TORPOR_CLUSTER, or `torpor`. Clusters of different names run side by side."""
    chosen = os.environ.get("TORPOR_CLUSTER") or DEFAULT_NAME
    if not _NAME.fullmatch(chosen):
        raise DevError(f"TORPOR_CLUSTER is {chosen!r}; it must have lower-case letters, digits and dashes, 40 at most")
    return chosen


def folder() -> Path:
    """Where the kubeconfig and the locks of the cluster are."""
    return cache.folder("cluster") if name() == DEFAULT_NAME else cache.folder("cluster", name())


def kubeconfig() -> Path:
    """The file that names this cluster and nothing else."""
    return folder() / "kubeconfig"


def config(*, nodes: int, official: bool, cgroup_v1: bool) -> str:
    """The configuration of kind, as JSON, which is also YAML.

    A node image that is built here lacks kind's network plugin; `offline.pod_network` replaces it.
    """
    # Only on cgroup v1: a kubelet without support for it rejects the field.
    v1 = {"failCgroupV1": False} if cgroup_v1 else {}
    kubelet = {"kind": "KubeletConfiguration", "maxPods": _MAX_PODS, **v1}
    roles = ["control-plane", *["worker"] * (nodes - 1)]
    return json.dumps(
        {
            "kind": "Cluster",
            "apiVersion": "kind.x-k8s.io/v1alpha4",
            "networking": {"disableDefaultCNI": not official},
            "kubeadmConfigPatches": [json.dumps(kubelet), json.dumps(_arguments(v1beta4=official))],
            "nodes": [{"role": role} for role in roles],
        },
        indent=1,
    )


def containers() -> list[NodeContainer]:
    """The nodes of this cluster that the engine knows, running or not; the control plane first."""
    ids = _container_ids(f"{_LABEL}={name()}")
    if not ids:
        return []
    inspected = json.loads(command.run("docker", "inspect", *ids, limit=60))
    nodes = [
        NodeContainer(name=each["Name"].lstrip("/"), image=each["Config"]["Image"], state=each["State"]["Status"])
        for each in inspected
    ]
    return sorted(nodes, key=lambda node: node.name)


def any_cluster() -> bool:
    """Whether the engine knows a node of a kind cluster of any name."""
    return bool(_container_ids(_LABEL))


def create(image: str, configuration: str) -> None:
    """Create the cluster; kind cleans up if that fails."""
    kubeconfig().unlink(missing_ok=True)
    args = ("create", "cluster", "--name", name(), "--image", image, "--kubeconfig", kubeconfig(), "--config", "-")
    command.run(golang.install_kind(), *args, limit=_CREATE_LIMIT, stdin=configuration)


def export_kubeconfig() -> None:
    """Write the kubeconfig again, from the cluster."""
    kubeconfig().unlink(missing_ok=True)
    args = ("export", "kubeconfig", "--name", name(), "--kubeconfig", kubeconfig())
    command.run(golang.install_kind(), *args, limit=60)


def delete() -> None:
    """Remove the nodes with their volumes, and the kubeconfig. Needs neither a healthy cluster nor kind."""
    for node in containers():
        command.run("docker", "rm", "--force", "--volumes", node.name, limit=120)
    kubeconfig().unlink(missing_ok=True)


def start(nodes: list[NodeContainer]) -> None:
    """Start stopped nodes and unpause paused ones. Raises CommandError if the engine fails."""
    for node in nodes:
        if not node.running:
            command.run("docker", "unpause" if node.state == "paused" else "start", node.name, limit=120)


def restart(nodes: list[NodeContainer]) -> None:
    """Restart nodes, together with the engine's port forwarding to them."""
    for node in nodes:
        command.run("docker", "restart", "--time", "3", node.name, limit=120)


def _container_ids(label: str) -> list[str]:
    filtered = ("--filter", f"label={label}")
    return command.run("docker", "ps", "--all", "--quiet", "--no-trunc", *filtered, limit=60).split()


def _arguments(*, v1beta4: bool) -> dict[str, object]:
    """The arguments in the form of kubeadm. The list of v1beta4 replaces kind's, so kind's argument is repeated."""
    if not v1beta4:
        extra: dict[str, object] = {"extraArgs": _ARGUMENTS}
        return {"kind": "ClusterConfiguration", "controllerManager": extra, "scheduler": extra}
    listed = [{"name": name, "value": value} for name, value in _ARGUMENTS.items()]
    own = {"name": "enable-hostpath-provisioner", "value": "true"}
    return {
        "kind": "ClusterConfiguration",
        "controllerManager": {"extraArgs": [own, *listed]},
        "scheduler": {"extraArgs": listed},
    }
