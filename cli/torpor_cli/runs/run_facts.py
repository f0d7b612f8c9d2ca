"""Reads what the causes of `torpor why` need beside a run: pods, Events, pools of slots, who holds them.

Each of them is optional: a user who may not read one gets a less precise cause.
"""

from collections.abc import Callable
from typing import TypeVar

from torpor_views.facts import Facts
from torpor_views.model import RunView
from torpor_wire import constants

from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ForbiddenError, NotFoundError
from torpor_cli.cluster.resources import CONFIG_MAPS, EVENTS, PODS, TASKRUNS, ApiResource
from torpor_cli.runs import run_lookup

T = TypeVar("T")


def read(cluster: ClusterConnection, run: RunView) -> Facts:
    """Return the facts of a live run. An ended run needs none."""
    if run.ended:
        return Facts()
    uses_pools = any(task.pool for task in run.tasks)
    return Facts.parse(
        pods=_allowed(lambda: cluster.api.list(run_lookup.selection_of_run(cluster, PODS, run.name))),
        events=_allowed(lambda: _all(cluster, EVENTS)) or (),
        pools=_allowed(lambda: _pools(cluster)) if uses_pools else None,
        taskruns=_allowed(lambda: _all(cluster, TASKRUNS)) if uses_pools else None,
    )


def _all(cluster: ClusterConnection, resource: ApiResource) -> list[Object]:
    return cluster.api.list(ObjectSelection(resource=resource, namespace=cluster.namespace))


def _pools(cluster: ClusterConnection) -> Object:
    try:
        return cluster.api.get(CONFIG_MAPS, cluster.namespace, constants.POOLS_CONFIG)
    except NotFoundError:
        return {}


def _allowed(request: Callable[[], T]) -> T | None:
    """Return what is read; None if the user may not read it."""
    try:
        return request()
    except ForbiddenError:
        return None
