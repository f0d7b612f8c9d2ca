"""Writes an image for several processors as an OCI image layout, a folder that registries and tools read.

Everything in it is named by its content, so the digest of the image depends on nothing else. Must not build anything.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torpor_release.image_layer import ImageLayer

_TYPE = "application/vnd.oci.image"
INDEX = f"{_TYPE}.index.v1+json"
MANIFEST = f"{_TYPE}.manifest.v1+json"
CONFIG = f"{_TYPE}.config.v1+json"
LAYER = f"{_TYPE}.layer.v1.tar+gzip"
NAME = "org.opencontainers.image.ref.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformImage:
    """What an image is for one processor."""

    architecture: str
    layers: Sequence[ImageLayer]
    config: Mapping[str, Any]


class ImageLayout:
    """An OCI image layout in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "blobs/sha256").mkdir(parents=True)
        self._write(folder / "oci-layout", {"imageLayoutVersion": "1.0.0"})

    def add(self, images: Sequence[PlatformImage], annotations: Mapping[str, str], epoch: int) -> str:
        """Write an image for several processors; return its digest."""
        created = datetime.fromtimestamp(epoch, UTC).isoformat().replace("+00:00", "Z")
        manifests = [self._platform(image, annotations, created) for image in images]
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests, "annotations": dict(annotations)}
        descriptor = self._blob(json_bytes(index), INDEX)
        self._write(self._folder / "index.json", {"schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor]})
        digest: str = descriptor["digest"]
        return digest

    def _platform(self, image: PlatformImage, annotations: Mapping[str, str], created: str) -> dict[str, Any]:
        config = {
            "created": created,
            "architecture": image.architecture,
            "os": "linux",
            "config": {**image.config, "Labels": dict(annotations)},
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in image.layers]},
            "history": [{"created": created, "created_by": "torpor_release"} for _ in image.layers],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self._blob(json_bytes(config), CONFIG),
            "layers": [self._blob(layer.content, LAYER) for layer in image.layers],
            "annotations": dict(annotations),
        }
        platform = {"architecture": image.architecture, "os": "linux"}
        return {**self._blob(json_bytes(manifest), MANIFEST), "platform": platform}

    def _blob(self, content: bytes, media_type: str) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (self._folder / "blobs/sha256" / digest).write_bytes(content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        path.write_bytes(json_bytes(content))


def pull_sizes(layout: Path) -> dict[str, int]:
    """How many bytes a node pulls, for each processor: the compressed layers, and the configuration."""
    (image,) = json.loads((layout / "index.json").read_text())["manifests"]
    manifests = {
        each["platform"]["architecture"]: _content(layout, each) for each in _content(layout, image)["manifests"]
    }
    return {
        architecture: sum(int(part["size"]) for part in (manifest["config"], *manifest["layers"]))
        for architecture, manifest in manifests.items()
    }


def _content(layout: Path, descriptor: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON that a descriptor names."""
    digest = descriptor["digest"].removeprefix("sha256:")
    content: dict[str, Any] = json.loads((layout / "blobs/sha256" / digest).read_text())
    return content


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """JSON with one spelling: sorted, without spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
