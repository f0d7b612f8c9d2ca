"""Decides whether pods get the runtime by an image volume or by an init container. Pure.

An API server without the feature ImageVolume drops such a volume, and a kubelet or a container runtime without it
mounts an empty folder. So all of them must support it: Kubernetes has the feature on by default since 1.35, containerd
since 2.1, CRI-O since 1.31.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from torpor_operator.settings import Injection

_RUNTIMES = {"containerd": (2, 1), "cri-o": (1, 31)}
_KUBELET = (1, 35)
_VERSION = re.compile(r"v?(\d+)\.(\d+)")
_EMPTY = "-k3s"
"""Builds of containerd whose image volumes are empty: github.com/k3s-io/k3s/issues/14323."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node. `runtime` is such as `containerd://2.1.4`, `kubelet` such as `v1.35.0`."""

    name: str
    runtime: str
    kubelet: str
    system: str = "linux"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the cluster says. `accepted`: whether a pod keeps an image volume; None if no pod could be tried."""

    accepted: bool | None = None
    refusal: str = "no namespace with Workflows yet"
    server: str = ""
    nodes: Sequence[Node] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether pods get image volumes, and why or why not."""

    image_volumes: bool
    reason: str


def decide(injection: Injection, evidence: Evidence) -> Decision:
    """The way for all pods of the cluster; without evidence an init container, which works everywhere."""
    if injection is not Injection.AUTO:
        return Decision(injection is Injection.IMAGE_VOLUME, f"--runtime-injection={injection}")
    if evidence.accepted is None:
        return Decision(False, f"image volumes could not be tested: {evidence.refusal}")
    if not evidence.accepted:
        return Decision(False, "the API server drops image volumes (feature ImageVolume)")
    nodes = [node for node in evidence.nodes if node.system != "windows"]
    if not nodes:
        return Decision(False, "no node is known")
    for node in nodes:
        if problem := _problem(node, evidence.server):
            return Decision(False, f"node {node.name} {problem}")
    return Decision(True, f"the API server and all nodes ({len(nodes)}) support image volumes")


def _problem(node: Node, server: str) -> str:
    """Why a node has no image volumes; empty if it has."""
    name, _, version = node.runtime.partition("://")
    needed = _RUNTIMES.get(name)
    if needed is None or _EMPTY in version or _number(version) < needed:
        known = ", ".join(f"{runtime} {major}.{minor}" for runtime, (major, minor) in _RUNTIMES.items())
        return f"has {node.runtime or 'an unknown container runtime'}; image volumes need one of {known}, or later"
    # An older kubelet has the feature if a feature gate enables it, as in the API server of the same version.
    if _number(node.kubelet) < min(_KUBELET, _number(server) or _KUBELET):
        return f"has kubelet {node.kubelet}, which may lack the feature ImageVolume"
    return ""


def _number(version: str) -> tuple[int, ...]:
    """Major and minor number; empty, and so the smallest, for a text that is no version."""
    match = _VERSION.match(version)
    return tuple(map(int, match.groups())) if match else ()
