"""Finished runs: what one looks like when it comes in, and the pages they are listed on."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from torpor_archive import errors
from torpor_archive.errors import Refusal, RefusedError
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, RUNS

PAGE, PAGE_MAX = 100, 1000


class Incoming:
    """A run line by line: its Workflow, then its TaskRuns. `summary` is there once the first has been looked at."""

    def __init__(self, namespace: str, uid: str) -> None:
        self._namespace = namespace
        self._uid = uid
        self.summary: dict[str, str] = {}

    def look(self, number: int, value: Any) -> None:
        """One line. Raises RefusedError where it is not of this run."""
        found = (
            _workflow_refused(value, self._namespace, self._uid) if number == 0 else _taskrun_refused(value, self._uid)
        )
        if found is not None:
            raise RefusedError(errors.invalid(f"line {number} {found}"))
        if number == 0:
            self.summary = _summary(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """Where a page goes on: after the run that was archived then, of this uid."""

    archived: float
    uid: str

    def text(self) -> str:
        """As a client hands it back."""
        return base64.urlsafe_b64encode(json.dumps([self.archived, self.uid]).encode()).decode()


def after(text: str) -> After | Refusal:
    """Read it again."""
    try:
        match json.loads(base64.urlsafe_b64decode(text.encode())):
            case [float(archived), str(uid)] if "\0" not in uid:
                return After(archived=archived, uid=uid)
    except (ValueError, RecursionError, binascii.Error):
        pass
    return errors.invalid("continue is what the page before gave, and nothing else")


async def page(database: Database, namespace: str, limit: int, start: After | None) -> Mapping[str, Any]:
    """Runs of a namespace, those that were archived last first."""

    async def work(connection: AsyncConnection) -> list[Any]:
        query = select(RUNS, BODIES.c.size, BODIES.c.length).join(BODIES, RUNS.c.body == BODIES.c.id)
        query = query.where(RUNS.c.namespace == namespace)
        if start is not None:
            query = query.where(tuple_(RUNS.c.archived, RUNS.c.uid) < tuple_(start.archived, start.uid))
        ordered = query.order_by(RUNS.c.archived.desc(), RUNS.c.uid.desc()).limit(limit + 1)
        return list((await connection.execute(ordered)).mappings().all())

    found = await database.read(work)
    items, more = found[:limit], len(found) > limit
    answer: dict[str, Any] = {"items": [_item(row) for row in items]}
    if more:
        answer["continue"] = After(archived=items[-1]["archived"], uid=items[-1]["uid"]).text()
    return answer


def _item(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("uid", "name", "state", "created", "completed", "size")
    return {name: row[name] for name in names} | {"taskRuns": row["length"] - 1}


def _workflow_refused(value: Any, namespace: str, uid: str) -> str | None:
    if not isinstance(value, dict) or value.get("kind") != "Workflow":
        return "is no Workflow, with which a run begins"
    metadata = _at(value, "metadata")
    if (metadata.get("namespace"), metadata.get("uid")) != (namespace, uid):
        return f"is not the Workflow of uid {uid} in namespace {namespace}"
    return None


def _taskrun_refused(value: Any, uid: str) -> str | None:
    if not isinstance(value, dict) or value.get("kind") != "TaskRun":
        return "is no TaskRun"
    if _at(_at(value, "spec"), "workflow").get("uid") != uid:
        return f"is a TaskRun of another Workflow than that of uid {uid}"
    return None


def _summary(workflow: Mapping[str, Any]) -> dict[str, str]:
    metadata, status = _at(workflow, "metadata"), _at(workflow, "status")
    return {
        "name": str(metadata.get("name", ""))[:253],
        "state": str(status.get("state", ""))[:63],
        "created": str(metadata.get("creationTimestamp", ""))[:32],
        "completed": str(status.get("completionTime", ""))[:32],
    }


def _at(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
