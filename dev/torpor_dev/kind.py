"""The configuration and commands of kind for one cluster, whose kubeconfig is a file of its own."""

import json
import os
import re
from pathlib import Path

from torpor_dev import cache, command
from torpor_dev.errors import DevError
from torpor_dev.health import Container
from torpor_dev.offline import golang

DEFAULT_NAME = "torpor"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_LABEL = "io.x-k8s.kind.cluster"
_CREATE_LIMIT = 420.0
_MAX_PODS = 200
"""A node's subnet has 254 addresses; the kubelet's own limit of 110 is less than a hundred waits that block need."""
_ARGUMENTS = {
    # The default rates (20 and 50 requests a second) would be what a bench measures.
    "kube-api-qps": "200",
    "kube-api-burst": "400",
    # There is one of each; after a crash it would wait 15 s for its own lease to run out.
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
    """The configuration of kind, as JSON, which is YAML too.

    A node image built here has no network plugin of kind's; `network` stands in.
    """
    # Only where it is needed: a kubelet that has dropped cgroup v1 would refuse the field.
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


def containers() -> list[Container]:
    """The nodes of this cluster that the engine knows, running or not; the control plane first."""
    ids = _container_ids(f"{_LABEL}={name()}")
    if not ids:
        return []
    found = json.loads(command.run("docker", "inspect", *ids, limit=60))
    nodes = [
        Container(name=each["Name"].lstrip("/"), image=each["Config"]["Image"], state=each["State"]["Status"])
        for each in found
    ]
    return sorted(nodes, key=lambda node: node.name)


def any_cluster() -> bool:
    """Whether the engine knows a node of any kind cluster, of whatever name."""
    return bool(_container_ids(_LABEL))


def create(image: str, configuration: str) -> None:
    """Create the cluster; kind removes its leftovers if that fails."""
    kubeconfig().unlink(missing_ok=True)
    args = ("create", "cluster", "--name", name(), "--image", image, "--kubeconfig", kubeconfig(), "--config", "-")
    command.run(golang.install_kind(), *args, limit=_CREATE_LIMIT, stdin=configuration)


def export_kubeconfig() -> None:
    """Write the kubeconfig anew from the cluster itself."""
    kubeconfig().unlink(missing_ok=True)
    args = ("export", "kubeconfig", "--name", name(), "--kubeconfig", kubeconfig())
    command.run(golang.install_kind(), *args, limit=60)


def delete() -> None:
    """Remove the nodes with their volumes, and the kubeconfig; needs no working cluster, nor kind."""
    for node in containers():
        command.run("docker", "rm", "--force", "--volumes", node.name, limit=120)
    kubeconfig().unlink(missing_ok=True)


def start(nodes: list[Container]) -> None:
    """Start stopped nodes and let paused ones go on; raises CommandError if the engine cannot."""
    for node in nodes:
        if not node.running:
            command.run("docker", "unpause" if node.state == "paused" else "start", node.name, limit=120)


def restart(nodes: list[Container]) -> None:
    """Restart nodes, with whatever the engine runs for them such as the forwarding of the API's port."""
    for node in nodes:
        command.run("docker", "restart", "--time", "3", node.name, limit=120)


def _container_ids(label: str) -> list[str]:
    filtered = ("--filter", f"label={label}")
    return command.run("docker", "ps", "--all", "--quiet", "--no-trunc", *filtered, limit=60).split()


def _arguments(*, v1beta4: bool) -> dict[str, object]:
    """The arguments as kubeadm takes them; its newer form is a list, which replaces kind's, so kind's is repeated."""
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
