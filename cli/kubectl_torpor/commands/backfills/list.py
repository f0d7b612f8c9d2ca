"""`torpor backfill list`."""

import time

import click

from kubectl_torpor import output
from kubectl_torpor.cluster.connect import connect
from kubectl_torpor.cluster.resources import BACKFILLS
from kubectl_torpor.output import Format, output_option
from kubectl_torpor.render import style
from kubectl_torpor.schedules import listing, lookup
from kubectl_torpor.target import ClusterCommand, Target, complete_schedule


@click.command("list", cls=ClusterCommand)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="List the Backfills of all namespaces.")
@click.option("--schedule", metavar="NAME", help="Only Backfills of this Schedule.", shell_complete=complete_schedule)
@output_option()
@click.pass_obj
def list_command(target: Target, everywhere: bool, schedule: str | None, output_format: str) -> None:
    """List Backfills with their progress. Times are in UTC."""
    cluster = connect(target)
    found = lookup.every(cluster, BACKFILLS, everywhere=everywhere)
    if schedule is not None:
        found = [item for item in found if item["spec"].get("schedule") == schedule]
    if output_format not in {Format.TEXT, Format.WIDE}:
        output.objects(found, output_format, single=False)
        return
    if not found:
        place = "the cluster" if everywhere else f"namespace {cluster.namespace}"
        output.note(f"{place} has no backfills{f' of schedule {schedule}' if schedule else ''}")
        return
    wide, now = output_format == Format.WIDE, time.time()
    head = [*listing.BACKFILL_HEAD, *(listing.BACKFILL_WIDE if wide else ())]
    rows = [(item, listing.backfill_row(item, now, wide=wide)) for item in found]
    output.namespaced_table(head, rows, everywhere=everywhere, paint=_paint)


def _paint(cell: str) -> str:
    return style.cell(cell, coloured=output.coloured())
