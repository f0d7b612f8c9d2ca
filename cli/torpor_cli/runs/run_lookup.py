"""Finds a run by name: in the cluster, else in the archive."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from torpor_client.runs import references
from torpor_wire import constants, names

from torpor_cli import errors, output
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import NotFoundError
from torpor_cli.cluster.resources import TASKRUNS, WORKFLOWS, ApiResource

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A Workflow with its TaskRuns. `archived` says where it comes from; only an archived run has its Events here."""

    workflow: Object
    taskruns: list[Object] = field(default_factory=list)
    events: list[Object] = field(default_factory=list)
    archived: bool = False


def find_run(cluster: ClusterConnection, name: str) -> FoundRun:
    """Return a run with its TaskRuns. Raises UnknownNameError with the nearest name."""
    run = find_run_without_taskruns(cluster, name)
    return run if run.archived else replace(run, taskruns=taskruns_of(cluster, run.workflow))


def find_run_without_taskruns(cluster: ClusterConnection, name: str) -> FoundRun:
    """Return a run. A live one has no TaskRuns yet; an archived one is complete. Raises UnknownNameError."""
    name = references.run_name(name)
    try:
        return FoundRun(workflow=find_workflow(cluster, name))
    except errors.UnknownNameError as unknown:
        archived = None if name == references.LATEST else archived_run(cluster, name)
        if archived is None:
            raise unknown from None
        return archived


def find_workflow(cluster: ClusterConnection, name: str) -> Object:
    """Return a live Workflow. `@latest` is the one created last. Raises UnknownNameError."""
    name = references.run_name(name)
    if name == references.LATEST:
        return _latest(cluster)
    if not names.is_object_name(name):  # an empty one would list
        raise _unknown(cluster, name)
    try:
        return cluster.api.get(WORKFLOWS, cluster.namespace, name)
    except NotFoundError as error:
        if error.reason and "is not installed" in str(error):
            raise
        raise _unknown(cluster, name) from error


def find_workflow_to_change(cluster: ClusterConnection, name: str) -> Object:
    """Return a live Workflow. Raises UnknownNameError, and CliError for a run that only the archive has."""
    try:
        return find_workflow(cluster, name)
    except errors.UnknownNameError as unknown:
        name = references.run_name(name)
        if name == references.LATEST or archived_run(cluster, name) is None:
            raise unknown from None
        raise errors.CliError(
            f"run {name} is in the archive only and cannot change; `torpor resubmit {name}` creates a new run from it"
        ) from None


def _unknown(cluster: ClusterConnection, name: str) -> errors.UnknownNameError:
    known = [item["metadata"]["name"] for item in workflows(cluster)]
    hint = f"`torpor list -n {cluster.namespace}` shows those of the namespace"
    return errors.unknown("run", name, known, hint, where=f"in namespace {cluster.namespace}")


def taskruns_of(cluster: ClusterConnection, workflow: Object) -> list[Object]:
    """Return the TaskRuns of a Workflow."""
    return owned(cluster.api.list(taskruns_selection(cluster, workflow)), workflow)


def taskruns_selection(cluster: ClusterConnection, workflow: Object, task: str | None = None) -> ObjectSelection:
    """Return the selection of a Workflow's TaskRuns, or of those of one task, for a list or a watch."""
    return selection_of_run(cluster, TASKRUNS, workflow["metadata"]["name"], task)


def selection_of_run(
    cluster: ClusterConnection, resource: ApiResource, run: str, task: str | None = None
) -> ObjectSelection:
    """Return the selection of the objects of a run, or of one of its tasks, by their labels."""
    labels = f"{constants.LABEL_WORKFLOW}={names.label(run)}"
    if task is not None:
        labels += f",{constants.LABEL_TASK}={names.label(task)}"
    return ObjectSelection(resource=resource, namespace=cluster.namespace, labels=labels)


def owned(taskruns: Iterable[Object], workflow: Object) -> list[Object]:
    """Return the TaskRuns that belong to this Workflow, not to a former one of its name."""
    uid = workflow["metadata"]["uid"]
    return [item for item in taskruns if any(owner.get("uid") == uid for owner in _owners(item))]


def archived_run(cluster: ClusterConnection, name: str) -> FoundRun | None:
    """Return the archived run of this uid, or the last one of this name; None without one.

    A note reports that the archive is unavailable.
    """
    if not names.is_object_name(name):
        return None
    from torpor_cli.cluster.archive import ArchiveAwayError, ArchivedNotFoundError, ArchiveProxy  # noqa: PLC0415 - most runs live

    archive = ArchiveProxy(cluster.api)
    try:
        uid = name if _UID.fullmatch(name) else (archive.latest(cluster.namespace, name) or {}).get("uid")
        if uid is None:
            return None
        objects = archive.run(cluster.namespace, uid)
    except ArchivedNotFoundError:  # trimmed since the list
        return None
    except ArchiveAwayError as error:
        output.note(str(error))
        return None
    return from_objects(objects)


def from_objects(objects: list[Object]) -> FoundRun | None:
    """Sort the objects of an archived run. None if there is no Workflow among them."""
    by_kind: dict[str, list[Object]] = {}
    for item in objects:
        by_kind.setdefault(str(item.get("kind")), []).append(item)
    if not by_kind.get("Workflow"):
        return None
    return FoundRun(
        workflow=by_kind["Workflow"][0],
        taskruns=by_kind.get("TaskRun", []),
        events=by_kind.get("Event", []),
        archived=True,
    )


def workflows(cluster: ClusterConnection, *, labels: str = "", everywhere: bool = False) -> list[Object]:
    """Return the live Workflows of the namespace, or of all."""
    namespace = None if everywhere else cluster.namespace
    return cluster.api.list(ObjectSelection(resource=WORKFLOWS, namespace=namespace, labels=labels))


def _latest(cluster: ClusterConnection) -> Object:
    workflow = max(workflows(cluster), key=lambda item: item["metadata"]["creationTimestamp"], default=None)
    if workflow is None:
        raise errors.UnknownNameError(f"namespace {cluster.namespace} has no run; create one with `torpor submit`")
    return workflow


def _owners(item: Object) -> list[dict[str, Any]]:
    return item["metadata"].get("ownerReferences") or []
