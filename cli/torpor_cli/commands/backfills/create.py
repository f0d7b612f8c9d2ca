"""`torpor backfill create`."""

from collections.abc import Iterable, Mapping
from typing import Any

import click
from torpor_client.changes import schedule_changes
from torpor_client.schedules import moments, upcoming
from torpor_client.schedules.upcoming import UpcomingTick
from torpor_wire.enums import Rerun

from torpor_cli import output
from torpor_cli.changes import run_params, submission
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.errors import ConflictError
from torpor_cli.cluster.resources import BACKFILLS, SCHEDULES
from torpor_cli.commands.change.wait import parse_limit
from torpor_cli.errors import CliError, UsageError
from torpor_cli.options import ClusterCommand, complete_schedule, param_options
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions


@click.command("create", cls=ClusterCommand)
@click.argument("schedule", metavar="SCHEDULE", shell_complete=complete_schedule)
@click.option("--from", "start", metavar="TIME", required=True, help="First time of the period; UTC without an offset.")
@click.option("--to", "end", metavar="TIME", required=True, help="End of the period, excluded.")
@click.option("--source", metavar="NAME", help="Cron source of the Schedule, by default all of them.")
@click.option("--reverse", is_flag=True, help="Run the latest tick first.")
@click.option("--concurrency", type=click.IntRange(1, 100), default=1, show_default=True, help="Most active runs.")
@click.option(
    "--rerun",
    type=click.Choice([rerun.value for rerun in Rerun]),
    default=Rerun.MISSING.value,
    show_default=True,
    help="Ticks to run: those without a run, also those whose run failed, or all.",
)
@param_options
@click.option("--name", metavar="NAME", help="Name of the Backfill, by default SCHEDULE with a generated ending.")
@click.option("--dry-run", is_flag=True, help="Print the ticks of the period, and create nothing.")
@click.option("--wait", is_flag=True, help="Wait for the end; the exit code is the outcome.")
@click.option(
    "--timeout", metavar="DURATION", help="Maximum time to wait; exit code 5 afterwards, and the Backfill goes on."
)
@output_option(Format.JSON, Format.YAML, Format.NAME)
@click.pass_obj
def create_command(
    target: TargetOptions,
    /,
    schedule: str,
    start: str,
    end: str,
    source: str | None,
    reverse: bool,
    concurrency: int,
    rerun: str,
    pairs: tuple[str, ...],
    params_file: str | None,
    name: str | None,
    dry_run: bool,
    wait: bool,
    timeout: str | None,
    output_format: str,
) -> int:
    """Create the runs of a Schedule for the ticks of a period, and print the name of the Backfill.

    A time is a date, or a date and time, such as 2026-11-01 or 2026-11-01T02:00:00+01:00.
    """
    limit = parse_limit(timeout)
    if limit is not None and not wait:
        raise UsageError("--timeout needs --wait")
    first, last = moments.parse(start, "--from"), moments.parse(end, "--to")
    if first >= last:
        raise UsageError("--from must be before --to")
    cluster = connect(target)
    schedule_object = lookup.find(cluster, SCHEDULES, schedule)
    crons = upcoming.crons(schedule_object, source)
    if dry_run:
        return _print_ticks(upcoming.between(crons, first, last, reverse=reverse), output_format)
    spec = schedule_changes.backfill_spec(
        schedule_object["metadata"]["name"],
        first,
        last,
        source=source,
        reverse=reverse,
        concurrency=concurrency,
        rerun=rerun,
    )
    spec["params"] = run_params.given_for_schedule(cluster, schedule_object, pairs, params_file)
    backfill = _create(cluster, spec, name)
    submission.announce(backfill, output_format)
    if not wait:
        return 0
    from torpor_cli.following import backfill_end  # noqa: PLC0415 - watches are for --wait only

    return backfill_end.wait(cluster, backfill, limit)


def _create(cluster: ClusterConnection, spec: Mapping[str, Any], name: str | None) -> Object:
    try:
        return cluster.api.create(BACKFILLS, cluster.namespace, schedule_changes.backfill(spec, name))
    except ConflictError as error:
        raise CliError(f"backfill {name} exists already; choose another --name, or omit it") from error


def _print_ticks(ticks: Iterable[UpcomingTick], output_format: str) -> int:
    listed = list(ticks)
    if output_format in {Format.JSON, Format.YAML}:
        output.data([tick.as_json() for tick in listed], output_format)
    elif listed:
        output.print_table(["SOURCE", "TICK", "ZONE", "UTC"], [tick.row() for tick in listed])
    output.note(f"{len(listed)} tick{'' if len(listed) == 1 else 's'}; nothing was created (dry run)")
    return 0
