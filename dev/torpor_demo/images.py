"""Builds Torpor's images and the examples', each from its Dockerfile; Docker's cache makes a second build short.

An image is built under its local name (`torpor:dev`), or under its name in a registry, and pushed there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torpor_dev import command
from torpor_dev.console import DevError, step
from torpor_dev.offline import base_image

from torpor_demo.cluster import ROOT

_BUILD_LIMIT = 1800
_PUSH_LIMIT = 1800
_LOCAL_TAG = ":dev"
_REGISTRY = re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_VERSION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
"""What is both a tag of an image and the value of a label."""
_DIGEST = re.compile(r"(?im)\bdigest: (sha256:[0-9a-f]{64})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A local image, the folder it is built from and its Dockerfile there.

    `based` takes BASE_IMAGE as a build argument. `parent` is another image of ours, and the argument that names it.
    `official` are further arguments, for machines that pull official images.
    """

    name: str
    context: Path
    dockerfile: str = "Dockerfile"
    based: bool = field(default=False)
    parent: "tuple[str, Image] | None" = None
    official: tuple[tuple[str, str], ...] = ()


TORPOR = Image(name="torpor:dev", context=ROOT, based=True)
WORKER = Image(name="torpor-worker:dev", context=ROOT, dockerfile="worker-image/Dockerfile", based=True)
RUNTIME = Image(
    name="torpor-runtime:dev",
    context=ROOT,
    dockerfile="worker-image/runtime-tool/Dockerfile",
    based=True,
    official=tuple((f"PYTHON_3_{minor}", f"python:3.{minor}-slim") for minor in (12, 13, 14)),
)
CENSUS = Image(name="census:dev", context=ROOT / "examples/census", parent=("WORKER_IMAGE", WORKER))
SENSORS = Image(name="sensors:dev", context=ROOT / "examples/sensors", parent=("WORKER_IMAGE", WORKER))
OWN_TRIGGER = Image(name="own-trigger:dev", context=ROOT / "examples/own-trigger", parent=("TORPOR_IMAGE", TORPOR))
ALL = (TORPOR, WORKER, RUNTIME, CENSUS)
RELEASED = (*ALL, SENSORS, OWN_TRIGGER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Where images are pushed, and their tag there."""

    registry: str
    version: str

    def repository(self, image: Image) -> str:
        """The name of an image without its tag."""
        return f"{self.registry}/{image.name.removesuffix(_LOCAL_TAG)}"

    def tag(self, image: Image) -> str:
        """The name of an image with its tag."""
        return f"{self.repository(image)}:{self.version}"

    def reference(self, image: Image, digest: str) -> str:
        """The name by which a pod pulls exactly this image."""
        return f"{self.tag(image)}@{digest}"


def release(registry: str, version: str) -> Release | None:
    """The release that REGISTRY and VERSION name; None without either. Raises DevError for one alone, or a bad one."""
    if not (registry or version):
        return None
    if not (registry and version):
        raise DevError("REGISTRY and VERSION go together, such as REGISTRY=registry.example.org/team VERSION=1.0")
    if not _REGISTRY.fullmatch(registry):
        raise DevError(f"REGISTRY is {registry!r}; it must be a registry and a path in it: registry.example.org/team")
    if not _VERSION.fullmatch(version):
        raise DevError(f"VERSION is {version!r}; it must be a tag of up to 63 letters, digits, dots, dashes: 1.0")
    return Release(registry=registry, version=version)


def build(images: Sequence[Image], base: str) -> dict[str, str]:
    """Build the images in order under their local names; return the id of each by its name."""
    for image in images:
        _build(image, image.name, arguments_of(image, base, None))
    return {image.name: image_id(image) for image in images}


def publish(images: Sequence[Image], base: str, to: Release) -> dict[str, str]:
    """Build the images in order and push them; return the reference of each, with its digest, by its local name.

    Does not change what the local names refer to: a cluster of `make demo` may run other images.
    """
    for image in images:
        _build(image, to.tag(image), arguments_of(image, base, to))
    return {image.name: _push(image, to) for image in images}


def pinned(image: Image, to: Release) -> str:
    """The reference of an image in the registry, with the digest that its tag has there now; pulls the image."""
    with step(f"pulling {to.tag(image)}"):
        return to.reference(image, digest(command.run("docker", "pull", to.tag(image), limit=_PUSH_LIMIT)))


def digest(output: str) -> str:
    """The digest that `docker push` or `docker pull` prints."""
    digests = _DIGEST.findall(output)
    if not digests:
        raise DevError(f"Docker printed no digest:\n{output}")
    last: str = digests[-1]
    return last


def image_id(image: Image) -> str:
    """The id of the image that was last built under its name."""
    return command.run("docker", "image", "inspect", "--format", "{{.Id}}", image.name, limit=60).strip()


def arguments_of(image: Image, base: str, to: Release | None) -> dict[str, str]:
    """The build arguments of an image that is built from this Python image, locally or for a release."""
    arguments = {"BASE_IMAGE": base} if image.based else {}
    if image.parent is not None:
        argument, parent = image.parent
        arguments[argument] = to.tag(parent) if to else parent.name
    # Not for local builds, which would pull these images for a few milliseconds of a demo.
    return arguments | (dict(image.official) if to and base == base_image.OFFICIAL else {})


def _build(image: Image, tag: str, arguments: Mapping[str, str]) -> None:
    given = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
    with step(f"building {tag}"):
        dockerfile = image.context / image.dockerfile
        command.run("docker", "build", "-t", tag, "-f", dockerfile, *given, image.context, limit=_BUILD_LIMIT)


def _push(image: Image, to: Release) -> str:
    with step(f"pushing {to.tag(image)}"):
        return to.reference(image, digest(command.run("docker", "push", to.tag(image), limit=_PUSH_LIMIT)))
