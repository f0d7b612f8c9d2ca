"""Writes container images of a few files each as archives for `ctr images import`.

They are built without Docker, because they go into a node image before anything runs. Deterministic: no clock, no
owner.
"""

import hashlib
import io
import json
import platform
import tarfile
from dataclasses import dataclass
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedImage:
    """An image of one layer: its names, files by their place in it, and links by their target."""

    names: tuple[str, ...]
    files: dict[str, Path]
    links: dict[str, str]
    entrypoint: tuple[str, ...]


def write(image: ArchivedImage, target: Path) -> None:
    """Write the image as a Docker archive."""
    layer = target.with_suffix(".layer")
    _write_layer(image, layer)
    with layer.open("rb") as file:
        layer_digest = hashlib.file_digest(file, "sha256").hexdigest()
    config = json.dumps(_config(image, layer_digest)).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": list(image.names), "Layers": [f"{layer_digest}.tar"]}]
    with tarfile.open(target, "w") as tar:
        tar.add(layer, f"{layer_digest}.tar")
        for name, content in ((config_name, config), ("manifest.json", json.dumps(manifest).encode())):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    layer.unlink()


def _config(image: ArchivedImage, layer_digest: str) -> dict[str, object]:
    return {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Env": [_PATH], "Entrypoint": list(image.entrypoint)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
    }


def _write_layer(image: ArchivedImage, target: Path) -> None:
    with tarfile.open(target, "w") as tar:
        for folder in _folders(image):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for name, source in sorted(image.files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode = source.stat().st_size, 0o755
            with source.open("rb") as content:
                tar.addfile(info, content)
        for name, points_to in sorted(image.links.items()):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, points_to
            tar.addfile(info)


def _folders(image: ArchivedImage) -> list[str]:
    names = [*image.files, *image.links]
    return [*sorted({str(parent) for name in names for parent in Path(name).parents} - {"."}), "tmp"]
