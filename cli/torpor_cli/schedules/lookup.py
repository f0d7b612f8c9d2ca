"""Finds Schedules, templates and Backfills by name."""

import re
from collections.abc import Iterable
from http import HTTPStatus

from torpor_wire import constants, names

from torpor_cli import errors
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ForbiddenError, NotFoundError
from torpor_cli.cluster.resources import (
    BACKFILLS,
    CLUSTER_TEMPLATES,
    SCHEDULES,
    TASKRUNS,
    TEMPLATES,
    WORKFLOWS,
    ApiResource,
)

_WORDS = {SCHEDULES: "schedule", BACKFILLS: "backfill", TEMPLATES: "template", CLUSTER_TEMPLATES: "cluster template"}
_PREFIX = re.compile(rf"^[a-z]+\.{re.escape(constants.GROUP)}/")
"""What `-o name` prints before a name."""


def find(cluster: ClusterConnection, resource: ApiResource, name: str) -> Object:
    """Return an object of the namespace, or of the cluster. Raises UnknownNameError with the nearest name."""
    name = _PREFIX.sub("", name)
    try:
        if names.is_object_name(name):  # an empty one would list
            return cluster.api.get(resource, cluster.namespace, name)
    except NotFoundError as error:
        if "is not installed" in str(error):
            raise
    except ForbiddenError as error:
        if resource.namespaced or error.status != HTTPStatus.FORBIDDEN:
            raise
        advice = "an administrator binds ClusterRole torpor-cluster-template-view to you by a ClusterRoleBinding"
        raise errors.CliError(f"you may not read {resource.plural}; {advice}") from error
    known = names_of(cluster, resource)
    hint = f"the {'namespace' if resource.namespaced else 'cluster'} has {', '.join(known[:20]) or 'none'}"
    where = f"in namespace {cluster.namespace}" if resource.namespaced else ""
    raise errors.unknown(_WORDS[resource], name, known, hint, where=where)


def every(
    cluster: ClusterConnection, resource: ApiResource, *, labels: str = "", everywhere: bool = False
) -> list[Object]:
    """Return the objects of the namespace, or of all, by namespace and name."""
    namespace = None if everywhere else cluster.namespace
    items = cluster.api.list(ObjectSelection(resource=resource, namespace=namespace, labels=labels))
    return sorted(items, key=lambda item: (item["metadata"].get("namespace") or "", item["metadata"]["name"]))


def names_of(cluster: ClusterConnection, resource: ApiResource) -> list[str]:
    """Return the names of the objects of the namespace."""
    return [item["metadata"]["name"] for item in every(cluster, resource)]


def sources(cluster: ClusterConnection, schedule: Object) -> list[Object]:
    """Return the TaskRuns in which the sources of a Schedule wait."""
    uid = schedule["metadata"]["uid"]
    taskruns = _labelled(cluster, TASKRUNS, constants.LABEL_SCHEDULE, schedule)
    return [item for item in taskruns if (item["spec"].get("schedule") or {}).get("uid") == uid]


def runs_of_schedule(cluster: ClusterConnection, schedule: Object) -> list[Object]:
    """Return the live runs of a Schedule, also those of an earlier one of its name."""
    return _labelled(cluster, WORKFLOWS, constants.LABEL_SCHEDULE, schedule)


def runs_of_backfill(cluster: ClusterConnection, backfill: Object) -> list[Object]:
    """Return the live runs of a Backfill."""
    return _labelled(cluster, WORKFLOWS, constants.LABEL_BACKFILL, backfill)


def _labelled(cluster: ClusterConnection, resource: ApiResource, label: str, owner: Object) -> list[Object]:
    selector = f"{label}={names.label(owner['metadata']['name'])}"
    return cluster.api.list(
        ObjectSelection(resource=resource, namespace=owner["metadata"]["namespace"], labels=selector)
    )


def find_all(cluster: ClusterConnection, resource: ApiResource, wanted: Iterable[str]) -> list[Object]:
    """Return several objects, each once. All are read before the first is changed. Raises UnknownNameError."""
    distinct = list(dict.fromkeys(wanted))
    try:
        return [find(cluster, resource, name) for name in distinct]
    except errors.UnknownNameError as error:
        if len(distinct) == 1:
            raise
        raise errors.UnknownNameError(f"{error}; nothing was changed") from error
