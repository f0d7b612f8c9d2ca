"""Deletes abandoned bodies, and results of deleted Workflows.

The API server is queried after the results are listed, because a Workflow exists before its results. Each namespace is
listed separately: if a list fails, that namespace keeps its results and the others are cleaned up. Therefore a database
must belong to a single cluster.
"""

import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Never

from torpor_api.client.api import Api
from torpor_api.client.errors import ApiError
from torpor_api.client.resources import WORKFLOWS

from torpor_archive.errors import RefusedError
from torpor_archive.storage import bodies
from torpor_archive.storage.database import Database

log = logging.getLogger(__name__)


async def run(database: Database, api: Api, interval: float, jitter: Callable[[], float]) -> Never:
    """Sweep every `interval` seconds. Results younger than `interval` are kept. `jitter` returns 0 to 1."""
    while True:
        await api.clock.sleep(interval * (0.75 + 0.5 * jitter()))
        try:
            await _sweep(database, api, interval)
        except RefusedError as error:
            log.warning("cannot delete unreferenced data, retrying later: %s", error)
        except Exception:
            log.exception("cannot delete unreferenced data, retrying later")


async def delete_orphans(database: Database, api: Api, before: float) -> int:
    """Delete results of deleted Workflows, stored before a time, and return their number. Raises RefusedError."""
    owners: dict[str, set[str]] = defaultdict(set)
    for namespace, workflow in await bodies.list_workflows(database, before):
        owners[namespace].add(workflow)
    count = 0
    for namespace in sorted(owners):
        try:
            gone = owners[namespace] - await _workflows(api, namespace)
        except ApiError as error:
            log.warning("cannot list Workflows of namespace %s, keeping their results: %s", namespace, error)
            continue
        except Exception:  # for example a RecursionError from one malformed object
            log.exception("cannot read Workflows of namespace %s, keeping their results", namespace)
            continue
        for workflow in sorted(gone):
            count += await bodies.delete_results(database, namespace, workflow)
    return count


async def _sweep(database: Database, api: Api, age: float) -> None:
    now = api.clock.now()
    unfinished = await bodies.delete_unfinished(database, now)
    gone = await delete_orphans(database, api, now - age)
    if unfinished or gone:
        log.info("deleted %d abandoned bodies and %d results of deleted Workflows", unfinished, gone)


async def _workflows(api: Api, namespace: str) -> set[str]:
    """Return the uids of a namespace's Workflows. An incomplete list raises."""
    uids: set[str] = set()
    async for page in api.pages(WORKFLOWS, namespace):
        uids.update(str(workflow["metadata"]["uid"]) for workflow in page.items)
    return uids
