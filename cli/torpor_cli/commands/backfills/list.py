"""`torpor backfill list`."""

import time

import click

from torpor_cli import output
from torpor_cli.cluster.connect import connect
from torpor_cli.cluster.resources import BACKFILLS
from torpor_cli.options import ClusterCommand, complete_schedule
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import listing, lookup
from torpor_cli.target import TargetOptions


@click.command("list", cls=ClusterCommand)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="List the Backfills of all namespaces.")
@click.option("--schedule", metavar="NAME", help="Only Backfills of this Schedule.", shell_complete=complete_schedule)
@output_option()
@click.pass_obj
def list_command(target: TargetOptions, everywhere: bool, schedule: str | None, output_format: str) -> None:
    """List Backfills with their progress. Times are in UTC."""
    cluster = connect(target)
    backfills = lookup.every(cluster, BACKFILLS, everywhere=everywhere)
    if schedule is not None:
        backfills = [item for item in backfills if item["spec"].get("schedule") == schedule]
    if output_format not in {Format.TEXT, Format.WIDE}:
        output.objects(backfills, output_format, single=False)
        return
    if not backfills:
        place = "the cluster" if everywhere else f"namespace {cluster.namespace}"
        output.note(f"{place} has no backfills{f' of schedule {schedule}' if schedule else ''}")
        return
    wide, now = output_format == Format.WIDE, time.time()
    head = [*listing.BACKFILL_HEAD, *(listing.BACKFILL_WIDE if wide else ())]
    rows = [(item, listing.backfill_row(item, now, wide=wide)) for item in backfills]
    output.namespaced_table(head, rows, everywhere=everywhere)
