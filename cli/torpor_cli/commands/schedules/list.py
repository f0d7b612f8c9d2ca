"""`torpor schedule list`."""

import click
from torpor_client.schedules import listing

from torpor_cli import output
from torpor_cli.cluster.connect import connect
from torpor_cli.cluster.resources import SCHEDULES
from torpor_cli.options import ClusterCommand
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions


@click.command("list", cls=ClusterCommand)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="List the Schedules of all namespaces.")
@click.option("-l", "--selector", "labels", default="", help="Only Schedules with these labels, as kubectl -l.")
@output_option()
@click.pass_obj
def list_command(target: TargetOptions, everywhere: bool, labels: str, output_format: str) -> None:
    """List Schedules with their next tick and last run. Times are in UTC."""
    cluster = connect(target)
    schedules = lookup.every(cluster, SCHEDULES, labels=labels, everywhere=everywhere)
    if output_format not in {Format.TEXT, Format.WIDE}:
        output.objects(schedules, output_format, single=False)
        return
    if not schedules:
        place = "the cluster" if everywhere else f"namespace {cluster.namespace}"
        output.note(f"{place} has no schedules{' that match the options' if labels else ''}")
        return
    wide = output_format == Format.WIDE
    head = [*listing.SCHEDULE_HEAD, *(listing.SCHEDULE_WIDE if wide else ())]
    rows = [(item, listing.schedule_row(item, wide=wide)) for item in schedules]
    output.namespaced_table(head, rows, everywhere=everywhere)
