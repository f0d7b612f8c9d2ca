"""The entry point: runs a command, and reports every error as one line with an exit code."""

import io
import sys
from collections.abc import Sequence

import click

from torpor_cli import errors, output
from torpor_cli.app import app
from torpor_cli.errors import ExitCode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `torpor` with these arguments, by default those of the process. Return the exit code."""
    try:
        return _run(arguments)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        output.fail(_usage(error))
        return ExitCode.USAGE
    except click.ClickException as error:
        output.fail(error.format_message())
        return ExitCode.FAILED
    except errors.CliError as error:
        output.fail(str(error))
        return errors.exit_code(error)
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has what it wants
        output.discard(sys.stdout)
        return ExitCode.FAILED


def _run(arguments: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # its encoding may lack characters of names and logs
            stream.reconfigure(errors="backslashreplace")
    code = app.main(arguments, prog_name="torpor", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else ExitCode.SUCCEEDED


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "torpor"
    message = " ".join(error.format_message().split())  # click lists choices on lines of their own
    return f"{message.rstrip('.,')}; see `{path} --help`"


if __name__ == "__main__":
    sys.exit(main())
