"""Adds a second node to the kind cluster for as long as a test needs it, so that other tests need only one.

Only pods that tolerate its taint run on it. Must not be counted among the cluster's own nodes: a test may stop or lose
it at any time.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torpor_dev import cache, command, host, kind, load
from torpor_dev.api import ApiReader
from torpor_dev.console import DevError, step
from torpor_dev.health import NodeContainer
from torpor_dev.offline import node_image, pod_network

TAINT = "torpor.dev/spare"
_JOIN_LIMIT = 120.0
_CONFIG = "/kind/kubeadm.conf"
# The options with which kind runs its nodes, without its label: kind ignores containers without it.
_RUN = (
    *("--detach", "--tty", "--net", "kind", "--privileged"),
    *("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--cgroupns=private"),
    *("--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var"),  # noqa: S108 - the node's own
    *("--volume", "/lib/modules:/lib/modules:ro"),
    *("--init=false", "-e", "KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER"),
)


def node_name() -> str:
    """The name of the node and of its container."""
    return f"{kind.name()}-spare"


@contextmanager
def joined(images: Sequence[str]) -> Iterator[str]:
    """Add a Ready node with these local images and remove it afterwards; yield the name of node and container.

    There is one at a time; a second caller waits. Raises DevError if no kind cluster runs.
    """
    with cache.lock(kind.folder() / "spare.lock"):
        discard()
        forget()
        try:
            _join(images)
            yield node_name()
        finally:
            discard()
            forget()


def forget() -> None:
    """Delete the Node object, as an administrator does for a lost machine."""
    kubectl = ("kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf")
    words = ("delete", "node", node_name(), "--ignore-not-found")
    command.run("docker", "exec", _control_plane().name, *kubectl, *words, limit=60)


def discard() -> None:
    """Remove the container of the node with its volume, if it exists."""
    if command.succeeds("docker", "container", "inspect", node_name(), limit=60):
        command.run("docker", "rm", "--force", "--volumes", node_name(), limit=120)


def configuration(endpoint: str, token: str) -> str:
    """The JSON configuration of kubeadm. The node has its taint from the start, so no pod starts before it."""
    return json.dumps(
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "JoinConfiguration",
            "discovery": {
                "bootstrapToken": {"apiServerEndpoint": endpoint, "token": token, "unsafeSkipCAVerification": True}
            },
            "nodeRegistration": {
                "criSocket": "unix:///run/containerd/containerd.sock",
                "taints": [{"key": TAINT, "effect": "NoSchedule"}],
            },
            "skipPhases": ["preflight"],
        }
    )


def _join(images: Sequence[str]) -> None:
    with step(f"joining the node {node_name()}"):
        control_plane = _control_plane()
        named = ("--name", node_name(), "--hostname", node_name())
        command.run("docker", "run", *named, *_RUN, control_plane.image, limit=120)
        _until(lambda: command.succeeds("docker", "exec", node_name(), "ctr", "version", limit=20), "containerd")
        token = command.run("docker", "exec", control_plane.name, "kubeadm", "token", "create", limit=60).strip()
        written = configuration(f"{control_plane.name}:6443", token)
        script = f"cat > {_CONFIG} && kubeadm join --config {_CONFIG}"
        command.run("docker", "exec", "-i", node_name(), "sh", "-c", script, limit=_JOIN_LIMIT, stdin=written)
        official = node_image.ensure(host.observe()).official
        _until(lambda: _ready(official=official), "the node")
    load.onto_node(node_name(), images)


def _control_plane() -> NodeContainer:
    node = next((each for each in kind.containers() if each.running), None)
    if node is None:
        raise DevError("no kind cluster runs that a node could join")
    return node


def _ready(*, official: bool) -> bool:
    """Whether the node is Ready. Configures the pod network first, because a node needs it."""
    nodes = ApiReader.from_kubeconfig(kind.kubeconfig()).get("/api/v1/nodes")["items"]
    subnets = {node["metadata"]["name"]: node["spec"].get("podCIDR", "") for node in nodes}
    if not subnets.get(node_name()):
        return False
    if not official:
        pod_network.apply(subnets)
    conditions = next(node for node in nodes if node["metadata"]["name"] == node_name())["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _until(there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _JOIN_LIMIT
    while not there():
        if time.monotonic() > deadline:
            raise DevError(f"{what} of {node_name()} was not ready in {_JOIN_LIMIT:.0f} s")
        time.sleep(0.5)
