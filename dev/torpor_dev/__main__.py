"""The command line: one verb. Answers go to standard output, progress and errors to standard error."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from torpor_dev import cluster, control_plane, engine, host, kubectl, load
from torpor_dev.console import DevError
from torpor_dev.offline import base_image, golang

_PROGRAMS: dict[str, Callable[[], Path]] = {
    "go": golang.ensure,
    "helm": lambda: golang.build(golang.HELM),
    "kubectl": kubectl.ensure,
    "vale": lambda: golang.build(golang.VALE),
    "actionlint": lambda: golang.build(golang.ACTIONLINT),
    "crane": lambda: golang.build(golang.CRANE),
    "cosign": lambda: golang.build(golang.COSIGN),
    "tools": lambda: golang.build_all(golang.TEST_TOOLS),
}


def main() -> int:
    """Run the verb of the command line; return the exit code."""
    options = _parser().parse_args()
    try:
        _perform(options)
    except DevError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torpor-dev", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("cluster", help="create, repair or keep a kind cluster; or check the one of TORPOR_KUBECONFIG")
    verbs.add_parser("kubeconfig", help="print the path of the cluster's kubeconfig")
    cluster_down = verbs.add_parser("cluster-down", help="remove the cluster, and keep the caches")
    cluster_down.add_argument("--purge", action="store_true", help="remove caches too")
    verbs.add_parser("base-image", help="pull or build a Python image to build from; print its name")
    verbs.add_parser("go", help="find or fetch Go; print its path")
    verbs.add_parser("helm", help="build Helm; print its path")
    verbs.add_parser("kubectl", help="find or build a kubectl; print its path")
    verbs.add_parser("vale", help="build the linter of the documentation; print its path")
    verbs.add_parser("actionlint", help="build the linter of GitHub workflows; print its path")
    verbs.add_parser("crane", help="build the program that copies images; print its path")
    verbs.add_parser("cosign", help="build the program that signs images; print its path")
    verbs.add_parser("tools", help="build the programs of long tests that take minutes each; print their folder")
    load_images = verbs.add_parser("load", help="copy local images to the cluster's nodes")
    load_images.add_argument("images", nargs="+", metavar="IMAGE")
    up = verbs.add_parser("control-plane", help="start etcd and an API server as processes; print the kubeconfig")
    up.add_argument("--scheduler", action="store_true", help="run the scheduler too")
    down = verbs.add_parser("control-plane-down", help="stop them and remove their state")
    for each in (up, down):
        each.add_argument("--state", type=Path, help="the folder of their state; several run side by side")
    return parser


def _perform(options: argparse.Namespace) -> None:
    match options.verb:
        case "cluster":
            cluster.up()
        case "kubeconfig":
            print(cluster.kubeconfig())
        case "cluster-down":
            cluster.purge() if options.purge else cluster.down()
        case "base-image":
            machine = host.observe()
            engine.ensure(machine)
            print(base_image.ensure(machine))
        case program if program in _PROGRAMS:
            print(_PROGRAMS[program]())
        case "load":
            load.onto_nodes(options.images)
        case "control-plane":
            print(control_plane.start(options.state or control_plane.default_state(), scheduler=options.scheduler))
        case "control-plane-down":
            control_plane.stop(options.state or control_plane.default_state())


if __name__ == "__main__":
    sys.exit(main())
