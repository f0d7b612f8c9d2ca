"""Reads what the causes of `torpor why` need beside a run: pods, Events, pools of slots, who holds them.

Each of them is optional: a user who may not read one gets a less precise cause.
"""

from collections.abc import Callable
from typing import TypeVar

from torpor_views.facts import Facts
from torpor_views.model import RunView
from torpor_wire import constants, names

from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ForbiddenError, NotFoundError
from torpor_cli.cluster.resources import CONFIG_MAPS, EVENTS, PODS, TASKRUNS

T = TypeVar("T")


def read(cluster: ClusterConnection, run: RunView) -> Facts:
    """Return the facts of a live run. An ended run needs none."""
    if run.ended:
        return Facts()
    uses_pools = any(task.pool for task in run.tasks)
    label = f"{constants.LABEL_WORKFLOW}={names.label(run.name)}"
    return Facts.parse(
        pods=_allowed(
            lambda: _list(cluster, ObjectSelection(resource=PODS, namespace=cluster.namespace, labels=label))
        ),
        events=_allowed(lambda: _list(cluster, ObjectSelection(resource=EVENTS, namespace=cluster.namespace))) or (),
        pools=_allowed(lambda: _pools(cluster)) if uses_pools else None,
        taskruns=_allowed(lambda: _list(cluster, ObjectSelection(resource=TASKRUNS, namespace=cluster.namespace)))
        if uses_pools
        else None,
    )


def _list(cluster: ClusterConnection, selection: ObjectSelection) -> list[Object]:
    return cluster.api.list(selection)


def _pools(cluster: ClusterConnection) -> Object:
    try:
        return cluster.api.get(CONFIG_MAPS, cluster.namespace, constants.POOLS_CONFIG)
    except NotFoundError:
        return {}


def _allowed(read_some: Callable[[], T]) -> T | None:
    """Return what is read; None if the user may not read it."""
    try:
        return read_some()
    except ForbiddenError:
        return None
