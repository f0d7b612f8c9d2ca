"""`torpor schedule pause` and `resume`."""

import click
from torpor_client.changes.operations import set_field

from torpor_cli import output
from torpor_cli.cluster import edit
from torpor_cli.cluster.connect import connect
from torpor_cli.cluster.resources import SCHEDULES
from torpor_cli.options import ClusterCommand, complete_schedule
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions

_NAMES = click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_schedule)
_OUTPUT = output_option(Format.JSON, Format.YAML, Format.NAME)


@click.command("pause", cls=ClusterCommand)
@_NAMES
@_OUTPUT
@click.pass_obj
def pause_command(target: TargetOptions, names: tuple[str, ...], output_format: str) -> None:
    """Start no further runs of Schedules: set spec.suspend. Runs that have started go on.

    Ticks pass without a run; other events wait at their source.
    """
    _suspend(target, names, output_format, "paused", value=True)


@click.command("resume", cls=ClusterCommand)
@_NAMES
@_OUTPUT
@click.pass_obj
def resume_command(target: TargetOptions, names: tuple[str, ...], output_format: str) -> None:
    """Continue paused Schedules, also those that paused themselves after failed runs."""
    _suspend(target, names, output_format, "resumed", value=False)


def _suspend(target: TargetOptions, names: tuple[str, ...], output_format: str, done: str, *, value: bool) -> None:
    cluster = connect(target)
    schedules = lookup.find_all(cluster, SCHEDULES, names)
    operations = set_field("suspend", value)
    changed = [
        item
        if bool(item["spec"].get("suspend")) == value
        else edit.change(cluster.api, SCHEDULES, item, lambda _: operations)
        for item in schedules
    ]
    output.changed_objects(changed, output_format, done)
