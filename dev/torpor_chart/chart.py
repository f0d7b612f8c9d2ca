"""Writes the folder of the chart: what is in manifests/chart, and the templates of the kustomizations."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from torpor_demo.cluster import ROOT
from torpor_dev.console import DevError

from torpor_chart.templates import templates

SOURCE = ROOT / "manifests/chart"
_SEMANTIC = re.compile(r"v?(\d+)(\.\d+)?(\.\d+)?(-[0-9A-Za-z.-]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartImages:
    """The images that a chart names, each as REPOSITORY:TAG@DIGEST."""

    torpor: str
    runtime: str


def write(folder: Path, version: str = "", images: ChartImages | None = None) -> None:
    """Write the chart into a folder, which is replaced. Without a version it is the one of the checkout."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE, folder)
    for name, text in templates().items():
        file = folder / "templates" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    if version:
        _replace(folder / "Chart.yaml", {"version: 0.0.0": f"version: {_semantic(version)}"})
        _replace(folder / "Chart.yaml", {"appVersion: dev": f"appVersion: {json.dumps(version)}"})
    if images:
        _replace(folder / "values.yaml", {_image_values("torpor:dev"): _image_values(images.torpor)})
        _replace(folder / "values.yaml", {_image_values("torpor-runtime:dev"): _image_values(images.runtime)})


def _semantic(version: str) -> str:
    """A version as Helm wants it: three numbers, and what may follow them."""
    match = _SEMANTIC.fullmatch(version)
    if match is None:
        raise DevError(f"VERSION is {version!r}; a chart needs a semantic version, such as 1.0 or 1.0.0-rc1")
    major, minor, patch, rest = match.groups(default="")
    return f"{major}{minor or '.0'}{patch or '.0'}{rest}"


def _image_values(reference: str) -> str:
    tagged, _, digest = reference.partition("@")
    repository, _, tag = tagged.rpartition(":")
    return f"  repository: {repository}\n  tag: {_scalar(tag)}\n  digest: {_scalar(digest)}\n"


def _scalar(text: str) -> str:
    """A string in YAML; "1.0" is quoted, because it would be a number."""
    return json.dumps(text) if text != "dev" else text


def _replace(file: Path, texts: dict[str, str]) -> None:
    content = file.read_text()
    for old, new in texts.items():
        if content.count(old) != 1:
            raise DevError(f"{file} does not have exactly one {old!r}")
        content = content.replace(old, new)
    file.write_text(content)
