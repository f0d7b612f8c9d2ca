"""`python -m torpor_chart`: the chart in build/chart/torpor, and as a package in dist.

With a registry and a version, the chart names the images of that release by digest.
"""

import argparse
import sys

from torpor_demo import images
from torpor_demo.cluster import ROOT
from torpor_demo.release import add_arguments
from torpor_dev import command
from torpor_dev.console import DevError
from torpor_dev.offline import golang

from torpor_chart import chart
from torpor_chart.chart import ChartImages

FOLDER = ROOT / "build/chart/torpor"
_DIST = ROOT / "dist"


def main() -> int:
    """Write the chart and package it; return the exit code."""
    parser = argparse.ArgumentParser(prog="torpor_chart", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args()
    try:
        _write(options.registry, options.version)
        helm = golang.build(golang.HELM)
        said = command.run(helm, "package", FOLDER, "--destination", _DIST, limit=60)
        print(said.rpartition(": ")[2].strip())
    except DevError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _write(registry: str, version: str) -> None:
    release = images.release(registry, version)
    if release is None:
        chart.write(FOLDER)
        return
    torpor, runtime = (images.pinned(image, release) for image in (images.TORPOR, images.RUNTIME))
    chart.write(FOLDER, version, ChartImages(torpor=torpor, runtime=runtime))


if __name__ == "__main__":
    sys.exit(main())
