"""`torpor backfill cancel`."""

import click
from torpor_client.changes.operations import set_field

from torpor_cli import output
from torpor_cli.cluster import edit
from torpor_cli.cluster.connect import connect
from torpor_cli.cluster.resources import BACKFILLS
from torpor_cli.errors import CliError
from torpor_cli.following import backfill_end
from torpor_cli.options import ClusterCommand, complete_open_backfill
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions


@click.command("cancel", cls=ClusterCommand)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_open_backfill)
@output_option(Format.JSON, Format.YAML, Format.NAME)
@click.pass_obj
def cancel_command(target: TargetOptions, names: tuple[str, ...], output_format: str) -> None:
    """Start no further runs of Backfills. Active runs go on; `torpor cancel` ends them."""
    cluster = connect(target)
    backfills = lookup.find_all(cluster, BACKFILLS, names)
    for item in backfills:
        if state := backfill_end.ended_state(item):
            others = "" if len(backfills) == 1 else "; nothing was changed"
            raise CliError(f"cannot cancel backfill {item['metadata']['name']}: it has ended as {state}{others}")
    operations = set_field("cancel", True)
    changed = [edit.change(cluster.api, BACKFILLS, item, lambda _: operations) for item in backfills]
    output.changed_objects(changed, output_format, "is cancelled")
