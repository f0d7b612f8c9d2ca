"""`python -m torpor_release`: the steps of a release, one verb each. Answers go to standard output."""

import argparse
import sys

from torpor_dev.console import DevError

from torpor_release import version


def main() -> int:
    """Run the verb of the command line; return the exit code."""
    options = _parser().parse_args()
    try:
        _perform(options)
    except DevError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torpor-release", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    set_version = verbs.add_parser("version", help="print the version of this checkout, or write another one")
    set_version.add_argument("version", nargs="?", default="")
    return parser


def _perform(options: argparse.Namespace) -> None:
    match options.verb:
        case "version":
            if options.version:
                for path in version.set_version(options.version):
                    print(path.relative_to(version.ROOT))
            else:
                print(version.current())


if __name__ == "__main__":
    sys.exit(main())
