"""Torpor in the cluster: images, kinds, policies, Deployments; returns once all of it is there and ready."""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torpor_dev.errors import CommandError, DevError
from torpor_dev.progress import step

from torpor_demo import cluster, images
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_demo.kubectl import Kubectl

NAMESPACE = "torpor-demo"
SYSTEM = "torpor-system"
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
    with step("waiting for the operator, the triggerer and the archive"):
        kubectl.run("wait", "--for=condition=Established", *_CRDS, "--timeout=60s", limit=90)
        for deployment in _DEPLOYMENTS:
            roll_out(kubectl, deployment)
    return kubectl


def apply(kubectl: Kubectl, overlay: Path, image_id: str) -> None:
    """Apply an overlay; its Deployments are restarted where they ran another image than this under the same tag."""
    with step(f"applying {overlay.relative_to(ROOT)}"):
        manifests = _rendered(kubectl, overlay, image_id)
        kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests)


def roll_out(kubectl: Kubectl, deployment: str) -> None:
    """Wait until a Deployment of ours runs what was applied; where it does not come, DevError shows its pods."""
    try:
        kubectl.run("-n", SYSTEM, "rollout", "status", deployment, "--timeout=180s", limit=200)
    except CommandError as error:
        raise DevError("\n".join([str(error), *(_said(kubectl, *words) for words in _PLIGHT)])) from error


def _said(kubectl: Kubectl, *words: str) -> str:
    try:
        return kubectl.run("-n", SYSTEM, *words)
    except CommandError as error:
        return str(error)


def prepare(kubectl: Kubectl, namespace: str) -> None:
    """Have a namespace in which workflows may run."""
    kustomization = {"resources": [_NAMESPACE], "namespace": namespace}
    kubectl.run("apply", "--server-side", "-f", "-", stdin=_built(kubectl, kustomization))


def _rendered(kubectl: Kubectl, overlay: Path, image_id: str) -> str:
    """The overlay with the image's id on the pods: a new build under the same tag restarts them."""
    annotation = {"torpor.dev/image-id": image_id}
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "any"},
        "spec": {"template": {"metadata": {"annotations": annotation}}},
    }
    target = {"kind": "Deployment", "namespace": SYSTEM}
    return _built(kubectl, {"resources": [overlay], "patches": [{"target": target, "patch": json.dumps(patch)}]})


def _built(kubectl: Kubectl, kustomization: dict[str, Any]) -> str:
    """What kustomize makes of it; its folders are given as absolute paths, which kustomize itself does not take."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        folders = [os.path.relpath(each, here) for each in kustomization["resources"]]
        Path(here, "kustomization.yaml").write_text(json.dumps({**kustomization, "resources": folders}))
        return kubectl.run("kustomize", here)
