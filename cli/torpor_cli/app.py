"""The click group of `torpor`, which imports the module of a command when it runs it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, assert_never

import click

from torpor_cli import errors, plugins
from torpor_cli.command_table import COMMANDS, CommandEntry, CommandGroup
from torpor_cli.options import TARGET_OPTIONS
from torpor_cli.target import TargetOptions, target_of


class LazyGroup(click.Group):
    """Commands from a table. `--help` imports none of them."""

    def __init__(self, *args: Any, table: Mapping[str, CommandEntry | CommandGroup], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - a given signature
        """Return the names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command, or build the group of this name. None if the table has none of this name."""
        match self.table.get(cmd_name):
            case None:
                return None
            case CommandGroup() as group:
                return _group(cmd_name, group)
            case CommandEntry(module=name):
                module = import_module(f"torpor_cli.commands.{name}")
                command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
                return command
            case entry:
                assert_never(entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or the plugin. Raises UsageError with the nearest command."""
        if not ctx.resilient_parsing and args and args[0] not in self.table and not args[0].startswith("-"):
            program = plugins.find(args[0]) if ctx.parent is None else None
            if program is not None:
                return args[0], _plugin(args[0], program), args[1:]
            hint = f"see `{ctx.command_path} --help`"
            raise errors.UsageError(str(errors.unknown("command", args[0], self.table, hint)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.table.items()])


def _plugin(name: str, program: str) -> click.Command:
    """Return a command that hands all its arguments to a program."""
    return click.Command(
        name,
        callback=lambda words: plugins.run(program, words),
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True, "help_option_names": []},
    )


def _group(name: str, group: CommandGroup) -> click.Group:
    """Return the commands of a group. The options of the target may stand before and after its name."""

    def callback(**target: Any) -> None:  # noqa: ARG001 - target_of reads the options of the context
        context = click.get_current_context()
        context.obj = target_of(context)
        if context.invoked_subcommand is None:
            click.echo(context.get_help())

    return LazyGroup(
        name,
        table=group.commands,
        help=group.help,
        callback=callback,
        invoke_without_command=True,
        params=[option() for option in TARGET_OPTIONS],
    )


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    invoke_without_command=True,
    params=[option() for option in TARGET_OPTIONS],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Exit codes: 0 succeeded, 1 the command failed, 2 usage, 3 the run failed, 4 cancelled, 5 timed out (the run"
    " goes on), 130 interrupted (the run goes on).",
)
@click.pass_context
def app(ctx: click.Context, /, **target: Any) -> None:
    """Submit, watch, explain and repair Workflows of Torpor."""
    ctx.obj = TargetOptions(**target)
    if ctx.invoked_subcommand is None:  # as kubectl does
        click.echo(ctx.get_help())
