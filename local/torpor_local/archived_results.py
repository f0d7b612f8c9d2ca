"""Reads the results of a run that are in the archive of its folder.

The libraries of the archive take a second to import, so only a run with such results imports them.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torpor_local.clock import SkippableClock

if TYPE_CHECKING:
    from torpor_archive.storage.database import Database

TOTAL_MAX = 64 * 1024**2
"""Most bytes of a run that are read. What a TaskRun has of the others is their size and digest."""
_BINARY = frozenset({"bytes", "file"})
_RETRY_SECONDS = 10.0

_LOG = logging.getLogger(__name__)

Object = Mapping[str, Any]


async def read(file: Path, taskruns: Iterable[Object]) -> dict[str, Any]:
    """Return the values by the uid of their TaskRun, the smallest first, without bytes and files.

    Values that the database does not have, or that cannot be read, are left out.
    """
    chosen = _chosen(taskruns)
    if not chosen or not file.exists():  # noqa: ASYNC240 - a local file, and nothing else runs
        return {}
    from torpor_archive.errors import RefusedError  # noqa: PLC0415 - see above
    from torpor_archive.storage.database import Database  # noqa: PLC0415

    database = Database(
        f"sqlite:///{file}", SkippableClock(), retry_seconds=_RETRY_SECONDS, on_transaction=lambda _: None
    )
    values: dict[str, Any] = {}
    try:
        await database.migrate()  # the folder may be that of an earlier version
        for taskrun in chosen:
            body = await _body(database, taskrun)
            if body is not None:
                values[taskrun["metadata"]["uid"]] = value_of(taskrun["status"]["stored"]["type"], body)
    except RefusedError as error:
        _LOG.warning("results in %s cannot be read: %s", file, error)
    finally:
        await database.close()
    return values


async def _body(database: "Database", taskrun: Object) -> bytes | None:
    from torpor_archive.namespaces import UNKNOWN, NamespaceId  # noqa: PLC0415 - see above
    from torpor_archive.storage import bodies, results  # noqa: PLC0415
    from torpor_archive.storage.bodies import ByteRange  # noqa: PLC0415

    meta, stored = taskrun["metadata"], taskrun["status"]["stored"]
    place = NamespaceId(meta["namespace"], UNKNOWN)
    record = await results.find(database, place, meta["uid"], stored["digest"])
    if record is None:
        return None
    span = ByteRange(start=0, end=record[0].size)
    return b"".join([chunk async for chunk in bodies.read_chunks(database, record[0], span)])


def value_of(kind: str, body: bytes) -> Any:
    """Return the value of a body: a list has a line for each item, an object a line `[key, value]` for each entry."""
    match kind:
        case "list":
            return [json.loads(line) for line in body.split(b"\n") if line]
        case "object":
            return dict(json.loads(line) for line in body.split(b"\n") if line)
        case _:
            return json.loads(body)


def _chosen(taskruns: Iterable[Object]) -> list[Object]:
    """Return the TaskRuns whose results are read, the smallest first."""
    stored = [run for run in taskruns if (run.get("status") or {}).get("stored")]
    chosen, total = [], 0
    for run in sorted(
        (taskrun for taskrun in stored if taskrun["status"]["stored"].get("type") not in _BINARY), key=_size
    ):
        total += _size(run)
        if total > TOTAL_MAX:
            break
        chosen.append(run)
    return chosen


def _size(taskrun: Object) -> int:
    return int(taskrun["status"]["stored"]["size"])
