"""`python -m torpor_release.version_command [VERSION | --check TAG]`: prints, writes or checks the version.

Apart from the other verbs, because it runs before any environment exists.
"""

import sys

from torpor_dev.console import DevError

from torpor_release import version


def main() -> int:
    """Perform one of the three; return the exit code."""
    try:
        print(_answer(sys.argv[1:]))
    except DevError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _answer(words: list[str]) -> str:
    match words:
        case []:
            return version.current()
        case ["--check", tag]:
            version.check_tag(tag)
            return f"{tag} is the version of this commit"
        case [wanted]:
            return "\n".join(str(path.relative_to(version.ROOT)) for path in version.set_version(wanted))
        case _:
            raise DevError("usage: make version [VERSION=0.2.0], make release-check TAG=v0.2.0")


if __name__ == "__main__":
    sys.exit(main())
