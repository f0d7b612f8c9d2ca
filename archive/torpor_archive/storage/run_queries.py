"""Lists finished runs: filters from the query of a request, pages newest first. Parsing is pure."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import ColumnElement, and_, exists, select, tuple_
from sqlalchemy.engine import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection
from torpor_wire import times

from torpor_archive import errors, page_token
from torpor_archive.errors import ErrorResponse
from torpor_archive.namespaces import NamespaceId
from torpor_archive.storage.database import Database
from torpor_archive.storage.history import CANCELLED
from torpor_archive.storage.tables import BODIES, RUN_LABELS, RUNS

PAGE, PAGE_MAX = 100, 1000
PARAMETERS = ("name", "state", "labels", "since", "until", "limit", "continue")
STATES = ("Succeeded", "Failed", CANCELLED)
_REQUIREMENTS_MAX = 16
_Key: TypeAlias = tuple[str, str]
"""The namespace and the uid of a run."""
_NAME = re.compile(r"[a-z0-9.-]{1,253}\*?|\*")
_LABEL = re.compile(
    r"(?P<absent>!)?(?P<key>(?:[a-z0-9.-]{1,253}/)?[A-Za-z0-9][A-Za-z0-9_.-]{0,62})"
    r"(?:(?P<operator>==?|!=)(?P<value>(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,62})?))?"
)


class Query(Protocol):
    """The query of a request, whose parameters may repeat."""

    def getall(self, key: str, default: Sequence[str], /) -> Sequence[str]:
        """Return all values of a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A requirement on a label. Without a value the label must exist. `negated` is its opposite."""

    key: str
    value: str | None
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are listed. `name` may end in `*`; `since` and `until` are in seconds since the epoch."""

    name: str = ""
    states: tuple[str, ...] = ()
    labels: tuple[Requirement, ...] = ()
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageToken:
    """The position after which a page begins: the run that completed at that time, with that uid."""

    completed_at: float
    uid: str

    def text(self) -> str:
        """Encode the token for the client."""
        return page_token.encode(self.completed_at, self.uid)


def parse_page_token(text: str) -> PageToken | ErrorResponse:
    """Decode a token."""
    position = page_token.decode(text, float, str)
    if isinstance(position, ErrorResponse):
        return position
    completed_at, uid = position
    return PageToken(completed_at=completed_at, uid=uid)


def parse_filter(query: Query, now: float) -> RunFilter | ErrorResponse:
    """Parse the filters of a request. A duration such as 24h as `since` or `until` counts back from now."""
    try:
        return RunFilter(
            name=_parse_name(_single(query, "name")),
            states=tuple(_parse_state(text) for text in query.getall("state", ())),
            labels=_parse_labels(_single(query, "labels")),
            since=_parse_time("since", _single(query, "since"), now),
            until=_parse_time("until", _single(query, "until"), now),
        )
    except ValueError as error:
        return errors.invalid(str(error))


async def list_runs(
    database: Database, namespace: NamespaceId | None, chosen: RunFilter, limit: int, start: PageToken | None
) -> Mapping[str, Any]:
    """Return a page of a namespace's runs, or of all namespaces', deleted ones included, the last completed first."""

    async def work(connection: AsyncConnection) -> tuple[Sequence[RowMapping], Mapping[_Key, dict[str, str]]]:
        query = select(RUNS, BODIES.c.size).join(BODIES, RUNS.c.body == BODIES.c.id).where(*_conditions(chosen))
        if namespace is not None:
            query = query.where(RUNS.c.namespace == namespace.name, RUNS.c.namespace_uid == namespace.uid)
        if start is not None:
            position = tuple_(RUNS.c.completed_at, RUNS.c.uid)
            query = query.where(position < tuple_(start.completed_at, start.uid))
        ordered = query.order_by(RUNS.c.completed_at.desc(), RUNS.c.uid.desc()).limit(limit + 1)
        rows = (await connection.execute(ordered)).mappings().all()
        return rows, await _read_labels(connection, [_key(row) for row in rows[:limit]])

    rows, labels = await database.read(work)
    items = rows[:limit]
    page: dict[str, Any] = {"items": [_item(row, labels.get(_key(row), {})) for row in items]}
    if len(rows) > limit:
        page["continue"] = PageToken(completed_at=float(items[-1]["completed_at"]), uid=items[-1]["uid"]).text()
    return page


async def _read_labels(connection: AsyncConnection, keys: Sequence[_Key]) -> Mapping[_Key, dict[str, str]]:
    labels: defaultdict[_Key, dict[str, str]] = defaultdict(dict)
    if keys:
        of_runs = tuple_(RUN_LABELS.c.namespace, RUN_LABELS.c.uid).in_(keys)
        for row in (await connection.execute(select(RUN_LABELS).where(of_runs))).mappings():
            labels[_key(row)][row["key"]] = row["value"]
    return labels


def _key(row: RowMapping) -> _Key:
    return row["namespace"], row["uid"]


def _item(row: RowMapping, labels: Mapping[str, str]) -> dict[str, Any]:
    names = ("namespace", "uid", "name", "state", "created", "completed", "size")
    return {name: row[name] for name in names} | {
        "labels": dict(sorted(labels.items())),
        "taskRuns": row["taskruns"],
        "archived": times.rfc3339(row["archived"]),
    }


def _conditions(chosen: RunFilter) -> list[ColumnElement[bool]]:
    conditions = [_label_condition(requirement) for requirement in chosen.labels]
    if chosen.name.endswith("*"):
        conditions.append(RUNS.c.name.startswith(chosen.name.removesuffix("*"), autoescape=True))
    elif chosen.name:
        conditions.append(RUNS.c.name == chosen.name)
    if chosen.states:
        conditions.append(RUNS.c.state.in_(chosen.states))
    if chosen.since is not None:
        conditions.append(RUNS.c.completed_at >= chosen.since)
    if chosen.until is not None:
        conditions.append(RUNS.c.completed_at < chosen.until)
    return conditions


def _label_condition(requirement: Requirement) -> ColumnElement[bool]:
    of_run = and_(RUN_LABELS.c.namespace == RUNS.c.namespace, RUN_LABELS.c.uid == RUNS.c.uid)
    label = RUN_LABELS.c.key == requirement.key
    if requirement.value is not None:
        label &= RUN_LABELS.c.value == requirement.value
    has_label = exists().where(of_run, label)
    return ~has_label if requirement.negated else has_label


def _single(query: Query, name: str) -> str:
    values = query.getall(name, ())
    if len(values) > 1:
        raise ValueError(f"{name} is given {len(values)} times; give it once")
    return values[0] if values else ""


def _parse_name(text: str) -> str:
    if text and not _NAME.fullmatch(text):
        raise ValueError(f"name is {text[:80]!r}; write the name of a Workflow, or its beginning and *")
    return text


def _parse_state(text: str) -> str:
    if text not in STATES:
        raise ValueError(f"state is {text[:40]!r}; use {', '.join(STATES[:-1])} or {STATES[-1]}")
    return text


def _parse_labels(text: str) -> tuple[Requirement, ...]:
    parts = [part.strip() for part in text.split(",")] if text else []
    if len(parts) > _REQUIREMENTS_MAX:
        raise ValueError(f"labels has {len(parts)} requirements; the limit is {_REQUIREMENTS_MAX}")
    return tuple(map(_parse_requirement, parts))


def _parse_requirement(text: str) -> Requirement:
    match = _LABEL.fullmatch(text)
    if match is None or (match["absent"] and match["operator"]):
        raise ValueError(f"labels has {text[:80]!r}; write key=value, key!=value, key or !key, separated by commas")
    return Requirement(
        key=match["key"], value=match["value"], negated=bool(match["absent"]) or match["operator"] == "!="
    )


def _parse_time(name: str, text: str, now: float) -> float | None:
    if not text:
        return None
    try:
        return now - times.seconds(text)
    except ValueError:
        pass
    try:
        return times.epoch(text)
    except (ValueError, OverflowError):
        message = f"{name} is {text[:40]!r}; write a time such as 2026-11-22T00:00:00Z, or a duration such as 24h"
        raise ValueError(message) from None
