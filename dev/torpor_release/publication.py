"""Publishes the images of build/release: pushes, signs, and attests what they contain and where they come from.

Each step reads the files that the steps before it wrote, so that a workflow can run them as jobs with different rights.
"""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torpor_chart import chart
from torpor_chart.chart import ChartImages
from torpor_demo import manifest
from torpor_dev import command
from torpor_dev.console import step
from torpor_dev.offline import golang

from torpor_release import bill_of_materials, provenance, release_images, signing, version
from torpor_release.release_images import BuildInputs, ReleasedImage
from torpor_release.signing import Signer, Verifier
from torpor_release.version import ROOT

TARGET = ROOT / "build/release"
MANIFEST = "install.yaml"
_CHART = "chart"
_LIMIT = 600
_SIGNED_FILES = (MANIFEST, "files/SHA256SUMS")
_UV = ROOT / ".tools/bin/uv"


def describe(images: Sequence[ReleasedImage], target: Path, given: BuildInputs) -> None:
    """Write the bill of materials and the provenance of each image beside its layout."""
    for image in images:
        digest = provenance.digest_of_index(target / "images" / image.name)
        _write(target / f"{image.name}.cdx.json", _bill_of_materials(image, digest, given))
        _write(
            target / f"{image.name}.provenance.json", provenance.predicate(_facts(image, given), provenance.locks(ROOT))
        )


def _bill_of_materials(image: ReleasedImage, digest: str, given: BuildInputs) -> dict[str, Any]:
    components = _from_pypi(image.packages) if image.packages else []
    if image is not release_images.RUNTIME:
        components = [*bill_of_materials.from_debian(given.packages), *components]
    else:
        components = [
            {
                "type": "application",
                "bom-ref": "go",
                "name": "go",
                "version": _go_version(),
                "purl": f"pkg:golang/stdlib@{_go_version()}",
            },
            *_from_pypi(("torpor",)),
        ]
    return bill_of_materials.document(image.name, given.version, digest, given.epoch, components)


def _from_pypi(packages: Sequence[str]) -> list[dict[str, Any]]:
    selected = [word for package in packages for word in ("--package", package)]
    words = (
        "export",
        "--quiet",
        "--frozen",
        "--no-dev",
        "--format",
        "cyclonedx1.5",
        "--preview-features",
        "sbom-export",
    )
    exported: Mapping[str, Any] = json.loads(command.run(_UV, *words, *selected, limit=_LIMIT, cwd=ROOT))
    return bill_of_materials.from_uv(exported)


def _facts(image: ReleasedImage, given: BuildInputs) -> provenance.BuildFacts:
    return provenance.BuildFacts(
        source=release_images.SOURCE,
        revision=given.revision,
        version=given.version,
        image=image.name,
        builder=os.environ.get("TORPOR_BUILDER", "https://torpor.dev/release/local"),
        invocation=os.environ.get("TORPOR_INVOCATION", ""),
        tools={
            "python": platform.python_version(),
            "uv": command.run(_UV, "--version", limit=_LIMIT).split()[1],
            "go": _go_version(),
        },
    )


def _go_version() -> str:
    return command.run(golang.ensure(), "env", "GOVERSION", limit=_LIMIT).strip().removeprefix("go")


def push(names: Sequence[str], registry: str, tag: str, target: Path) -> dict[str, str]:
    """Push the images, and the chart that names them; write the references, and the manifest that names them."""
    references = signing.push(target / "images", names, registry, tag)
    tagged = {name: reference.replace("@", f":{tag}@", 1) for name, reference in references.items()}
    text = manifest.released(manifest.BASE, tagged["torpor"], tagged["torpor-runtime"])
    (target / MANIFEST).write_text(text)
    named = ChartImages(torpor=tagged["torpor"], runtime=tagged["torpor-runtime"])
    references[_CHART] = _push_chart(named, registry, version.semantic(tag), target)
    _write(target / "references.json", references)
    return references


def _push_chart(images: ChartImages, registry: str, semantic: str, target: Path) -> str:
    """Package the chart that names these images, and push it; return its reference by its digest."""
    helm, folder = golang.build(golang.HELM), target / "chart/torpor"
    chart.write(folder, semantic, images)
    command.run(helm, "package", folder, "--destination", target, limit=_LIMIT)
    local = ("--plain-http",) if registry.startswith("127.0.0.1:") else ()
    with step(f"pushing {registry}/charts/torpor:{semantic}"):
        package = target / f"torpor-{semantic}.tgz"
        command.run(helm, "push", package, f"oci://{registry}/charts", *local, limit=_LIMIT)
    digest = command.run(golang.build(golang.CRANE), "digest", f"{registry}/charts/torpor:{semantic}", limit=_LIMIT)
    return f"{registry}/charts/torpor@{digest.strip()}"


def sign(signer: Signer, target: Path) -> None:
    """Sign each pushed image with its bill of materials and its provenance, the manifest, and the checksums."""
    for name, reference in _references(target).items():
        signing.sign(reference, signer)
        if name == _CHART:
            continue  # it contains no programs, and names the images by their digests
        signing.attest(reference, "cyclonedx", target / f"{name}.cdx.json", signer)
        signing.attest(reference, "slsaprovenance1", target / f"{name}.provenance.json", signer)
    for name in _SIGNED_FILES:
        signing.sign_file(target / name, signer)


def verify(verifier: Verifier, target: Path) -> None:
    """Raise CommandError unless each image has the signature and both statements, and the files are signed."""
    for name, reference in _references(target).items():
        signing.verify(reference, verifier)
        for kind in () if name == _CHART else ("cyclonedx", "slsaprovenance1"):
            signing.verified_statement(reference, kind, verifier)
    for name in _SIGNED_FILES:
        signing.verify_file(target / name, verifier)


def _references(target: Path) -> dict[str, str]:
    references: dict[str, str] = json.loads((target / "references.json").read_text())
    return references


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
