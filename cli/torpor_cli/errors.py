"""The errors of `torpor` and their exit codes. Each message is one line that says what to do."""

import sys
from enum import IntEnum

from torpor_client.errors import UnknownNameError, UsageError, UserError, nearest_name, unknown

__all__ = [
    "CliError",
    "ExitCode",
    "UnknownNameError",
    "UsageError",
    "exit_code",
    "nearest_name",
    "not_compiled",
    "unknown",
]

CliError = UserError
"""The base of all errors that a command reports."""


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


def exit_code(error: CliError) -> ExitCode:
    """Return the exit code of a command that ends with an error."""
    return ExitCode.USAGE if isinstance(error, UsageError) else ExitCode.FAILED


_NOT_COMPILED = (
    "{0} needs the package {1}, which is not compiled for Python {2}.{3} here; install the wheel of torpor with this "
    "Python, or run the file with the Python that built it"
)


def not_compiled(command: str, error: ImportError) -> CliError:
    """Build the error for a package of a command that cannot be imported."""
    return CliError(_NOT_COMPILED.format(command, error.name, *sys.version_info[:2]))
