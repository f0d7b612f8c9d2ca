"""What the checks of Schedules know of each: its specs over time, its events, their outcomes, and its ticks.

Computed from committed objects and from the expressions that `random_schedules` draws, not by the tested code.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from torpor_local.apiserver.history import Object
from torpor_wire import constants

from tests.simulation.process import EPOCH

RECENT = 40.0
"""Seconds for which a leader may act on an earlier spec: it was paused, or its watch lagged."""


class EventKey(NamedTuple):
    """Identifies an event: the TaskRun that fired, and its position."""

    uid: str
    attempt: int
    segment: int


@dataclass(slots=True, kw_only=True)
class FiredEvent:
    """An event that a triggerer has committed."""

    source: str
    text: str
    event: Any
    moment: float
    outcome: str = ""

    @property
    def tick(self) -> float | None:
        """The tick of a cron source, in seconds since the epoch."""
        at = self.event.get("at") if isinstance(self.event, dict) else None
        return None if at is None else epoch(at)


@dataclass(slots=True, kw_only=True)
class ScheduleState:
    """Of one Schedule."""

    name: str
    spec: Object
    created: float
    clocks: float  # seconds by which clocks differ, and a message takes
    specs: list[tuple[float, Object]] = field(default_factory=list)
    status: Object = field(default_factory=dict)
    fired: dict[EventKey, FiredEvent] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)  # sources whose TaskRun a person has deleted
    crons: dict[str, str] = field(default_factory=dict)  # by source: its expression as the status knows it
    begin: dict[str, float] = field(default_factory=dict)  # by source: its ticks count after this time
    accounted: dict[str, set[float]] = field(default_factory=dict)  # by source: ticks with an outcome
    deleting: bool = False
    suspensions: list[list[float]] = field(default_factory=list)  # begin and end of each, as the status knows them
    occupied: set[float] = field(default_factory=set)  # ticks whose run's name a person uses

    def source(self, name: str) -> Object | None:
        """A source of the present spec."""
        return next((source for source in self.spec["sources"] if source["name"] == name), None)

    def edited(self, name: str) -> float:
        """When the present expression of a source was applied, in seconds since the epoch."""
        applied = self.specs[-1][0]
        for moment, spec in reversed(self.specs):
            former: Object | None = next((each for each in spec["sources"] if each["name"] == name), None)
            if (former or {}).get("cron") != (self.source(name) or {}).get("cron"):
                break
            applied = moment
        return EPOCH + applied

    def recent(self, now: float) -> list[Object]:
        """The specs that a leader may act on."""
        later = [moment for moment, _ in self.specs[1:]] + [now]
        return [spec for (_, spec), until in zip(self.specs, later, strict=True) if until >= now - RECENT]

    def in_suspension(self, tick: float) -> bool:
        """Whether a tick is one of a suspension that the operator knew."""
        moment, margin = tick - EPOCH, self.clocks
        return any(begin + margin < moment < end - margin for begin, end in self.suspensions)

    def sources_status(self) -> dict[str, Object]:
        """The stored status of each source."""
        return by_name(self.status)


def by_name(status: Object) -> dict[str, Object]:
    """The status of each source."""
    return {source["name"]: source for source in status.get("sources", ())}


def epoch(text: str) -> float:
    """Seconds since the epoch."""
    return datetime.fromisoformat(text).timestamp()


def seconds(text: str) -> float:
    """The durations that the simulation uses: of one unit."""
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def ticks(source: Object) -> Iterator[float]:
    """All ticks of an expression `*/N A-B H 14 11 *` in the year of the simulation; none of a trigger."""
    if "cron" not in source:
        return
    second, minute = source["cron"].split()[:2]
    first, _, last = minute.partition("-")
    day = datetime.fromtimestamp(EPOCH, UTC)
    for minutes in range(int(first), int(last or first) + 1):
        for each in range(0, 60, int(second[2:])):
            yield day.replace(minute=minutes, second=each, microsecond=0).timestamp()


def max_active(spec: Object) -> float:
    """How many runs may be active."""
    unset = float("inf") if spec.get("concurrencyPolicy") == "Allow" else 1
    return float(spec.get("maxActive", unset))


def is_manual(run: Object) -> bool:
    """Whether a user has requested the run."""
    run_of = run["spec"]["runOf"]
    return "source" not in run_of and "event" not in run_of


def is_queued(run: Object) -> bool:
    """Whether the run is queued."""
    labels = run["metadata"].get("labels", {})
    started = "startTime" in run.get("status", {})
    return bool(run["spec"].get("suspend") and constants.LABEL_QUEUED in labels and not started)


def is_open(run: Object) -> bool:
    """Whether the run has not ended."""
    return "completionTime" not in run.get("status", {}) and "deletionTimestamp" not in run["metadata"]


def texts(run: Object) -> list[tuple[str, str]]:
    """The events that a run is for, as source and JSON text in one form."""
    run_of = run["spec"]["runOf"]
    event = json.loads(run_of.get("event", "null"))
    pairs = [(run_of["source"], event)] if "source" in run_of else list((event or {}).items())
    return [(source, canonical(value)) for source, value in pairs]


def canonical(value: Any) -> str:
    """A JSON text that identifies an event of a source: each has another number or tick."""
    return json.dumps(value, sort_keys=True)
