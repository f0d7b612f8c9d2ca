"""Renders manifests with kubectl's kustomize: an overlay with the image that its pods are to run, as one YAML text."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torpor_dev import command

from torpor_demo import cluster
from torpor_demo.cluster import ROOT

BASE = ROOT / "manifests/base"
SYSTEM = "torpor-system"
_PLACEHOLDER = "torpor"
_LIMIT = 60.0


def local(overlay: Path, image_id: str) -> str:
    """The overlay with local images. The id of Torpor's is an annotation of its pods: a new build restarts them."""
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "any"},
        "spec": {"template": {"metadata": {"annotations": {"torpor.dev/image-id": image_id}}}},
    }
    target = {"kind": "Deployment", "namespace": SYSTEM}
    return render({"resources": [overlay], "patches": [{"target": target, "patch": json.dumps(patch)}]})


def released(overlay: Path, torpor: str, runtime: str) -> str:
    """The overlay with two images, NAME:TAG@DIGEST, from a registry; the first tag becomes a label of all objects.

    The operator names the image of the runtime in the pods of tasks, so a variable of it has that name.
    """
    tagged, _, digest = torpor.partition("@")
    name, _, tag = tagged.rpartition(":")
    image = {"name": _PLACEHOLDER, "newName": name, "newTag": tag, "digest": digest}
    # Not on pods and selectors: what selects pods cannot change, and a label alone would restart them.
    labels = [{"pairs": {"app.kubernetes.io/version": tag}}]
    patches = [{"patch": json.dumps(_with_runtime(runtime))}]
    return render({"resources": [overlay], "images": [image], "labels": labels, "patches": patches})


def _with_runtime(image: str) -> dict[str, Any]:
    """The patch of the operator that names the image of the runtime."""
    container = {"name": "operator", "env": [{"name": "RUNTIME_IMAGE", "value": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "torpor-operator", "namespace": SYSTEM},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def render(kustomization: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]] = MappingProxyType({})) -> str:
    """The YAML of a kustomization, with further objects by the names of their files.

    Its resources and components are absolute folders; kustomize takes relative ones.
    """
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        for name, body in files.items():
            (here / name).write_text(json.dumps(body))
        relative = {
            field: [os.path.relpath(each, here) for each in kustomization[field]]
            for field in ("resources", "components")
            if field in kustomization
        }
        relative["resources"] = [*relative.get("resources", ()), *files]
        Path(here, "kustomization.yaml").write_text(json.dumps({**kustomization, **relative}))
        return command.run(shutil.which("kubectl") or cluster.kubectl(), "kustomize", here, limit=_LIMIT)
