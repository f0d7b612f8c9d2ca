"""Options and arguments that commands share, with the values that a shell completes."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import click

from torpor_cli.output import Format, output_option
from torpor_cli.target import TargetOptions, target_of

F = TypeVar("F", bound=Callable[..., Any])

TARGET_OPTIONS: tuple[Callable[[], click.Option], ...] = (
    lambda: click.Option(
        ["-n", "--namespace", "namespace"],
        help="Namespace; by default that of the context.",
        shell_complete=_complete("namespaces"),
    ),
    lambda: click.Option(
        ["--context", "context"], help="Context of the kubeconfig.", shell_complete=_complete("contexts")
    ),
    lambda: click.Option(["--kubeconfig", "kubeconfig"], help="Path of the kubeconfig.", type=click.Path()),
    lambda: click.Option(["--as", "as_user"], metavar="USER", help="User to impersonate."),
    lambda: click.Option(["--as-group", "as_groups"], metavar="GROUP", multiple=True, help="Group to impersonate."),
)


class ClusterCommand(click.Command):
    """A command with these options. Its function receives the TargetOptions by `@click.pass_obj`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(option() for option in TARGET_OPTIONS)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command with the options before and after its name."""
        ctx.obj = target_of(ctx)
        for field in fields(TargetOptions):
            ctx.params.pop(field.name, None)
        return super().invoke(ctx)


def _complete(function: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return a completion function that imports its implementation when a shell calls it."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from torpor_cli import completions  # noqa: PLC0415 - it imports the client of the API server

        values: list[Any] = getattr(completions, function)(ctx, parameter, incomplete)
        return values

    return complete


complete_run = _complete("runs")
"""Completes names of Workflows."""
complete_open_run = _complete("open_runs")
"""Completes names of Workflows that have not ended."""
complete_task = _complete("tasks")
"""Completes tasks of the run that the argument `name` has."""
complete_reference = _complete("references")
"""Completes NAME, then NAME/task, then NAME/task/index."""
complete_open_reference = _complete("open_references")
"""Completes the same for runs that have not ended."""
complete_state = _complete("states")
"""Completes states of runs."""
complete_schedule = _complete("schedules")
"""Completes names of Schedules."""
complete_template = _complete("templates")
"""Completes names of WorkflowTemplates."""
complete_cluster_template = _complete("cluster_templates")
"""Completes names of ClusterWorkflowTemplates, for a user who may list them."""
complete_backfill = _complete("backfills")
"""Completes names of Backfills."""
complete_open_backfill = _complete("open_backfills")
"""Completes names of Backfills that have not ended."""

_PARAMS = (
    click.option("-p", "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="Value of a param; may repeat."),
    click.option("--params-file", type=click.Path(), help="YAML or JSON file with values of params."),
)
_FOLLOWING = (
    click.option("--wait", is_flag=True, help="Wait for the end; the exit code is the outcome."),
    click.option("-w", "--watch", is_flag=True, help="Follow the run as a tree until it ends."),
    click.option("--logs", is_flag=True, help="Follow the logs of the run until it ends."),
    click.option(
        "--timeout", metavar="DURATION", help="Maximum time to wait; exit code 5 afterwards, and the run goes on."
    ),
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
