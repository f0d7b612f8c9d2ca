"""The options of the commands that create runs: `submit` and `resubmit`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kubectl_torpor.output import Format, output_option

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("-p", "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="Value of a param; may repeat."),
    click.option("--params-file", type=click.Path(), help="YAML or JSON file with values of params."),
    click.option("--wait", is_flag=True, help="Wait for the end; the exit code tells the outcome."),
    click.option("-w", "--watch", is_flag=True, help="Follow the run as a tree until it ends."),
    click.option("--logs", is_flag=True, help="Follow the logs of the run until it ends."),
    click.option("--timeout", metavar="DURATION", help="Longest wait; exit code 5 afterwards, and the run goes on."),
    click.option("--dry-run", type=click.Choice(["server"]), help="Let the API server check it, and create nothing."),
    output_option(Format.JSON, Format.YAML, Format.NAME),
)


def run_options(function: F) -> F:
    """Add the options, in the order of the help."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
