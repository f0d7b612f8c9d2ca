"""Deletes what is no longer needed: old runs, abandoned bodies, and results of Workflows that are gone.

The results of an archived run are kept with it. If a namespace has used most of its quota, the oldest of them are
deleted: finished runs must not cost a running one the space for its results.

The API server is queried after the results are listed, because a Workflow exists before its results. Each namespace is
listed separately: if a list fails, that namespace keeps its results and the others are cleaned up. Therefore a database
must belong to a single cluster.
"""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Never

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.errors import ApiError
from torpor_kubernetes.client.resources import WORKFLOWS

from torpor_archive.errors import RefusedError
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.namespaces import ClusterNamespaces
from torpor_archive.storage import bodies, earlier_releases, results, run_retention
from torpor_archive.storage.database import Database
from torpor_archive.storage.run_retention import RunRetention

QUOTA_SHARE = 0.75
"""The part of its quota from which a namespace loses the results of finished runs."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What one sweep needs. `interval` is in seconds, `quota` in bytes of results per namespace; 0 disables it."""

    database: Database
    api: Api
    namespaces: ClusterNamespaces
    metrics: ArchiveMetrics
    runs: RunRetention
    interval: float
    quota: int


async def run(sweep: Sweep, jitter: Callable[[], float]) -> Never:
    """Sweep every `interval` seconds. Results younger than that are kept. `jitter` returns 0 to 1."""
    await _guarded(_assign_namespaces(sweep))
    await _guarded(_index_labels(sweep.database))
    while True:
        await sweep.api.clock.sleep(sweep.interval * (0.75 + 0.5 * jitter()))
        await _guarded(_sweep(sweep))


async def _guarded(work: Awaitable[None]) -> None:
    try:
        await work
    except RefusedError as error:
        log.warning("cannot delete unreferenced data, retrying later: %s", error)
    except Exception:
        log.exception("cannot delete unreferenced data, retrying later")


async def delete_orphans(database: Database, api: Api, before: float) -> int:
    """Delete results of deleted Workflows, stored before a time, and return their number. Raises RefusedError."""
    listed = await results.list_workflows(database, before)
    return await delete_of_absent(api, listed, partial(results.delete_of_workflow, database))


async def delete_of_absent(
    api: Api, listed: Iterable[tuple[str, str]], delete: Callable[[str, str], Awaitable[int]]
) -> int:
    """Delete what belongs to the Workflows, by namespace and uid, that the cluster no longer has.

    `delete` deletes it for one Workflow and returns the number of rows. Returns their sum.
    """
    owners: dict[str, set[str]] = defaultdict(set)
    for namespace, workflow in listed:
        owners[namespace].add(workflow)
    count = 0
    for namespace in sorted(owners):
        live = await list_live(api, namespace)
        for workflow in sorted(owners[namespace] - live) if live is not None else ():
            count += await delete(namespace, workflow)
    return count


async def free_space(database: Database, api: Api, limit: float) -> int:
    """Delete results of archived runs, the oldest first, in each namespace with more than `limit` bytes of results.

    The results of a run whose Workflow exists are kept. Returns the number of results. Raises RefusedError.
    """
    count = 0
    for namespace, excess in await results.list_excess(database, limit):
        live = await list_live(api, namespace)
        if live is not None:
            count += await _free(database, namespace, live, excess)
    return count


async def _free(database: Database, namespace: str, live: Collection[str], excess: float) -> int:
    count = 0
    for workflow, size in await results.list_archived(database, namespace):
        if excess <= 0:
            break
        if workflow not in live:
            count += await results.delete_of_workflow(database, namespace, workflow, archived=True)
            excess -= size
    return count


async def _assign_namespaces(sweep: Sweep) -> None:
    """Give rows of an earlier release to their namespaces."""
    count = 0
    for name in sorted(await earlier_releases.list_unassigned(sweep.database)):
        namespace = await sweep.namespaces.find(name)
        live = await list_live(sweep.api, name) if namespace is not None else None
        if namespace is not None and live is not None:
            count += await earlier_releases.assign(sweep.database, namespace, live)
    if count:
        log.info("assigned %d rows of an earlier release to their namespaces", count)


async def _index_labels(database: Database) -> None:
    if count := await earlier_releases.index_labels(database):
        log.info("read the labels of %d runs that an earlier release stored", count)


async def _sweep(sweep: Sweep) -> None:
    database, api, now = sweep.database, sweep.api, sweep.api.clock.now()
    await _assign_namespaces(sweep)
    await _index_labels(database)
    runs = await run_retention.trim(database, sweep.runs, now)
    sweep.metrics.trimmed_runs.inc(runs)
    unfinished = await bodies.delete_unfinished(database, now)
    gone = await delete_orphans(database, api, now - sweep.interval)
    gone += await free_space(database, api, QUOTA_SHARE * sweep.quota) if sweep.quota else 0
    if runs or unfinished or gone:
        log.info("deleted %d runs, %d bodies without a reference, and %d results", runs, unfinished, gone)


async def list_live(api: Api, namespace: str) -> set[str] | None:
    """Return the uids of a namespace's Workflows, or None if the list is not complete."""
    uids: set[str] = set()
    try:
        async for page in api.pages(WORKFLOWS, namespace):
            uids.update(str(workflow["metadata"]["uid"]) for workflow in page.items)
    except ApiError as error:
        log.warning("cannot list Workflows of namespace %s, keeping what belongs to them: %s", namespace, error)
        return None
    except Exception:  # for example a RecursionError from one malformed object
        log.exception("cannot read Workflows of namespace %s, keeping what belongs to them", namespace)
        return None
    return uids
