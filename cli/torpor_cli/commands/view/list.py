"""`torpor list`: live and archived runs."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import click
from torpor_client.runs import run_list, run_state
from torpor_client.runs.run_list import ListedRun, RunFilters
from torpor_wire import constants, names, times

from torpor_cli import errors, output
from torpor_cli.cluster.archive import ArchiveProxy
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.errors import InvalidObjectError
from torpor_cli.options import ClusterCommand, complete_schedule, complete_state
from torpor_cli.output import Format, output_option
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions

_HEAD = ("NAME", "STATE", "PROGRESS", "AGE", "DURATION", "IN")
_WIDE_HEAD = ("REASON", "SCHEDULE", "LABELS", "UID")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    """What the user wants to see."""

    filters: RunFilters
    labels: str
    everywhere: bool
    limit: int

    @property
    def restriction(self) -> str:
        """The end of the sentence for an empty list."""
        filtered = self.filters.states or self.filters.since is not None or self.labels
        return " that match the options" if filtered else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArchivedRuns:
    """The archived runs. `note` says why some are missing."""

    runs: tuple[ListedRun, ...] = ()
    note: str = ""


@click.command("list", cls=ClusterCommand)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="List the runs of all namespaces.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="STATE",
    help="Only runs in this state; may repeat.",
    shell_complete=complete_state,
)
@click.option("--since", metavar="DURATION", help="Only runs that are active or ended since then, such as 2h or 7d.")
@click.option("-l", "--selector", "labels", default="", help="Only runs with these labels, as kubectl -l.")
@click.option("--schedule", metavar="NAME", help="Only runs of this Schedule.", shell_complete=complete_schedule)
@click.option(
    "--limit",
    default=100,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of archived runs to list.",
)
@click.option("--live", "only_live", is_flag=True, help="Do not read the archive.")
@output_option()
@click.pass_obj
def list_command(
    target: TargetOptions,
    /,
    everywhere: bool,
    states: tuple[str, ...],
    since: str | None,
    labels: str,
    schedule: str | None,
    limit: int,
    only_live: bool,
    output_format: str,
) -> None:
    """List runs, the newest first, from the cluster and the archive.

    The column IN says where a run is. A run that both have is listed once, as one of the cluster.
    """
    filters = RunFilters(states=frozenset(map(run_state.parse_word, states)), since=_moment(since))
    if schedule is not None:
        labels = ",".join(filter(None, (labels, f"{constants.LABEL_SCHEDULE}={names.label(schedule)}")))
    query = _Query(filters=filters, labels=labels, everywhere=everywhere, limit=limit)
    cluster = connect(target)
    archived: list[_ArchivedRuns] = []
    reading = threading.Thread(target=lambda: archived.append(_archived(cluster, query)), daemon=True)
    read_archive = not only_live and run_list.concerns_archive(filters)
    if read_archive:
        reading.start()
    live = _live(cluster, query)
    if read_archive:
        reading.join()
    kept = archived[0] if archived else _ArchivedRuns()
    if kept.note:
        output.note(kept.note)
    _print(run_list.merged(live, kept.runs, filters), output_format, cluster, query)


def _moment(since: str | None) -> float | None:
    try:
        return None if since is None else time.time() - times.seconds(since)
    except ValueError as error:
        raise errors.UsageError(f"--since: {error}") from error


def _live(cluster: ClusterConnection, query: _Query) -> list[ListedRun]:
    """Return the runs of the cluster. Raises CliError, UsageError for a selector that the API server rejects."""
    try:
        workflows = run_lookup.workflows(cluster, labels=query.labels, everywhere=query.everywhere)
    except InvalidObjectError as error:
        if not query.labels:
            raise
        raise errors.UsageError(f"-l {query.labels!r} is not a label selector: {error}") from error
    return [run_list.live(item) for item in workflows]


def _archived(cluster: ClusterConnection, query: _Query) -> _ArchivedRuns:
    parameters = run_list.archive_filters(query.filters, query.labels)
    if parameters is None:
        return _ArchivedRuns(note="the archive takes no sets in -l, such as `in (a, b)`: only live runs are shown")
    runs = ArchiveProxy(cluster.api).runs(None if query.everywhere else cluster.namespace, parameters)
    try:
        listed = list(map(run_list.archived, islice(runs, query.limit + 1)))
    except errors.CliError as error:
        return _ArchivedRuns(note=f"only live runs are shown: {error}")
    more = f"only the latest {query.limit} archived runs are shown; use --limit or --since"
    return _ArchivedRuns(runs=tuple(listed[: query.limit]), note=more if len(listed) > query.limit else "")


def _print(runs: Sequence[ListedRun], output_format: str, cluster: ClusterConnection, query: _Query) -> None:
    everywhere = query.everywhere
    if output_format not in {Format.TEXT, Format.WIDE}:
        output.objects([run.body for run in runs], output_format, single=False)
        return
    if not runs:
        place = "the cluster" if everywhere else f"namespace {cluster.namespace}"
        output.note(f"{place} has no runs{query.restriction}")
        return
    wide = output_format == Format.WIDE
    head, now = [*_HEAD, *(_WIDE_HEAD if wide else ())], time.time()
    output.namespaced_table(head, [(run.body, _row(run, now, wide=wide)) for run in runs], everywhere=everywhere)


def _row(run: ListedRun, now: float, *, wide: bool) -> list[str]:
    row = [run.name, run.state, run.progress, times.human(now - run.created)]
    row += [times.human(run.duration) if run.duration is not None else "", "archive" if run.archived else "cluster"]
    if wide:
        row += [
            run.reason,
            run.schedule,
            ",".join(f"{key}={value}" for key, value in sorted(run.labels.items())),
            run.uid,
        ]
    return row
