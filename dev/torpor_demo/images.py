"""Builds Torpor's images and the example's, each from its Dockerfile; Docker's cache makes a second build short."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torpor_dev import command
from torpor_dev.progress import step

from torpor_demo.cluster import ROOT

_BUILD_LIMIT = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A local image, the folder it is built from and its Dockerfile there. `based` takes BASE_IMAGE as an argument."""

    name: str
    context: Path
    dockerfile: str = "Dockerfile"
    based: bool = field(default=False)


TORPOR = Image(name="torpor:dev", context=ROOT, based=True)
WORKER = Image(name="torpor-worker:dev", context=ROOT, dockerfile="worker-image/Dockerfile", based=True)
CENSUS = Image(name="census:dev", context=ROOT / "examples/census")
ALL = (TORPOR, WORKER, CENSUS)


def build(images: Sequence[Image], base: str) -> dict[str, str]:
    """Build the images in order; gives the id of each by its name."""
    return {image.name: _build(image, base) for image in images}


def _build(image: Image, base: str) -> str:
    argument = ["--build-arg", f"BASE_IMAGE={base}"] if image.based else []
    dockerfile = image.context / image.dockerfile
    with step(f"building {image.name}"):
        command.run("docker", "build", "-t", image.name, "-f", dockerfile, *argument, image.context, limit=_BUILD_LIMIT)
    return image_id(image)


def image_id(image: Image) -> str:
    """The id of what was last built under the image's name."""
    return command.run("docker", "image", "inspect", "--format", "{{.Id}}", image.name, limit=60).strip()
