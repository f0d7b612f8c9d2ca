"""Finished runs: validation of an incoming run, and the list of stored ones."""

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


class RunValidator:
    """Validates a run line by line: its Workflow, then its TaskRuns. The first line sets `summary`."""

    def __init__(self, namespace: str, uid: str) -> None:
        self._namespace = namespace
        self._uid = uid
        self.summary: dict[str, str] = {}

    def check_line(self, number: int, value: Any) -> None:
        """Validate a line. Raises RefusedError (400) if it does not belong to this run."""
        problem = (
            _check_workflow(value, self._namespace, self._uid) if number == 0 else _check_taskrun(value, self._uid)
        )
        if problem is not None:
            raise RefusedError(errors.invalid(f"line {number} {problem}"))
        if number == 0:
            self.summary = _summary(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageToken:
    """The position after which a page begins: the run archived at that time, with that uid."""

    archived: float
    uid: str

    def text(self) -> str:
        """Encode the token for the client."""
        return base64.urlsafe_b64encode(json.dumps([self.archived, self.uid]).encode()).decode()


def parse_page_token(text: str) -> PageToken | Refusal:
    """Decode a token."""
    try:
        match json.loads(base64.urlsafe_b64decode(text.encode())):
            case [float(archived), str(uid)] if "\0" not in uid:
                return PageToken(archived=archived, uid=uid)
    except (ValueError, RecursionError, binascii.Error):
        pass
    return errors.invalid("`continue` must be the token from the previous page")


async def list_runs(database: Database, namespace: str, limit: int, start: PageToken | None) -> Mapping[str, Any]:
    """Return a page of a namespace's runs, most recently archived first."""

    async def work(connection: AsyncConnection) -> list[Any]:
        query = select(RUNS, BODIES.c.size, BODIES.c.length).join(BODIES, RUNS.c.body == BODIES.c.id)
        query = query.where(RUNS.c.namespace == namespace)
        if start is not None:
            query = query.where(tuple_(RUNS.c.archived, RUNS.c.uid) < tuple_(start.archived, start.uid))
        ordered = query.order_by(RUNS.c.archived.desc(), RUNS.c.uid.desc()).limit(limit + 1)
        return list((await connection.execute(ordered)).mappings().all())

    rows = await database.read(work)
    items, more = rows[:limit], len(rows) > limit
    page: dict[str, Any] = {"items": [_item(row) for row in items]}
    if more:
        page["continue"] = PageToken(archived=items[-1]["archived"], uid=items[-1]["uid"]).text()
    return page


def _item(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("uid", "name", "state", "created", "completed", "size")
    return {name: row[name] for name in names} | {"taskRuns": row["length"] - 1}


def _check_workflow(value: Any, namespace: str, uid: str) -> str | None:
    if not isinstance(value, dict) or value.get("kind") != "Workflow":
        return "is not a Workflow; a run begins with its Workflow"
    metadata = _get_object(value, "metadata")
    if (metadata.get("namespace"), metadata.get("uid")) != (namespace, uid):
        return f"is not the Workflow with uid {uid} in namespace {namespace}"
    return None


def _check_taskrun(value: Any, uid: str) -> str | None:
    if not isinstance(value, dict) or value.get("kind") != "TaskRun":
        return "is not a TaskRun"
    if _get_object(_get_object(value, "spec"), "workflow").get("uid") != uid:
        return f"is a TaskRun of another Workflow, not of uid {uid}"
    return None


def _summary(workflow: Mapping[str, Any]) -> dict[str, str]:
    metadata, status = _get_object(workflow, "metadata"), _get_object(workflow, "status")
    return {
        "name": str(metadata.get("name", ""))[:253],
        "state": str(status.get("state", ""))[:63],
        "created": str(metadata.get("creationTimestamp", ""))[:32],
        "completed": str(status.get("completionTime", ""))[:32],
    }


def _get_object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
