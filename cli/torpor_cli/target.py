"""The options that say which cluster, namespace and user a command uses, as kubectl has them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

import click


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions:
    """What the options of the command line say. None where they say nothing."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()

    def overridden(self, by: Mapping[str, Any]) -> "TargetOptions":
        """Return the target with the options that are set after the command."""
        values = {field.name: by.get(field.name) or getattr(self, field.name) for field in fields(self)}
        return TargetOptions(**values)


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


def target_of(ctx: click.Context) -> TargetOptions:
    """Return what the options of a context and of its parents say."""
    outer = ctx.obj if isinstance(ctx.obj, TargetOptions) else TargetOptions()
    if ctx.parent is not None and ctx.resilient_parsing:
        outer = target_of(ctx.parent)
    return outer.overridden(ctx.params)


def _complete(function: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return a completion function that imports its implementation when a shell calls it."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        completions = import_module("torpor_cli.completions")
        found: list[Any] = getattr(completions, function)(ctx, parameter, incomplete)
        return found

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
complete_backfill = _complete("backfills")
"""Completes names of Backfills."""
complete_open_backfill = _complete("open_backfills")
"""Completes names of Backfills that have not ended."""
