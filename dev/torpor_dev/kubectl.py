"""Finds a kubectl: on PATH, in a running node, or in the Kubernetes that is built here."""

import shutil
from pathlib import Path

from torpor_dev import cache, command, kind
from torpor_dev.offline import golang


def ensure() -> Path:
    """The path of a kubectl, the one on PATH if there is one."""
    on_path = shutil.which("kubectl")
    if on_path:
        return Path(on_path)
    return _of_a_node() or _built()


def _of_a_node() -> Path | None:
    """A copy from a node, which saves a build if the node image was pulled."""
    if golang.built(golang.KUBE) or shutil.which("docker") is None:
        return None
    node = next((node for node in kind.containers() if node.running), None)
    if node is None:
        return None
    copy = cache.folder("bin", "kubectl-of-node") / "kubectl"
    command.run("docker", "cp", "--follow-link", f"{node.name}:/usr/bin/kubectl", copy, limit=120)
    return copy


def _built() -> Path:
    link = cache.folder("bin", "kubectl-built") / "kubectl"
    kube = golang.build(golang.KUBE)
    if not link.is_symlink() or link.readlink() != kube:
        link.unlink(missing_ok=True)
        link.symlink_to(kube)
    return link
