"""The commands of `torpor` with their arguments, options and exit codes, as the program has them."""

import re
from collections.abc import Iterator

import click
from torpor_cli.app import app
from torpor_cli.options import ClusterCommand
from torpor_cli.target import TargetOptions

from torpor_reference.tables import escaped, markdown

_SHARED = frozenset(TargetOptions.__dataclass_fields__)


def sections() -> str:
    """A section for each command: usage, description, and a table of its own options."""
    return "\n\n".join(_sections(app, click.Context(app, info_name="torpor")))


def shared_options() -> str:
    """The options that every command for a cluster has."""
    root = click.Context(app, info_name="torpor")
    return _table(root, app.params)


def _sections(group: click.Group, outer: click.Context) -> Iterator[str]:
    """A section for each command of a group, and for each command of the groups in it."""
    for name in group.list_commands(outer):
        command = group.get_command(outer, name)
        if command is None:
            raise LookupError(name)
        context = click.Context(command, info_name=name, parent=outer)
        yield _section(context, command)
        if isinstance(command, click.Group):
            yield from _sections(command, context)


def _section(context: click.Context, command: click.Command) -> str:
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    parts = [f"### {context.command_path}", f"```text\n{usage}\n```", *_paragraphs(command.help or "")]
    shared = isinstance(command, ClusterCommand | click.Group)
    own = [each for each in command.params if each.name not in _SHARED or not shared]
    options = [each for each in own if isinstance(each, click.Option)]
    if options:
        parts.append(_table(context, options))
    return "\n\n".join(parts)


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text. One that click does not wrap is a block of code."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("\b"):
            yield f"```text\n{paragraph.removeprefix(chr(8)).strip()}\n```"
        else:
            yield " ".join(paragraph.split())


def _table(context: click.Context, options: list[click.Option] | list[click.Parameter]) -> str:
    records = (option.get_help_record(context) for option in options)
    rows = [(f"`{escaped(record[0])}`", escaped(record[1])) for record in records if record is not None]
    return markdown(("Option", "Meaning"), rows)
