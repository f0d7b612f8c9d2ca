"""The options of the commands that create runs: `submit`, `resubmit`, `schedule run` and `backfill create`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from torpor_cli.output import Format, output_option

F = TypeVar("F", bound=Callable[..., Any])

_PARAMS = (
    click.option("-p", "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="Value of a param; may repeat."),
    click.option("--params-file", type=click.Path(), help="YAML or JSON file with values of params."),
)
_FOLLOWING = (
    click.option("--wait", is_flag=True, help="Wait for the end; the exit code tells the outcome."),
    click.option("-w", "--watch", is_flag=True, help="Follow the run as a tree until it ends."),
    click.option("--logs", is_flag=True, help="Follow the logs of the run until it ends."),
    click.option("--timeout", metavar="DURATION", help="Longest wait; exit code 5 afterwards, and the run goes on."),
)
_DRY_RUN = click.option(
    "--dry-run", type=click.Choice(["server"]), help="Let the API server check it, and create nothing."
)
_OUTPUT = output_option(Format.JSON, Format.YAML, Format.NAME)


def run_options(function: F) -> F:
    """Add the options of a command that creates a Workflow, in the order of the help."""
    return _with(function, (*_PARAMS, *_FOLLOWING, _DRY_RUN, _OUTPUT))


def request_options(function: F) -> F:
    """Add the options of a command that lets the operator create a Workflow."""
    return _with(function, (*_PARAMS, *_FOLLOWING, _OUTPUT))


def param_options(function: F) -> F:
    """Add the options for values of params."""
    return _with(function, _PARAMS)


def _with(function: F, options: Sequence[Callable[[F], F]]) -> F:
    for option in reversed(options):
        function = option(function)
    return function
