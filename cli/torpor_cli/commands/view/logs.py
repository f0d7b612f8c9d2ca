"""`torpor logs`."""

import time
from collections.abc import Sequence
from functools import partial

import click
from torpor_client.logs import log_text, selection
from torpor_client.logs.ordering import LogCursor
from torpor_client.logs.pods import CONTAINER, of_container
from torpor_client.logs.selection import Filter, LogCandidates, LogSelection, MissingLog, SelectedLogs
from torpor_client.logs.source import LogSource
from torpor_client.runs import references
from torpor_client.runs.instances import check_reference, instances_at
from torpor_client.runs.references import RunReference
from torpor_views.model import RunView
from torpor_wire import times

from torpor_cli import errors, output
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.archive import ArchiveAwayError, ArchiveProxy
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.resources import PODS, WORKFLOWS
from torpor_cli.errors import ExitCode
from torpor_cli.logs import merge
from torpor_cli.logs.follow import Followed, LogFollower
from torpor_cli.logs.object_logs import ObjectLogs
from torpor_cli.logs.printing import LineStyle, LogPrinter
from torpor_cli.logs.reader import LogReader, Window
from torpor_cli.options import ClusterCommand, complete_reference
from torpor_cli.output import Format, output_option
from torpor_cli.runs.run_lookup import FoundRun, find_run, selection_of_run, taskruns_of
from torpor_cli.target import TargetOptions

MISSING_MAX = 10
"""Logs that are reported one by one as missing."""


@click.command("logs", cls=ClusterCommand)
@click.argument("reference", metavar="NAME[/TASK[/INDEX]]", shell_complete=complete_reference)
@click.option("-f", "--follow", is_flag=True, help="Follow the run, and join new pods, until it ends.")
@click.option("--attempt", type=click.IntRange(min=1), help="Only this attempt, from 1.")
@click.option("--segment", type=click.IntRange(min=0), help="Only this segment, from 0.")
@click.option(
    "-c", "--container", default=CONTAINER, help="Log of an init container, a sidecar, or a step, by its name."
)
@click.option("--failed", is_flag=True, help="Only attempts that failed.")
@click.option("--since", help="Only lines after this: a duration such as 5m, or a time in RFC 3339.")
@click.option("--tail", type=click.IntRange(min=0), help="Only the last lines of each log, as many as this.")
@click.option("--timestamps", "with_times", is_flag=True, help="Print the time of each line, in UTC.")
@click.option("--no-prefix", is_flag=True, help="Print lines without the name of their source.")
@output_option(Format.JSON)
@click.pass_obj
def logs_command(
    target: TargetOptions,
    reference: str,
    follow: bool,
    attempt: int | None,
    segment: int | None,
    container: str,
    failed: bool,
    since: str | None,
    tail: int | None,
    with_times: bool,
    no_prefix: bool,
    output_format: str,
) -> int:
    """Print the logs of a run, a task or an instance, in the order of time.

    Pods that exist are read from the cluster, earlier ones and the lines of waits from the archive. For a
    task with `object`, the pods of its object are read, as long as they exist.
    """
    if failed and follow:
        raise errors.UsageError("--failed and --follow exclude each other; an attempt fails when it ends")
    if follow and container != CONTAINER:
        raise errors.UsageError(
            "--follow is for the container of the task; follow another by kubectl logs -f POD -c NAME"
        )
    wanted = references.parse(reference)
    cluster = connect(target)
    run = find_run(cluster, wanted.run)
    window = Window(since=0 if since is None else _since(since), tail=tail, container=container)
    chosen = Filter(
        task=wanted.task or "", path=wanted.path, attempt=attempt, segment=segment, failed=failed, since=window.since
    )
    printer = LogPrinter(LineStyle(json=output_format == Format.JSON, prefix=not no_prefix, times=with_times))
    options = _filters(attempt, segment, since, container, failed=failed)
    logs = _Logs(cluster, run, wanted, printer, options, container)
    try:
        logs.show(chosen, window, follow=follow)
    except KeyboardInterrupt:
        if follow:
            output.note(f"interrupted; run {run.workflow['metadata']['name']} goes on")
        return ExitCode.INTERRUPTED
    return ExitCode.SUCCEEDED


def _filters(attempt: int | None, segment: int | None, since: str | None, container: str, *, failed: bool) -> list[str]:
    """Return the options that choose lines, as a user writes them."""
    named = None if container == CONTAINER else container
    given = (("--attempt", attempt), ("--segment", segment), ("--container", named), ("--since", since))
    return [f"{option} {value}" for option, value in given if value is not None] + ["--failed"][: int(failed)]


def follow_logs(cluster: ClusterConnection, name: str, limit: float | None) -> None:
    """Print the logs of a run until it ends, as `torpor logs -f NAME` does, for at most `limit` seconds."""
    until = None if limit is None else time.monotonic() + limit
    chosen = Filter(task="", path=None, attempt=None, segment=None, failed=False, since=0)
    printer = LogPrinter(LineStyle(json=False, prefix=True, times=False))
    _Logs(cluster, find_run(cluster, name), references.parse(name), printer).show(
        chosen, Window(since=0, tail=None), follow=True, until=until
    )


class _Logs:
    """The logs of one run."""

    def __init__(
        self,
        cluster: ClusterConnection,
        run: FoundRun,
        wanted: RunReference,
        printer: LogPrinter,
        options: Sequence[str] = (),
        container: str = CONTAINER,
    ) -> None:
        self._cluster = cluster
        self._archive = ArchiveProxy(cluster.api)  # one for all logs, so that it requests one token
        self._run = run
        self._view = RunView.parse(run.workflow, run.taskruns, now=time.time())
        self._wanted = wanted
        self._printer = printer
        self._options = options
        self._container = container
        self._archive_read = True
        named = None if container == CONTAINER else container
        self._objects = ObjectLogs(cluster.api, cluster.namespace, named, output.note)
        self._tasks = tuple(task.name for task in self._view.tasks)

    def show(self, chosen: Filter, window: Window, *, follow: bool, until: float | None = None) -> None:
        """Print what is there, and with `follow` what comes, `until` a time of the monotonic clock."""
        goes_on = follow and not self._run.archived and not self._view.ended
        check_reference(self._wanted, self._view, later=goes_on)
        reader = LogReader(self._cluster.api, self._archive, self._cluster.namespace, window, _report)
        candidates = self._candidates(chosen)
        selected = selection.select(candidates, chosen)
        progress = {source.id: LogCursor() for source in selected.sources if source.running}
        self._printer.widen(selected.sources)
        empty = True
        for line in merge.merge(selected.sources, reader.read):
            empty = False
            self._printer.write(line)
            if line.source.running:
                progress[line.source.id].note(line)
        output.flush()
        if goes_on:
            self._report_missing([each for each in selected.missing if each.reason])  # others may still come
            self._follow(reader, selected, chosen, progress, until)
        else:
            self._report_missing(selected.missing)
            if empty and not selected.missing and window.tail != 0:
                self._report_nothing(candidates, chosen)

    def _report_nothing(self, candidates: LogCandidates, chosen: Filter) -> None:
        wide = Filter(task=chosen.task, path=chosen.path)
        logs = SelectedLogs(
            selected=selection.select(candidates, wide),
            not_started=selection.not_started(candidates, wide),
            instances=instances_at(self._wanted, self._view),
            archive_read=self._archive_read,
        )
        output.note(selection.explained(self._view, chosen, logs, self._options))

    def _report_missing(self, missing: Sequence[MissingLog]) -> None:
        """Say on standard error which logs are not shown."""
        unknown = "has no log of it" if self._archive_read else "was not read"
        for each in missing[:MISSING_MAX]:
            reason = each.reason or f"the pod is gone, and the archive {unknown}"
            output.note(f"{each.source.name}: log not shown completely: {reason}")
        if len(missing) > MISSING_MAX:
            output.note(f"{len(missing) - MISSING_MAX} more logs are missing")

    def _candidates(self, chosen: Filter) -> LogCandidates:
        return LogCandidates(
            tasks=self._tasks,
            instances=self._view.all_instances(),
            pods=self._pods(),
            archived=self._archived(),
            objects=[] if self._run.archived else self._objects.list(self._run.taskruns, chosen),
        )

    def _list_objects(self, chosen: Filter) -> list[LogSource]:
        """Return the logs of pods of objects now: the run may have started more tasks."""
        return self._objects.list(taskruns_of(self._cluster, self._run.workflow), chosen)

    def _has_objects(self) -> bool:
        """Whether a task that is followed has an object."""
        tasks = self._run.workflow["spec"].get("tasks") or ()
        return any("object" in task and self._wanted.task in {None, "", task["name"]} for task in tasks)

    def _pods(self) -> list[Object]:
        if self._run.archived:
            return []
        uid = self._run.workflow["metadata"]["uid"]
        created = self._view.created or 0.0
        pods = self._cluster.api.list(self._pod_selection())
        mine = {item["metadata"]["uid"] for item in self._run.taskruns}
        own = (pod for pod in pods if _owner(pod) in mine or _later(pod, created, uid))
        return [dict(of_container(pod, self._container)) for pod in own]

    def _pod_selection(self) -> ObjectSelection:
        return selection_of_run(self._cluster, PODS, self._view.name, self._wanted.task)

    def _archived(self) -> list[Object]:
        filters = {"task": self._wanted.task} if self._wanted.task else {}
        if self._container != CONTAINER:
            filters["container"] = self._container
        try:
            return self._archive.logs(self._cluster.namespace, self._view.uid, filters)
        except ArchiveAwayError as error:
            self._archive_read = False
            output.note(f"only logs of pods that exist are shown: {error}")
        except errors.CliError as error:
            self._archive_read = False
            output.note(f"the archive does not list the logs of this run: {error}")
        return []

    def _follow(
        self,
        reader: LogReader,
        selected: LogSelection,
        chosen: Filter,
        progress: dict[str, LogCursor],
        until: float | None,
    ) -> None:
        run = ObjectSelection.named(WORKFLOWS, self._cluster.namespace, self._view.name)
        followed = Followed(
            api=self._cluster.api,
            namespace=self._cluster.namespace,
            workflow=self._run.workflow,
            pods=self._pod_selection(),
            run=run,
            tasks=self._tasks,
            chosen=chosen,
            shown=progress,
            complete={source.id for source in selected.sources if not source.running},
            until=until,
            objects=partial(self._list_objects, chosen) if self._has_objects() else None,
        )
        for line in LogFollower(followed, reader, output.note).lines():
            self._printer.write(line)
            output.flush()


def _owner(pod: Object) -> str:
    return next((str(owner.get("uid")) for owner in pod["metadata"].get("ownerReferences") or ()), "")


def _later(pod: Object, created: float, uid: str) -> bool:
    """Whether the pod is younger than the run. Its TaskRun may have been created after the list, or cleared."""
    return bool(uid) and times.epoch(pod["metadata"]["creationTimestamp"]) >= created


def _since(text: str) -> int:
    try:
        return log_text.nanoseconds_of_epoch(time.time() - times.seconds(text))
    except ValueError:
        moment = log_text.nanoseconds_of_text(text)
    if moment is None:
        raise errors.UsageError(
            f"--since {text!r} is neither a duration nor a time; write 5m, 1h30m or 2026-11-22T14:00:00Z"
        )
    return moment


def _report(source: LogSource, reason: str) -> None:
    output.note(f"{source.name}: {reason}")
