"""Requests a run of a Schedule by an annotation, and waits until the operator has created it."""

import json
import time
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any

from torpor_wire import constants, names

from torpor_cli import output
from torpor_cli.cluster import edit
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import NotFoundError
from torpor_cli.cluster.resources import SCHEDULES, WORKFLOWS
from torpor_cli.cluster.watch import Deleted, NothingChanged, Update, objects_of, watch_all
from torpor_cli.errors import CliError

LIMIT_S = 30.0
"""Seconds in which a running operator creates the run."""
_GRACE_S = 3.0
_LATE = "the operator has not created the run within {:g} seconds; it does so when it runs, see `torpor doctor`"
_SILENT = "schedule {0} started no run; `kubectl describe schedule {0}` shows the cause"


class RequestProgress(Enum):
    """What became of a request."""

    PENDING = auto()
    HANDLED = auto()


def value(identifier: str, params: Mapping[str, Any]) -> str:
    """Return the value of the annotation. Pure."""
    return json.dumps({"id": identifier, **({"params": dict(params)} if params else {})}, separators=(",", ":"))


def request(cluster: ClusterConnection, schedule: Object, text: str) -> Object:
    """Set the annotation. Raises CliError while an earlier request is pending."""

    def operations(current: Object) -> edit.Operations:
        metadata = current["metadata"]
        if constants.RUN_NOW in (metadata.get("annotations") or {}):
            raise CliError(
                f"schedule {metadata['name']} has a request that the operator has not handled yet; try again, or see "
                "`torpor doctor`"
            )
        version = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}
        return [version, *edit.annotate(current, {constants.RUN_NOW: text})]

    return edit.change(cluster.api, SCHEDULES, schedule, operations)


def created_run(cluster: ClusterConnection, schedule: Object, text: str, limit: float = LIMIT_S) -> Object:
    """Wait for the run that a request starts. Raises CliError if the operator creates none within `limit` seconds."""
    metadata = schedule["metadata"]
    name = names.run(metadata["name"], names.manual_run_key(metadata["uid"], text))
    ends, why_late = time.monotonic() + limit, _LATE.format(limit)
    for update in _updates(cluster, metadata["name"], name):
        for item in objects_of(update):
            if item["kind"] == WORKFLOWS.kind:
                return item
            match _progress(item, schedule, text, deleted=isinstance(update, Deleted)):
                case RequestProgress.PENDING:
                    continue
                case (
                    RequestProgress.HANDLED
                ):  # the operator removes the annotation before it stores why it started no run
                    if (run := _read(cluster, name)) is not None:
                        return run
                    ends, why_late = min(ends, time.monotonic() + _GRACE_S), _SILENT.format(metadata["name"])
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


def _progress(current: Object, before: Object, text: str, *, deleted: bool) -> RequestProgress | str:
    """Return whether the operator has handled a request, or why it has started no run. Pure."""
    if deleted or current["metadata"]["uid"] != before["metadata"]["uid"]:
        return "was deleted"
    if (current["metadata"].get("annotations") or {}).get(constants.RUN_NOW) == text:
        return RequestProgress.PENDING
    known = (before.get("status") or {}).get("failedEvents") or ()
    failed = [event for event in (current.get("status") or {}).get("failedEvents") or () if event not in known]
    return (
        f"started no run: {failed[-1].get('message') or failed[-1].get('reason')}"
        if failed
        else RequestProgress.HANDLED
    )


def _read(cluster: ClusterConnection, name: str) -> Object | None:
    """Return the run, which the watch may not have seen yet."""
    try:
        return cluster.api.get(WORKFLOWS, cluster.namespace, name)
    except NotFoundError:
        return None
