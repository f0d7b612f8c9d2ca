"""`torpor backfill list` and `torpor backfill status`: the progress of Backfills."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import click
from torpor_client.schedules import history, listing, moments

from torpor_cli import output, table
from torpor_cli.cluster.connect import connect
from torpor_cli.cluster.resources import BACKFILLS
from torpor_cli.options import ClusterCommand, complete_backfill, complete_schedule
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions

_FIELDS = ("progress", "active", "succeeded", "failed", "passed", "started")


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


@click.command("status", cls=ClusterCommand)
@click.argument("name", metavar="NAME", shell_complete=complete_backfill)
@output_option(Format.JSON, Format.YAML)
@click.pass_obj
def status_command(target: TargetOptions, name: str, output_format: str) -> None:
    """Show the progress of a Backfill, and its runs in the cluster, the latest tick first."""
    cluster = connect(target)
    backfill = lookup.find(cluster, BACKFILLS, name)
    if output_format != Format.TEXT:
        output.objects([backfill], output_format, single=True)
        return
    spec, status = backfill["spec"], backfill.get("status") or {}
    lines = {"name": backfill["metadata"]["name"], "schedule": spec.get("schedule")}
    lines["period"] = f"{moments.shown(spec.get('from'))} to {moments.shown(spec.get('to'))}"
    lines["state"] = listing.state_of_backfill(backfill)
    lines |= {field: status.get(field) or 0 for field in _FIELDS}
    for field, value in lines.items():
        output.line(table.line((field, str(value)), (10,), gap=" "))
    for why in dict.fromkeys((status.get("lastFailure"), *_messages(status))):
        if why:
            output.note(str(why))
    live = [history.live(item) for item in lookup.runs_of_backfill(cluster, backfill)]
    if live:
        output.line()
        ordered = history.merged(live, [], len(live))
        output.print_table(history.HEAD, [past.row() for past in ordered])


def _messages(status: Mapping[str, Any]) -> list[Any]:
    """Return why the Backfill waits or failed."""
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    return [condition.get("message") for condition in conditions if condition.get("type") in {"Succeeded", "Stalled"}]
