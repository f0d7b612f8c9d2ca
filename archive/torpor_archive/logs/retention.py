"""Deletes logs of runs that are neither in the cluster nor in the archive, and objects of deleted logs.

The logs of an archived run stay until the retention of runs deletes it; the next sweep then deletes its logs. The API
server is queried after the logs are listed, because a Workflow exists before its logs. If a list fails, that namespace
keeps its logs.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Never

from torpor_kubernetes.client.api import Api

from torpor_archive.errors import RefusedError
from torpor_archive.logs.objects import LogBucket, ObjectsError
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.retention import delete_of_absent

_BATCH = 500

log = logging.getLogger(__name__)


async def run(
    database: Database, api: Api, objects: LogBucket | None, interval: float, jitter: Callable[[], float]
) -> Never:
    """Sweep every `interval` seconds. Logs younger than `interval` are kept. `jitter` returns 0 to 1."""
    while True:
        await api.clock.sleep(interval * (0.75 + 0.5 * jitter()))
        try:
            count = await delete_orphans(database, api, api.clock.now() - interval)
            if count:
                log.info("deleted %d logs of deleted Workflows", count)
            await delete_garbage(database, objects)
        except RefusedError as error:
            log.warning("cannot delete logs, retrying later: %s", error)
        except Exception:
            log.exception("cannot delete logs, retrying later")


async def delete_orphans(database: Database, api: Api, before: float) -> int:
    """Delete logs from before a time of runs that are neither in the cluster nor archived. Returns their number."""
    listed = await log_store.list_unarchived(database, before)
    return await delete_of_absent(api, listed, partial(log_store.delete_unarchived, database))


async def delete_garbage(database: Database, objects: LogBucket | None) -> None:
    """Delete the objects of deleted logs."""
    while objects is not None and (names := await log_store.list_garbage(database, _BATCH)):
        try:
            await objects.delete(names)
        except ObjectsError as error:
            log.warning("cannot delete logs from the object store, retrying later: %s", error)
            return
        await log_store.forget_garbage(database, names)
