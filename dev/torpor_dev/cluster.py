"""Keeps, repairs or creates the kind cluster, in any state of the machine.

`up` ends with a healthy cluster of this configuration or with an error, also after all processes were killed, after a
restart of the engine, and with a cluster of another checkout.
"""

import os
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

from torpor_dev import cache, command, control_plane, engine, external_cluster, extra_node, health, host, kind
from torpor_dev.api import ApiReader, UnreachableError
from torpor_dev.console import CommandError, DevError, say, step
from torpor_dev.health import Action
from torpor_dev.offline import node_image, pod_network

_READY_LIMIT = 180.0
_MEND_LIMIT = 90.0
_PATIENCE = 45.0  # for a node that the engine has just restarted
_DNS = "10.96.0.10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The wanted cluster; `image` names the node image by the fingerprint of the configuration."""

    nodes: int
    base: node_image.NodeImage
    configuration: str
    image: str


def up() -> Path:
    """Ensure a healthy cluster; return the path of its kubeconfig."""
    if (given := external_cluster.kubeconfig()) is not None:
        external_cluster.check(given)
        return given
    machine = host.observe()
    engine.ensure(machine)
    with cache.lock(kind.folder() / "lock"):
        wanted = _wanted(machine)
        _converge(wanted)
    say("the cluster is ready")
    return kind.kubeconfig()


def kubeconfig() -> Path:
    """The kubeconfig of the cluster in use."""
    path = external_cluster.kubeconfig() or kind.kubeconfig()
    if not path.exists():
        raise DevError(f"{path} does not exist: create the cluster first (make cluster)")
    return path


def down() -> None:
    """Remove the cluster. After the last cluster, stop an engine that was started here. Caches stay."""
    if engine.reachable():
        with cache.lock(kind.folder() / "lock"), step("removing the cluster"):
            _delete()
            command.succeeds("docker", "network", "rm", "kind", limit=60)  # stays if another kind cluster uses it
        if kind.name() != kind.DEFAULT_NAME or kind.any_cluster():
            return  # another cluster, or the creator of this second one, still uses the engine
    engine.stop()


def node_count() -> int:
    """The number of nodes that the environment sets."""
    count = os.environ.get("TORPOR_NODES") or "1"
    if not count.isdecimal() or not int(count):
        raise DevError(f"TORPOR_NODES is {count!r}; it must be a number of nodes, 1 or more")
    return int(count)


def _wanted(machine: host.HostFacts) -> Wanted:
    base = node_image.ensure(machine)
    nodes = node_count()
    configuration = kind.config(nodes=nodes, official=base.official, cgroup_v1=machine.cgroup_v1)
    image = f"torpor-dev/node:{cache.fingerprint([], base.name, configuration)}"
    return Wanted(nodes=nodes, base=base, configuration=configuration, image=image)


def _converge(wanted: Wanted) -> None:
    action = _plan(wanted)
    if action in (Action.START, Action.AWAIT) and not _mend(wanted, action):
        action = Action.REPLACE
    match action:
        case Action.KEEP | Action.START | Action.AWAIT:
            return
        case Action.REPLACE:
            with step("removing the existing cluster: it is broken, or has another configuration"):
                _delete()
        case Action.CREATE:
            pass
        case _:
            assert_never(action)
    _create(wanted)


def _delete() -> None:
    extra_node.discard()
    kind.delete()


def _plan(wanted: Wanted) -> Action:
    containers = kind.containers()
    faults: list[str] = []
    if containers and all(each.running for each in containers):
        faults = _faults(wanted)
    return health.plan(containers, image=wanted.image, nodes=wanted.nodes, faults=faults)


def _create(wanted: Wanted) -> None:
    command.run("docker", "tag", wanted.base.id, wanted.image, limit=60)
    with step(f"creating a cluster, nodes: {wanted.nodes}"):
        kind.create(wanted.image, wanted.configuration)
    with step("waiting for nodes, DNS and storage"):
        faults = _await_health(wanted, limit=_READY_LIMIT)
    if faults:
        raise DevError(f"the cluster did not become ready in {_READY_LIMIT:.0f} s: {'; '.join(faults)}")


def _mend(wanted: Wanted, action: Action) -> bool:
    with step("repairing the existing cluster"):
        try:
            faults = _started(wanted) if action is Action.START else _waited_for(wanted)
        except CommandError as error:
            faults = [str(error)]
    if faults:
        say(f"it cannot be repaired: {'; '.join(faults)}")
    return not faults


def _started(wanted: Wanted) -> list[str]:
    kind.start(kind.containers())
    kind.export_kubeconfig()
    return _await_health(wanted, limit=_MEND_LIMIT)


def _waited_for(wanted: Wanted) -> list[str]:
    """All nodes run: wait, with a new kubeconfig; then try a restart."""
    kind.export_kubeconfig()
    if _await_health(wanted, limit=_PATIENCE):
        kind.restart(kind.containers())
        return _await_health(wanted, limit=_MEND_LIMIT)
    return []


def _await_health(wanted: Wanted, *, limit: float) -> list[str]:
    deadline = time.monotonic() + limit
    printed = ""
    while faults := _faults(wanted):
        if time.monotonic() > deadline:
            return faults
        if (reason := faults[0].partition(":")[0]) != printed:
            printed = reason
            say(f"  {printed}")
        time.sleep(0.5)
    return []


def _faults(wanted: Wanted) -> list[str]:
    """The reasons why this host cannot use the cluster. Configures the pod network on the way."""
    try:
        api = ApiReader.from_kubeconfig(kind.kubeconfig())
        api.get("/readyz")
        # Tests add and lose an extra node: that is not a fault of the cluster.
        nodes = [
            node for node in api.get("/api/v1/nodes")["items"] if node["metadata"]["name"] != extra_node.node_name()
        ]
        if not wanted.base.official:
            _connect(nodes)
        leases = api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")["items"]
        faults = health.node_faults(nodes, leases, expected=wanted.nodes, now=datetime.now(UTC))
        deployments, daemonsets = (
            api.get(f"/apis/apps/v1/{kinds}")["items"] for kinds in ("deployments", "daemonsets")
        )
        faults += health.storage_faults(api.get("/apis/storage.k8s.io/v1/storageclasses")["items"])
    except UnreachableError as error:
        return [f"the API server does not answer: {error}"]
    except CommandError as error:
        return [f"a node cannot be configured: {error}"]
    own = {"kube-system", "local-path-storage"}
    faults += health.workload_faults(
        [each for each in deployments if each["metadata"]["namespace"] in own],
        [each for each in daemonsets if each["metadata"]["namespace"] in own],
        nodes=wanted.nodes,
    )
    return faults or [f"node {name} cannot reach cluster DNS" for name in _names(nodes) if not _reaches_dns(name)]


def _connect(nodes: list[dict[str, dict[str, str]]]) -> None:
    subnets = {node["metadata"]["name"]: node["spec"].get("podCIDR", "") for node in nodes}
    if subnets and all(subnets.values()):
        pod_network.apply(subnets)


def _names(nodes: list[dict[str, dict[str, str]]]) -> list[str]:
    return [node["metadata"]["name"] for node in nodes]


def _reaches_dns(node: str) -> bool:
    """Whether the Service of cluster DNS answers, which needs kube-proxy's rules and a running CoreDNS."""
    return command.succeeds("docker", "exec", node, "timeout", "2", "bash", "-c", f"</dev/tcp/{_DNS}/53", limit=10)


def purge() -> None:
    """Remove everything that this package created but installed Debian packages."""
    control_plane.stop(control_plane.default_state())
    if engine.reachable():
        _remove_images()
    elif shutil.which("docker"):
        say("no Docker engine answers, so its images torpor-dev/* stay; start it and repeat the command to remove them")
    down()
    with step("removing the cache folder"):
        shutil.rmtree(cache.folder())


def _remove_images() -> None:
    names = command.run("docker", "images", "--format", "{{.Repository}}:{{.Tag}}", "torpor-dev/*", limit=60).split()
    if names:
        command.run("docker", "rmi", "--force", *names, limit=300)
