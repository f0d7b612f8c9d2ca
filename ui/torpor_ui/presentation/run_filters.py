"""Which runs a viewer wants to see, as the query of a request says it. Pure."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from torpor_wire import times

from torpor_ui import errors
from torpor_ui.presentation.run_rows import RunRow

Source: TypeAlias = Literal["live", "archive", "all"]
NAMESPACES_MAX = 50
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_TEXT_MAX = 200
_ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilters:
    """Which runs to show; an empty filter shows all. `since` and `until`: runs that existed and went on in between."""

    namespaces: tuple[str, ...] = ()
    states: frozenset[str] = frozenset()
    template: str = ""
    schedule: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    since: float | None = None
    until: float | None = None
    source: Source = "all"

    @property
    def accepts_all(self) -> bool:
        """Whether every run of the namespaces is shown."""
        return self == RunFilters(namespaces=self.namespaces, source=self.source)

    @property
    def wants_archive(self) -> bool:
        """Whether an archived run, which has ended, may be among those to show."""
        return self.source != "live" and (not self.states or bool(self.states & _ENDED))

    def accept(self, row: RunRow) -> bool:
        """Whether to show a run."""
        return (
            (not self.states or row.state in self.states)
            and (not self.template or row.template == self.template)
            and (not self.schedule or row.schedule == self.schedule)
            and all(row.labels.get(name) == value for name, value in self.labels.items())
            and self._accept_time(row)
            and (not self.text or self._accept_text(row))
        )

    def archive_query(self) -> dict[str, str]:
        """Return the parameters of the archive's list; what it cannot filter is filtered by `accept`."""
        query: dict[str, str] = {}
        if self.since is not None:
            query["since"] = times.rfc3339(self.since)
        if self.labels:
            query["labels"] = ",".join(f"{name}={value}" for name, value in self.labels.items())
        states = self.states & _ENDED
        if len(states) == 1:
            query["state"] = min(states)
        return query

    def _accept_time(self, row: RunRow) -> bool:
        began = row.started or row.created or 0.0
        if self.until is not None and began >= self.until:
            return False
        return self.since is None or row.completed is None or row.completed >= self.since

    def _accept_text(self, row: RunRow) -> bool:
        wanted = self.text.lower()
        fields = (row.name, row.namespace, row.template, row.schedule, row.message, row.reason, row.uid)
        return any(wanted in value.lower() for value in fields)


def parse(query: Mapping[str, str], labels: Sequence[str] = ()) -> RunFilters:
    """Return the filters of a query. `labels` are `key=value`. Raises ProblemError (400)."""
    source = query.get("source") or "all"
    if source not in get_args(Source):
        raise errors.invalid(f"source is {source[:40]!r}; use live, archive or all")
    return RunFilters(
        namespaces=namespaces(query.get("ns", "")),
        states=frozenset(filter(None, query.get("state", "").split(","))),
        template=query.get("template", ""),
        schedule=query.get("schedule", ""),
        labels=dict(_label(each) for each in labels if each),
        text=query.get("text", "")[:_TEXT_MAX],
        since=_time(query, "since"),
        until=_time(query, "until"),
        source=source,  # type: ignore[arg-type]  # it is one of them
    )


def namespaces(given: str) -> tuple[str, ...]:
    """Return the namespaces of `a,b`, each once. Raises ProblemError (400)."""
    names = tuple(dict.fromkeys(filter(None, given.split(","))))
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise errors.invalid(f"{name[:60]!r} is not a name of a namespace")
    if len(names) > NAMESPACES_MAX:
        raise errors.invalid(f"{len(names)} namespaces; choose at most {NAMESPACES_MAX}, or all")
    return names


def _label(given: str) -> tuple[str, str]:
    name, separator, value = given.partition("=")
    if not separator or not name or "," in given:
        raise errors.invalid(f"{given[:60]!r} is not a label; use key=value")
    return name, value


def _time(query: Mapping[str, str], name: str) -> float | None:
    given = query.get(name)
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < 1e11:  # noqa: PLR2004 - the year 5138
        raise errors.invalid(f"{name} is {given[:40]!r}; use seconds since the epoch")
    return seconds
