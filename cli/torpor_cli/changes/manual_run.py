"""Requests a run of a Schedule by an annotation, and waits until the operator has created it."""

import time
from collections.abc import Iterator

from torpor_client.changes import schedule_changes
from torpor_client.changes.schedule_changes import LIMIT_S, RequestProgress

from torpor_cli import output
from torpor_cli.cluster import edit
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import NotFoundError
from torpor_cli.cluster.resources import SCHEDULES, WORKFLOWS
from torpor_cli.cluster.watch import Deleted, NothingChanged, Update, objects_of, watch_all
from torpor_cli.errors import CliError


def request(cluster: ClusterConnection, schedule: Object, text: str) -> Object:
    """Set the annotation. Raises CliError while an earlier request is pending."""
    return edit.change(cluster.api, SCHEDULES, schedule, lambda current: schedule_changes.request(current, text))


def created_run(cluster: ClusterConnection, schedule: Object, text: str, limit: float = LIMIT_S) -> Object:
    """Wait for the run that a request starts. Raises CliError if the operator creates none within `limit` seconds."""
    metadata, name = schedule["metadata"], schedule_changes.run_name(schedule, text)
    ends, why_late = time.monotonic() + limit, schedule_changes.late(limit)
    for update in _updates(cluster, metadata["name"], name):
        for item in objects_of(update):
            if item["kind"] == WORKFLOWS.kind:
                return item
            match schedule_changes.progress(item, schedule, text, deleted=isinstance(update, Deleted)):
                case RequestProgress.PENDING:
                    continue
                case (
                    RequestProgress.HANDLED
                ):  # the operator removes the annotation before it stores why it started no run
                    if (run := _read(cluster, name)) is not None:
                        return run
                    ends, why_late = (
                        min(ends, time.monotonic() + schedule_changes.GRACE_S),
                        schedule_changes.silent(schedule),
                    )
                case str() as failure:
                    raise CliError(f"schedule {metadata['name']} {failure}")
        if time.monotonic() >= ends:
            raise CliError(why_late)
    raise AssertionError("a watch does not end")


def _updates(cluster: ClusterConnection, schedule: str, run: str) -> Iterator[Update | NothingChanged]:
    selections = [
        ObjectSelection.named(resource, cluster.namespace, name)
        for resource, name in ((WORKFLOWS, run), (SCHEDULES, schedule))
    ]
    return watch_all(cluster.api, selections, noted=output.note)


def _read(cluster: ClusterConnection, name: str) -> Object | None:
    """Return the run, which the watch may not have seen yet."""
    try:
        return cluster.api.get(WORKFLOWS, cluster.namespace, name)
    except NotFoundError:
        return None
