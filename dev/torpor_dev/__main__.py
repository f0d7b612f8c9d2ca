"""The command line: one verb, answers on standard output, progress and failures on standard error."""

import argparse
import sys
from pathlib import Path

from torpor_dev import control_plane
from torpor_dev.errors import DevError


def main() -> int:
    """Run the verb that the command line names; gives the exit code."""
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
    up = verbs.add_parser("control-plane", help="start etcd and an API server as plain processes; print the kubeconfig")
    up.add_argument("--scheduler", action="store_true", help="run the scheduler too")
    down = verbs.add_parser("control-plane-down", help="end them and remove their state")
    for each in (up, down):
        each.add_argument("--state", type=Path, help="the folder they live in; several may run side by side")
    return parser


def _perform(options: argparse.Namespace) -> None:
    match options.verb:
        case "control-plane":
            print(control_plane.start(options.state or control_plane.default_state(), scheduler=options.scheduler))
        case "control-plane-down":
            control_plane.stop(options.state or control_plane.default_state())


if __name__ == "__main__":
    sys.exit(main())
