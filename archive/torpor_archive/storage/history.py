"""Finished runs: validation of an incoming run, and its rows in `runs` and `run_labels`."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select, true, update
from sqlalchemy.engine import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.namespaces import UNKNOWN, NamespaceId
from torpor_archive.storage import bodies
from torpor_archive.storage.bodies import StoredBody
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import BODIES, RUN_LABELS, RUNS

CANCELLED = "Cancelled"
"""The state of a run that `spec.cancel` or `spec.stop` ended. Its Workflow has the state Failed."""
LABELS_MAX = 64
"""Labels of one run that can be queried, the first in the order of their keys."""
_KEY_MAX, _VALUE_MAX = 317, 63


class RunValidator:
    """Validates a run line by line: its Workflow, its TaskRuns, and their Events. The first line sets `summary`."""

    def __init__(self, namespace: str, uid: str) -> None:
        self._namespace = namespace
        self._uid = uid
        self._has_events = False
        self.taskruns = 0
        self.summary: dict[str, Any] = {}
        self.labels: dict[str, str] = {}

    def check_line(self, number: int, value: Any) -> None:
        """Validate a line. Raises RefusedError (400) if it does not belong to this run."""
        problem = self._check_workflow(value) if number == 0 else self._check_other(value)
        if problem is not None:
            raise RefusedError(errors.invalid(f"line {number} {problem}"))
        if number == 0:
            self.summary, self.labels = summarize(value), labels_of(value)

    def _check_workflow(self, value: Any) -> str | None:
        if not isinstance(value, dict) or value.get("kind") != "Workflow":
            return "is not a Workflow; a run begins with its Workflow"
        metadata = _get_object(value, "metadata")
        if (metadata.get("namespace"), metadata.get("uid")) != (self._namespace, self._uid):
            return f"is not the Workflow with uid {self._uid} in namespace {self._namespace}"
        return None

    def _check_other(self, value: Any) -> str | None:
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "Event":
            self._has_events = True
            namespace = _get_object(value, "regarding").get("namespace")
            return None if namespace == self._namespace else f"is an Event of namespace {namespace!r}"
        if kind != "TaskRun":
            return "is neither a TaskRun nor an Event"
        if self._has_events:
            return "is a TaskRun after an Event; the TaskRuns come first"
        if _get_object(_get_object(value, "spec"), "workflow").get("uid") != self._uid:
            return f"is a TaskRun of another Workflow, not of uid {self._uid}"
        self.taskruns += 1
        return None


def store(row: Mapping[str, Any], labels: Mapping[str, str], digest: str) -> bodies.Refer:
    """Store a version of a run. It replaces an earlier one; the same content again, or an older version, is ignored."""

    async def refer(connection: AsyncConnection, body: str) -> bool:
        if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
            await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(row["uid"], 0))))
        former = await _find_row(connection, row["namespace"], row["uid"])
        if former is not None and former["body"] != body:
            is_newer = (former["clears"], former["completed_at"]) > (row["clears"], row["completed_at"])
            if is_newer or former["digest"] == digest:
                await _set_namespace_uid(connection, row)
                return False
        await _put(
            connection, {**row, "body": body, "indexed": True}, labels, None if former is None else former["body"]
        )
        return True

    return refer


async def find(database: Database, namespace: NamespaceId, uid: str) -> tuple[StoredBody, str] | None:
    """Return the body of a finished run, and its completion time as the Workflow has it."""
    return await _find(database, namespace.name, uid, RUNS.c.namespace_uid == namespace.uid)


async def find_stored(database: Database, namespace: str, uid: str) -> StoredBody | None:
    """Return the body of a finished run of any namespace that had the name: not for a request."""
    stored = await _find(database, namespace, uid, true())
    return None if stored is None else stored[0]


async def _find(
    database: Database, namespace: str, uid: str, condition: ColumnElement[bool]
) -> tuple[StoredBody, str] | None:
    async def work(connection: AsyncConnection) -> tuple[StoredBody, str] | None:
        joined = select(BODIES, RUNS.c.completed).join(RUNS, RUNS.c.body == BODIES.c.id)
        chosen = joined.where(RUNS.c.namespace == namespace, RUNS.c.uid == uid, condition)
        row = (await connection.execute(chosen)).mappings().first()
        return None if row is None else (bodies.parse_row(row), str(row["completed"]))

    return await database.read(work)


def summarize(workflow: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of `runs` that describe a finished Workflow."""
    metadata, status = _get_object(workflow, "metadata"), _get_object(workflow, "status")
    completed = str(status.get("completionTime", ""))[:32]
    clears = status.get("clears")
    return {
        "name": str(metadata.get("name", ""))[:253],
        "state": CANCELLED if _is_cancelled(workflow) else str(status.get("state", ""))[:63],
        "created": str(metadata.get("creationTimestamp", ""))[:32],
        "completed": completed,
        "completed_at": _seconds(completed),
        "clears": clears if isinstance(clears, int) and 0 <= clears < 2**31 else 0,
    }


def labels_of(workflow: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a Workflow that can be queried."""
    labels = _get_object(_get_object(workflow, "metadata"), "labels").items()
    valid = {key: value for key, value in sorted(labels) if isinstance(value, str) and _fits(key, value)}
    return dict(list(valid.items())[:LABELS_MAX])


async def replace_labels(connection: AsyncConnection, namespace: str, uid: str, labels: Mapping[str, str]) -> None:
    """Replace the labels of a run."""
    same = (RUN_LABELS.c.namespace == namespace) & (RUN_LABELS.c.uid == uid)
    await connection.execute(delete(RUN_LABELS).where(same))
    rows = [{"namespace": namespace, "uid": uid, "key": key, "value": value} for key, value in labels.items()]
    if rows:
        await connection.execute(RUN_LABELS.insert(), rows)


async def _find_row(connection: AsyncConnection, namespace: str, uid: str) -> RowMapping | None:
    joined = select(RUNS, BODIES.c.digest).join(BODIES, RUNS.c.body == BODIES.c.id)
    chosen = joined.where(RUNS.c.namespace == namespace, RUNS.c.uid == uid)
    return (await connection.execute(chosen)).mappings().first()


async def _set_namespace_uid(connection: AsyncConnection, row: Mapping[str, Any]) -> None:
    """Give a version of an earlier release the uid of its namespace: its Workflow has just been sent again."""
    same = (RUNS.c.namespace == row["namespace"]) & (RUNS.c.uid == row["uid"]) & (RUNS.c.namespace_uid == UNKNOWN)
    await connection.execute(update(RUNS).where(same).values(namespace_uid=row["namespace_uid"]))


async def _put(
    connection: AsyncConnection, row: Mapping[str, Any], labels: Mapping[str, str], former: str | None
) -> None:
    same = (RUNS.c.namespace == row["namespace"]) & (RUNS.c.uid == row["uid"])
    if former is None:
        await connection.execute(RUNS.insert().values(row))
    else:
        await connection.execute(update(RUNS).where(same).values(row))
    if former is not None and former != row["body"]:
        await bodies.release(connection, former)
    await replace_labels(connection, row["namespace"], row["uid"], labels)


def _is_cancelled(workflow: Mapping[str, Any]) -> bool:
    """Whether a user ended the run. A run whose task was cancelled, and that failed for it, does not count."""
    spec = _get_object(workflow, "spec")
    conditions = _get_object(workflow, "status").get("conditions")
    valid = [entry for entry in conditions if isinstance(entry, dict)] if isinstance(conditions, list) else []
    reasons = {entry.get("reason") for entry in valid if entry.get("type") == "Succeeded"}
    return (spec.get("cancel") is True or spec.get("stop") is True) and Reason.CANCELLED in reasons


def _seconds(completed: str) -> float:
    try:
        return times.epoch(completed)
    except (ValueError, OverflowError):
        return 0.0


def _fits(key: str, value: str) -> bool:
    return 0 < len(key) <= _KEY_MAX and len(value) <= _VALUE_MAX and "\0" not in key + value


def _get_object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    member = value.get(key)
    return member if isinstance(member, dict) else {}
