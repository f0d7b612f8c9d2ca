"""A second node of our kind cluster, for as long as somebody needs one to lose.

It joins the running cluster and leaves it again, so that all who need one node pay for one. Nothing lands on it but
what tolerates its taint. Must not be counted among the cluster's own nodes: whoever looks after those may find this
one stopped, silent or half gone, and it is no fault of theirs.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torpor_dev import cache, command, host, kind, load
from torpor_dev.api import Api
from torpor_dev.errors import DevError
from torpor_dev.health import Container
from torpor_dev.offline import node_image, pod_network
from torpor_dev.progress import step

TAINT = "torpor.dev/spare"
_JOIN_LIMIT = 120.0
_CONFIG = "/kind/kubeadm.conf"
# The options with which kind runs its nodes, without its label: kind leaves alone a container that it does not know.
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
    """A Ready node with these local images, gone afterwards; gives its name, which is its container's too.

    One at a time: who comes second waits. Raises DevError where the cluster is none of ours.
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
    """Delete the Node object, as an administrator does with a machine that will not come back."""
    kubectl = ("kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf")
    words = ("delete", "node", node_name(), "--ignore-not-found")
    command.run("docker", "exec", _control_plane().name, *kubectl, *words, limit=60)


def discard() -> None:
    """Remove the node's container with its volume, if there is one."""
    if command.succeeds("docker", "container", "inspect", node_name(), limit=60):
        command.run("docker", "rm", "--force", "--volumes", node_name(), limit=120)


def configuration(endpoint: str, token: str) -> str:
    """What kubeadm is told, as JSON; the taint is there from the start, so that nothing slips in before it."""
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


def _control_plane() -> Container:
    found = next((each for each in kind.containers() if each.running), None)
    if found is None:
        raise DevError("there is no running cluster of ours that a node could join")
    return found


def _ready(*, official: bool) -> bool:
    """Whether the node is Ready; also sees to the pod network, which a node needs for that."""
    nodes = Api.of(kind.kubeconfig()).get("/api/v1/nodes")["items"]
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
