"""Torpor in the cluster: images, kinds, policies, Deployments; returns once all of it is there and ready."""

from collections.abc import Sequence
from pathlib import Path

from torpor_dev.errors import CommandError, DevError
from torpor_dev.progress import step

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
    """Have a cluster with these images and a ready Torpor in it; what is there already is left as it is."""
    kubectl = Kubectl(cluster.ensure())
    built = images.build(wanted, cluster.base_image())
    with step("loading the images into the cluster"):
        cluster.load([image.name for image in wanted])
    apply(kubectl, _OVERLAY, built[images.TORPOR.name])
    await_ready(kubectl)
    return kubectl


def install_released(reference: str) -> Kubectl:
    """Have a cluster with a ready Torpor, whose nodes pull its image by this reference from a registry."""
    kubectl = Kubectl(cluster.ensure())
    with step(f"applying {_OVERLAY.relative_to(ROOT)} with {reference}"):
        _apply(kubectl, manifest.released(_OVERLAY, reference))
    await_ready(kubectl)
    return kubectl


def apply(kubectl: Kubectl, overlay: Path, image_id: str) -> None:
    """Apply an overlay; its Deployments are restarted where they ran another image than this under the same tag."""
    with step(f"applying {overlay.relative_to(ROOT)}"):
        _apply(kubectl, manifest.local(overlay, image_id))


def await_ready(kubectl: Kubectl) -> None:
    """Wait until the API server serves the kinds, and the Deployments run what was applied."""
    with step("waiting for the operator, the triggerer and the archive"):
        kubectl.run("wait", "--for=condition=Established", *_CRDS, "--timeout=60s", limit=90)
        for deployment in _DEPLOYMENTS:
            roll_out(kubectl, deployment)


def roll_out(kubectl: Kubectl, deployment: str) -> None:
    """Wait until a Deployment of ours runs what was applied; where it does not come, DevError shows its pods."""
    try:
        kubectl.run("-n", SYSTEM, "rollout", "status", deployment, "--timeout=180s", limit=200)
    except CommandError as error:
        raise DevError("\n".join([str(error), *(_said(kubectl, *words) for words in _PLIGHT)])) from error


def prepare(kubectl: Kubectl, namespace: str) -> None:
    """Have a namespace in which workflows may run."""
    _apply(kubectl, manifest.render({"resources": [_NAMESPACE], "namespace": namespace}))


def _apply(kubectl: Kubectl, text: str) -> None:
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)


def _said(kubectl: Kubectl, *words: str) -> str:
    try:
        return kubectl.run("-n", SYSTEM, *words)
    except CommandError as error:
        return str(error)
