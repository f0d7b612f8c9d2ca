"""What nobody needs any more goes: bodies that were never finished, and results of Workflows that are gone.

Whether a Workflow is gone, the API server says, asked after the results were looked up: a Workflow is there before any
result of it. It is asked by namespace, so that a namespace whose list cannot be read keeps its own results and no
others. One database is therefore of one cluster.
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
    """Sweep, for ever, every `interval` seconds; no result younger than that goes. `jitter` is from 0 to 1."""
    while True:
        await api.clock.sleep(interval * (0.75 + 0.5 * jitter()))
        try:
            await _swept(database, api, interval)
        except RefusedError as error:
            log.warning("what nobody needs stays for now: %s", error)
        except Exception:
            log.exception("what nobody needs stays for now")


async def orphans(database: Database, api: Api, before: float) -> int:
    """Delete the results, put before a moment, of Workflows that are gone; gives how many. Raises RefusedError."""
    owners: dict[str, set[str]] = defaultdict(set)
    for namespace, workflow in await bodies.owners(database, before):
        owners[namespace].add(workflow)
    count = 0
    for namespace in sorted(owners):
        try:
            gone = owners[namespace] - await _workflows(api, namespace)
        except ApiError as error:
            log.warning("results of namespace %s stay for now: its Workflows cannot be listed: %s", namespace, error)
            continue
        except Exception:  # such as RecursionError, of one object that nobody foresaw
            log.exception("results of namespace %s stay for now: its Workflows cannot be read", namespace)
            continue
        for workflow in sorted(gone):
            count += await bodies.delete_results(database, namespace, workflow)
    return count


async def _swept(database: Database, api: Api, age: float) -> None:
    now = api.clock.now()
    unfinished = await bodies.sweep(database, now)
    gone = await orphans(database, api, now - age)
    if unfinished or gone:
        log.info("deleted %d bodies that were never finished, %d results of runs that are gone", unfinished, gone)


async def _workflows(api: Api, namespace: str) -> set[str]:
    """The uids of all that a namespace has. A list that cannot be finished raises, and is none."""
    found: set[str] = set()
    async for page in api.pages(WORKFLOWS, namespace):
        found.update(str(workflow["metadata"]["uid"]) for workflow in page.items)
    return found
