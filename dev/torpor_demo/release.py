"""`python -m torpor_demo.release images|manifest`: Torpor's images in a registry, and the manifest that names them."""

import argparse
import sys

from torpor_dev.console import DevError

from torpor_demo import cluster, images, manifest
from torpor_demo.cluster import ROOT
from torpor_demo.images import Release

_TARGET = ROOT / "build/install.yaml"


def main() -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="torpor_demo.release", description=__doc__)
    parser.add_argument("command", choices=["images", "manifest"])
    add_arguments(parser)
    options = parser.parse_args()
    try:
        release = images.release(options.registry, options.version)
        if release is None:
            raise DevError(f"usage: make {options.command} REGISTRY=registry.example.org/team VERSION=1.0")
        _publish(release) if options.command == "images" else _write(release)
    except DevError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two options that name a release; make passes REGISTRY and VERSION in them, which may be empty."""
    parser.add_argument("--registry", default="", help="the registry, with a path in it: registry.example.org/team")
    parser.add_argument("--version", default="", help="the tag of all images: 1.0")


def _publish(release: Release) -> None:
    pushed = images.publish(images.RELEASED, cluster.base_image(), release)
    print("\n".join(pushed.values()))


def _write(release: Release) -> None:
    torpor, runtime = (images.pinned(image, release) for image in (images.TORPOR, images.RUNTIME))
    text = manifest.released(manifest.BASE, torpor, runtime)
    _TARGET.parent.mkdir(exist_ok=True)
    _TARGET.write_text(text)
    print(_TARGET.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
