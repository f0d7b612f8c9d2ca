"""Installs Torpor in the cluster, and waits until it is ready."""

from collections.abc import Sequence
from pathlib import Path

from torpor_dev.console import CommandError, DevError, step

from torpor_demo import cluster, images, manifest
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_demo.kubectl import Kubectl

NAMESPACE = "torpor-demo"
SYSTEM = manifest.SYSTEM
_OVERLAY = ROOT / "manifests/overlays/dev"
_NAMESPACE = ROOT / "manifests/namespace"
_CRDS = ("crd/workflows.torpor.dev", "crd/taskruns.torpor.dev")
_PLIGHT = (
    ("get", "pods"),
    ("get", "events", "--field-selector=type=Warning", "--sort-by=.lastTimestamp"),
    ("logs", "-l", "app.kubernetes.io/name=torpor", "--prefix", "--tail=8"),
)
_DEPLOYMENTS = ("deployment/torpor-operator", "deployment/torpor-triggerer", "deployment/torpor-archive")


def install(wanted: Sequence[Image] = images.ALL) -> Kubectl:
    """Ensure a cluster with these images and a ready Torpor."""
    kubectl = Kubectl(cluster.ensure())
    built = images.build(wanted, cluster.base_image())
    with step("loading the images into the cluster"):
        cluster.load([image.name for image in wanted])
    apply(kubectl, _OVERLAY, built[images.TORPOR.name])
    await_ready(kubectl)
    return kubectl


def install_released(torpor: str, runtime: str) -> Kubectl:
    """Ensure a cluster with a ready Torpor, whose nodes pull these two images by reference."""
    kubectl = Kubectl(cluster.ensure())
    with step(f"applying {_OVERLAY.relative_to(ROOT)} with {torpor}"):
        _apply(kubectl, manifest.released(_OVERLAY, torpor, runtime))
    await_ready(kubectl)
    return kubectl


def apply(kubectl: Kubectl, overlay: Path, image_id: str) -> None:
    """Apply an overlay; restart its Deployments if the tag names a new image."""
    with step(f"applying {overlay.relative_to(ROOT)}"):
        _apply(kubectl, manifest.local(overlay, image_id))


def await_ready(kubectl: Kubectl) -> None:
    """Wait until the API server serves the kinds, and the Deployments run what was applied."""
    with step("waiting for the operator, the triggerer and the archive"):
        kubectl.run("wait", "--for=condition=Established", *_CRDS, "--timeout=60s", limit=90)
        for deployment in _DEPLOYMENTS:
            roll_out(kubectl, deployment)


def roll_out(kubectl: Kubectl, deployment: str) -> None:
    """Wait until a Deployment runs what was applied. Raises DevError with the state of its pods."""
    try:
        kubectl.run("-n", SYSTEM, "rollout", "status", deployment, "--timeout=180s", limit=200)
    except CommandError as error:
        raise DevError("\n".join([str(error), *(_output_or_error(kubectl, *words) for words in _PLIGHT)])) from error


def prepare(kubectl: Kubectl, namespace: str) -> None:
    """Set a namespace up for workflows."""
    _apply(kubectl, manifest.render({"resources": [_NAMESPACE], "namespace": namespace}))


def _apply(kubectl: Kubectl, text: str) -> None:
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)


def _output_or_error(kubectl: Kubectl, *words: str) -> str:
    try:
        return kubectl.run("-n", SYSTEM, *words)
    except CommandError as error:
        return str(error)
