"""The commands of `torpor` with their arguments, options and exit codes, as the program has them."""

import re
from collections.abc import Iterator

import click
from kubectl_torpor.app import app
from kubectl_torpor.target import ClusterCommand, Target

from torpor_reference.tables import escaped, markdown

_SHARED = frozenset(Target.__dataclass_fields__)


def sections() -> str:
    """A section for each command: usage, description, and a table of its own options."""
    root = click.Context(app, info_name="torpor")
    found = (_section(root, name) for name in app.list_commands(root))
    return "\n\n".join(found)


def shared_options() -> str:
    """The options that every command for a cluster has."""
    root = click.Context(app, info_name="torpor")
    return _table(root, app.params)


def _section(root: click.Context, name: str) -> str:
    command = app.get_command(root, name)
    if command is None:
        raise LookupError(name)
    context = click.Context(command, info_name=name, parent=root)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    parts = [f"### torpor {name}", f"```text\n{usage}\n```", *_paragraphs(command.help or "")]
    own = [each for each in command.params if each.name not in _SHARED or not isinstance(command, ClusterCommand)]
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
