"""`torpor schedule history`."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import click
from torpor_client.schedules import history
from torpor_client.schedules.history import PastRun
from torpor_wire import constants, names

from torpor_cli import output
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.archive import ArchiveProxy
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.resources import SCHEDULES
from torpor_cli.errors import CliError
from torpor_cli.options import ClusterCommand, complete_schedule
from torpor_cli.output import Format, output_option
from torpor_cli.schedules import lookup
from torpor_cli.target import TargetOptions

_READERS = 4


@click.command("history", cls=ClusterCommand)
@click.argument("name", metavar="NAME", shell_complete=complete_schedule)
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1, 500), help="Maximum number of runs to list."
)
@click.option("--live", "only_live", is_flag=True, help="Do not read the archive.")
@output_option(Format.JSON, Format.YAML)
@click.pass_obj
def history_command(target: TargetOptions, name: str, limit: int, only_live: bool, output_format: str) -> None:
    """List the runs of a Schedule, the latest event first, from the cluster and the archive.

    AT is the time of the event in UTC: the tick of a cron source. Also prints the events that started no run because of
    an error, and how many events were skipped and ticks missed.
    """
    cluster = connect(target)
    schedule = lookup.find(cluster, SCHEDULES, name)
    live = [history.live(item) for item in lookup.runs_of_schedule(cluster, schedule)]
    archived = [] if only_live else _archived(cluster, schedule, limit, {past.run.uid for past in live})
    runs = history.merged(live, archived, limit)
    status = schedule.get("status") or {}
    if output_format == Format.TEXT:
        _print(runs, schedule)
    else:
        kept = {key: status[key] for key in ("failedEvents", "skipped", "missed") if status.get(key)}
        output.data({"runs": [past.as_json() for past in runs], **kept}, output_format)


def _archived(cluster: ClusterConnection, schedule: Object, limit: int, live: set[str]) -> list[PastRun]:
    """Return the archived runs that the cluster does not have. A note says if the archive cannot be read."""
    metadata = schedule["metadata"]
    labels = f"{constants.LABEL_SCHEDULE}={names.label(metadata['name'])}"
    archive = ArchiveProxy(cluster.api)
    try:
        listed = archive.runs(metadata["namespace"], {"labels": labels})
        items = list(islice((item for item in listed if item.get("uid") not in live), limit))
        with ThreadPoolExecutor(max_workers=_READERS) as pool:
            workflows = pool.map(lambda item: archive.workflow(metadata["namespace"], str(item.get("uid"))), items)
            return [history.archived(item, workflow) for item, workflow in zip(items, workflows, strict=True)]
    except CliError as error:
        output.note(f"only live runs are shown: {error}")
        return []


def _print(runs: Sequence[PastRun], schedule: Object) -> None:
    status, name = schedule.get("status") or {}, schedule["metadata"]["name"]
    if runs:
        output.print_table(history.HEAD, [past.row() for past in runs])
    else:
        output.note(f"schedule {name} has no runs")
    if failed := history.failed_rows(status):
        if runs:
            output.line()
        output.line("Events that failed:")
        output.print_table(history.FAILED_HEAD, failed)
    for remark in history.remarks(schedule["spec"], status):
        output.note(remark)
