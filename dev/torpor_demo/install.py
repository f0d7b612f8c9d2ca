"""Torpor in the cluster: images, kinds, policies, Deployments; returns once all of it is there and ready."""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from torpor_dev.progress import step

from torpor_demo import cluster, images
from torpor_demo.cluster import ROOT
from torpor_demo.images import Image
from torpor_demo.kubectl import Kubectl

NAMESPACE = "torpor-demo"
SYSTEM = "torpor-system"
_OVERLAY = ROOT / "manifests/overlays/dev"
_CRDS = ("crd/workflows.torpor.dev", "crd/taskruns.torpor.dev")
_DEPLOYMENTS = ("deployment/torpor-operator", "deployment/torpor-triggerer")


def install(wanted: Sequence[Image] = images.ALL) -> Kubectl:
    """Have a cluster with these images and a ready Torpor in it; what is there already is left as it is."""
    kubectl = Kubectl(cluster.ensure())
    built = images.build(wanted, cluster.base_image())
    with step("loading the images into the cluster"):
        cluster.load([image.name for image in wanted])
    apply(kubectl, built[images.TORPOR.name])
    return kubectl


def apply(kubectl: Kubectl, image_id: str) -> None:
    """Apply the manifests, and wait until the kinds are served and the Deployments run this very image."""
    with step("applying manifests/overlays/dev"):
        kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_rendered(kubectl, image_id))
        kubectl.run("wait", "--for=condition=Established", *_CRDS, "--timeout=60s", limit=90)
    with step("waiting for the operator and the triggerer"):
        for deployment in _DEPLOYMENTS:
            kubectl.run("-n", SYSTEM, "rollout", "status", deployment, "--timeout=180s", limit=200)


def _rendered(kubectl: Kubectl, image_id: str) -> str:
    """The overlay with the image's id on the pods: a new build under the same tag restarts them."""
    annotation = {"torpor.dev/image-id": image_id}
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "any"},
        "spec": {"template": {"metadata": {"annotations": annotation}}},
    }
    with tempfile.TemporaryDirectory() as folder:
        kustomization = {
            # kustomize takes folders by relative path only.
            "resources": [os.path.relpath(_OVERLAY, Path(folder).resolve())],
            "patches": [{"target": {"kind": "Deployment", "namespace": SYSTEM}, "patch": json.dumps(patch)}],
        }
        Path(folder, "kustomization.yaml").write_text(json.dumps(kustomization))
        return kubectl.run("kustomize", folder)
