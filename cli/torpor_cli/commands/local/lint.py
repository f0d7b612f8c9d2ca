"""`torpor lint`. The checks are imported when the command runs: they need pydantic and the CEL library."""

import os
import sys
from collections.abc import Iterable

import click

from torpor_cli import output
from torpor_cli.errors import ExitCode, UsageError, not_compiled

_FORMATS = ("text", "json", "github")


@click.command("lint")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-R", "--recursive", is_flag=True, help="Also search the folders in a folder.")
@click.option(
    "--trigger",
    "triggers",
    metavar="NAME=MODULE:CLASS",
    multiple=True,
    help="Import a custom trigger class to check its arguments. Repeatable.",
)
@click.option("-o", "--output", "output_format", type=click.Choice(_FORMATS), default="text", help="Format.")
def lint_command(files: tuple[str, ...], recursive: bool, triggers: tuple[str, ...], output_format: str) -> int:
    """Check files with Workflows, WorkflowTemplates, Schedules and Backfills without a cluster.

    Reports what the API server, the admission policies, the operator and the triggerer would report. FILE is a file, a
    folder, or - for standard input. Objects of other kinds are skipped.

    Exit codes: 0 no errors, 1 errors, 2 usage.
    """
    try:  # the other commands start without these
        from torpor_cli.linting import check, report, sources  # noqa: PLC0415
        from torpor_cli.linting import triggers as trigger_checks  # noqa: PLC0415
    except ImportError as error:
        raise not_compiled("lint", error) from error

    if triggers:
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` does
    try:
        classes = trigger_checks.classes(trigger_checks.entries(triggers))
        checked = list(check.check(sources.read(files, recursive=recursive), classes))
    except (trigger_checks.UnusableTriggerError, sources.UnreadableFileError) as error:
        raise UsageError(str(error)) from error
    match output_format:
        case "json":
            output.line(report.as_json(checked))
        case "github":
            _lines(report.github(checked))
        case _:
            _lines(report.text(checked))
            output.note(report.summary(checked))
    return ExitCode.FAILED if report.errors(checked) else ExitCode.SUCCEEDED


def _lines(lines: Iterable[str]) -> None:
    for line in lines:
        output.line(line)
