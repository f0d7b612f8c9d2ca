"""The errors of `torpor`. Each message is one line that says what to do."""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of `torpor`. Scripts depend on them."""

    SUCCEEDED = 0
    FAILED = 1
    """The command failed."""
    USAGE = 2
    """The command line is wrong."""
    RUN_FAILED = 3
    RUN_CANCELLED = 4
    TIMED_OUT = 5
    """The time limit of the command ended; the run goes on."""
    INTERRUPTED = 130
    """Ctrl-C; the run goes on."""


class CliError(Exception):
    """The base of all errors that a command reports."""

    exit_code = ExitCode.FAILED


class UsageError(CliError):
    """The arguments are invalid, independent of what the cluster contains."""

    exit_code = ExitCode.USAGE


_NOT_COMPILED = (
    "{0} needs the package {1}, which is not compiled for Python {2}.{3} here; install the wheel of torpor with this "
    "Python, or run the file with the Python that built it"
)


def not_compiled(command: str, error: ImportError) -> CliError:
    """Build the error for a package of a command that cannot be imported."""
    return CliError(_NOT_COMPILED.format(command, error.name, *sys.version_info[:2]))


class UnknownNameError(CliError):
    """The cluster or the run has nothing of this name."""


def unknown(what: str, name: str, known: Iterable[str], hint: str = "", *, where: str = "") -> UnknownNameError:
    """Build the error for a name that does not exist, with the nearest that does: `unknown("task", "lod", tasks)`."""
    nearest = nearest_name(name, known)
    advice = f"; did you mean {nearest}?" if nearest else f"; {hint}" if hint else ""
    return UnknownNameError(f"there is no {what} {name!r}{where and f' {where}'}{advice}")


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar, None if none is. A generated ending (`-x7f2k`) may be missing."""
    names = {candidate.lower(): candidate for candidate in known}
    stems = {candidate.rpartition("-")[0]: whole for candidate, whole in names.items() if "-" in candidate}
    if close := get_close_matches(name.lower(), names, n=1, cutoff=0.6):
        return names[close[0]]
    close = get_close_matches(name.lower(), stems, n=1, cutoff=0.7)
    return stems[close[0]] if close else None
