"""The click group of `torpor`, which imports the module of a command when it runs it."""

from importlib import import_module
from typing import Any

import click

from kubectl_torpor import errors
from kubectl_torpor.command_table import COMMANDS
from kubectl_torpor.target import TARGET_OPTIONS, Target


class LazyGroup(click.Group):
    """Commands from the table. `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - a given signature
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command. None if the table has none of this name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f"kubectl_torpor.commands.{entry.module}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name. Raises UsageError with the nearest one."""
        if not ctx.resilient_parsing and args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise errors.UsageError(f"{errors.unknown('command', args[0], COMMANDS, 'see `torpor --help`')}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    params=[option() for option in TARGET_OPTIONS],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Exit codes: 0 succeeded, 1 the command failed, 2 usage, 3 the run failed, 4 cancelled, 5 timed out (the run"
    " goes on), 130 interrupted (the run goes on).",
)
@click.pass_context
def app(ctx: click.Context, /, **target: Any) -> None:
    """Submit, watch, explain and repair Workflows of Torpor."""
    ctx.obj = Target(**target)
    if ctx.invoked_subcommand is None:  # as kubectl does
        click.echo(ctx.get_help())
