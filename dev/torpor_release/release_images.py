"""The images of a release: what each has, for amd64 and arm64, as OCI image layouts in build/release/images (ADR 0068).

Two builds of one commit give the same digests. `Dockerfile` and `worker-image/Dockerfile` build the same images with
Docker for one processor; a test compares their configurations.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor_dev import command
from torpor_dev.console import DevError, step

from torpor_release import debian_packages, image_files, image_layer, version
from torpor_release.debian_packages import DebianPackage
from torpor_release.image_layer import ImageLayer
from torpor_release.image_layout import ImageLayout, PlatformImage
from torpor_release.version import ROOT

ARCHITECTURES = ("amd64", "arm64")
SOURCE = "https://github.com/torpor/torpor"
_USER = "65532:65532"
_PATH = "PATH=/opt/torpor/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_AUTHORITIES = "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"
_TOGETHER = ("torpor-operator", "torpor-triggerer", "torpor-archive", "torpor-ui")
_MODULES = "torpor_operator, torpor_triggerer, torpor_archive or torpor_ui"
UV = ROOT / ".tools/bin/uv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedImage:
    """One image: its name, what it is, its configuration, and the distributions of Torpor in it."""

    name: str
    title: str
    config: Mapping[str, Any]
    packages: tuple[str, ...] = ()


TORPOR = ReleasedImage(
    name="torpor",
    title="The operator, the triggerer, the archive and the page of Torpor",
    packages=_TOGETHER,
    config={
        "Env": [
            _PATH,
            "LANG=C.UTF-8",
            _AUTHORITIES,
            "LOGNAME=torpor",
            "PYTHONDONTWRITEBYTECODE=1",
            "PYTHONUNBUFFERED=1",
        ],
        "Cmd": ["python", "-c", f"raise SystemExit('say python -m {_MODULES}')"],
        "User": _USER,
    },
)
WORKER = ReleasedImage(
    name="torpor-worker",
    title="The base of images whose tasks are Python",
    packages=("torpor",),
    config={
        "Env": [_PATH, "LANG=C.UTF-8", _AUTHORITIES, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"],
        "Entrypoint": ["python", "-m", "torpor"],
        "WorkingDir": "/app",
        "User": _USER,
    },
)
RUNTIME = ReleasedImage(
    name="torpor-runtime",
    title="The runtime that the operator of Torpor mounts into pods of any image",
    config={"Entrypoint": ["/torpor-tool"], "User": _USER, "Env": ["PATH=/"]},
)
ALL = (TORPOR, WORKER, RUNTIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInputs:
    """What all images of a release are built from."""

    epoch: int
    revision: str
    version: str
    pythons: tuple[str, ...]
    packages: Mapping[str, Sequence[DebianPackage]]
    wheels: Path

    def annotations(self, image: ReleasedImage) -> dict[str, str]:
        """The annotations of an image: where it comes from."""
        facts = {
            "title": image.title,
            "version": self.version,
            "revision": self.revision,
            "source": SOURCE,
            "licenses": "Apache-2.0",
        }
        return {f"org.opencontainers.image.{name}": value for name, value in facts.items()}


def inputs(folder: Path, pythons: Sequence[str] = ()) -> BuildInputs:
    """What this checkout builds from. `folder` gets the wheels; `pythons` compile the runtime besides this one."""
    if sys.version_info[:2] != (3, 11):
        raise DevError(
            f"the images have Python 3.11, and this is {sys.version.split()[0]}: their bytecode would be unusable"
        )
    revision = command.run("git", "rev-parse", "HEAD", limit=300, cwd=ROOT).strip()
    given = os.environ.get("SOURCE_DATE_EPOCH")
    epoch = int(given or command.run("git", "log", "-1", "--format=%ct", limit=300, cwd=ROOT))
    return BuildInputs(
        epoch=epoch,
        revision=revision,
        version=version.current(),
        pythons=(sys.executable, *pythons),
        packages={each: debian_packages.locked(each) for each in ARCHITECTURES},
        wheels=wheels(folder, epoch),
    )


def wheels(folder: Path, epoch: int) -> Path:
    """The wheels of the workspace, in a folder."""
    with step("building the wheels"):
        env = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        command.run(
            UV, "build", "--quiet", "--wheel", "--all-packages", "--out-dir", folder, limit=900, env=env, cwd=ROOT
        )
    return folder


def build(
    images: Sequence[ReleasedImage], target: Path, given: BuildInputs, architectures: Sequence[str] = ARCHITECTURES
) -> dict[str, str]:
    """Write each image as a layout into a folder of its name below `target`; return the digests by name."""
    bases = {each: _Base(target / "files" / each, each, given) for each in architectures}
    digests = {}
    for image in images:
        folder = target / image.name
        shutil.rmtree(folder, ignore_errors=True)
        with step(f"building the image {image.name} for {', '.join(architectures)}"):
            platforms = [
                PlatformImage(architecture=each, layers=bases[each].layers(image), config=image.config)
                for each in architectures
            ]
            digests[image.name] = ImageLayout(folder).add(platforms, given.annotations(image), given.epoch)
    shutil.rmtree(target / "files")
    (target / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")
    return digests


class _Base:
    """The layers of the images for one processor; two images share the one with Debian and Python."""

    def __init__(self, folder: Path, architecture: str, given: BuildInputs) -> None:
        self._folder, self._architecture, self._given = folder, architecture, given
        self._debian: ImageLayer | None = None
        shutil.rmtree(folder, ignore_errors=True)

    def layers(self, image: ReleasedImage) -> list[ImageLayer]:
        """The layers of an image, the one that changes least first."""
        if image is RUNTIME:
            return [self._layer("runtime", self._fill_runtime)]
        if self._debian is None:
            self._debian = self._layer("debian", self._fill_debian)
        own = [*image.packages, *_needed(image.packages)]
        libraries = self._layer(
            f"{image.name}-libraries",
            lambda root: image_files.third_party(root, self._architecture, _requirements(image.packages)),
        )
        code = self._layer(
            f"{image.name}-code", lambda root: image_files.own(root, self._architecture, own, self._given.wheels)
        )
        return [self._debian, libraries, code]

    def _layer(self, name: str, fill: Callable[[Path], None]) -> ImageLayer:
        root = self._folder / name
        if not root.exists():
            root.parent.mkdir(parents=True, exist_ok=True)
            fill(root)
        return image_layer.build(root, self._given.epoch)

    def _fill_debian(self, root: Path) -> None:
        image_files.debian(root, self._architecture, self._given.packages[self._architecture])

    def _fill_runtime(self, root: Path) -> None:
        image_files.runtime(root, self._architecture, self._given.packages[self._architecture], self._given.pythons)


def _requirements(packages: Sequence[str]) -> str:
    """What these packages need of others, with hashes, by the lock."""
    selected = [word for package in packages for word in ("--package", package)]
    words = ("export", "--quiet", "--frozen", "--no-dev", "--no-emit-workspace", "--no-emit-local", "--no-header")
    return command.run(UV, *words, *selected, limit=300, cwd=ROOT)


def _needed(packages: Sequence[str]) -> list[str]:
    """The other packages of the workspace that these need."""
    selected = [word for package in packages for word in ("--package", package)]
    words = ("export", "--quiet", "--frozen", "--no-dev", "--no-hashes", "--no-header", "--no-annotate")
    listed = command.run(UV, *words, *selected, limit=300, cwd=ROOT).splitlines()
    folders = [ROOT / line.removeprefix("-e ").strip() for line in listed if line.startswith(("-e ", "./"))]
    return sorted({version.project_name(folder) for folder in folders} - set(packages))
