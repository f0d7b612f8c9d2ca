"""The ticks of a cron expression and of a Schedule's cron sources, in the future or in a period. Pure.

Only the commands that need it import this module: the time zones cost milliseconds.
"""

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from torpor_views import json_fields
from torpor_wire.cron.ticks import Ticks

from torpor_client.errors import UserError
from torpor_client.schedules import moments

_CHUNK = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonedCron:
    """A cron expression in a zone. `name` is that of the zone."""

    ticks: Ticks
    name: str

    def after(self, moment: float) -> Iterator[float]:
        """Yield the ticks after a time, in seconds since the epoch."""
        tick = self.ticks.next(moment)
        while tick is not None:
            yield tick
            tick = self.ticks.next(tick)

    def between(self, start: float, end: float) -> Iterator[float]:
        """Yield the ticks of a period. `start` is included, `end` is not."""
        after, until = math.ceil(start) - 1.0, math.ceil(end) - 1.0  # ticks are whole seconds
        while chunk := self.ticks.between(after, until, _CHUNK):
            yield from chunk
            after = chunk[-1]

    def local(self, moment: float) -> str:
        """Return a time in the zone, with its offset."""
        return datetime.fromtimestamp(moment, self.ticks.zone).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse_cron(expression: str, timezone: str | None = None) -> ZonedCron:
    """Return the ticks of an expression. Raises ValueError with a sentence."""
    return ZonedCron(ticks=Ticks.parse(expression, timezone), name=timezone or "UTC")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class UpcomingTick:
    """A tick of a source, in seconds since the epoch. `delay` is its jitter in seconds."""

    at: float
    source: str
    delay: float = 0.0
    cron: ZonedCron = field(compare=False)

    @property
    def start(self) -> float:
        """When the run starts."""
        return self.at + self.delay

    def row(self) -> list[str]:
        """Return the cells SOURCE, TICK, ZONE and START."""
        return [self.source, self.cron.local(self.at), self.cron.name, moments.stamp(self.start)]

    def as_json(self) -> dict[str, str]:
        """Return the tick for `-o json`."""
        parts = {"source": self.source, "tick": moments.stamp(self.at), "local": self.cron.local(self.at)}
        return {key: value for key, value in parts.items() if value} | {
            "timezone": self.cron.name,
            "start": moments.stamp(self.start),
        }


def crons(schedule: Mapping[str, Any], source: str | None = None) -> dict[str, ZonedCron]:
    """Return the cron sources of a Schedule by name, or the one that is named.

    Raises UserError without one, and for one that is invalid.
    """
    name = schedule["metadata"]["name"]
    known = {str(entry["name"]): entry for entry in schedule["spec"].get("sources") or () if entry.get("cron")}
    if not known:
        raise UserError(f"schedule {name} has no cron source, so it has no ticks; its triggers start runs on events")
    if source is not None and source not in known:
        raise UserError(f"schedule {name} has no cron source {source!r}; it has {', '.join(known)}")
    chosen = known if source is None else {source: known[source]}
    try:
        return {each: parse_cron(str(entry["cron"]), entry.get("timezone")) for each, entry in chosen.items()}
    except ValueError as error:
        raise UserError(f"schedule {name}: {error}") from error


def delays(taskruns: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the jitter in seconds of each source that has a TaskRun: the operator has stored it with the trigger."""
    return {str(taskrun["spec"].get("task")): _delay(taskrun["spec"].get("trigger") or {}) for taskrun in taskruns}


def _delay(call: Mapping[str, Any]) -> float:
    try:
        kwargs = json.loads(call.get("kwargs") or "{}")
    except (TypeError, ValueError, RecursionError):
        return 0.0
    delay = kwargs.get("delay") if isinstance(kwargs, dict) else None
    return float(delay) if isinstance(delay, int | float) else 0.0


def upcoming(
    sources: Mapping[str, ZonedCron], after: float, number: int, delay: Mapping[str, float], end: float = math.inf
) -> Sequence[UpcomingTick]:
    """Return the next ticks after a time, up to and including `end`, by time."""
    ticks = _merged({name: cron.after(after) for name, cron in sources.items()}, sources, delay)
    return [tick for tick in islice(ticks, number) if tick.at <= end]


def between(
    sources: Mapping[str, ZonedCron], start: float, end: float, *, reverse: bool = False
) -> Iterator[UpcomingTick]:
    """Yield the ticks of a period by time, the latest first for `reverse`."""
    ticks = _merged({name: cron.between(start, end) for name, cron in sources.items()}, sources, {})
    return reversed(list(ticks)) if reverse else ticks


def bounds(schedule: Mapping[str, Any], now: float) -> tuple[float, float]:
    """Return the time after which, and the time up to which, ticks of a Schedule start runs."""
    first, last = (json_fields.moment(schedule["spec"].get(field)) for field in ("notBefore", "notAfter"))
    return now if first is None else max(now, first - 1), math.inf if last is None else last


def _merged(
    ticks: Mapping[str, Iterator[float]], sources: Mapping[str, ZonedCron], delay: Mapping[str, float]
) -> Iterator[UpcomingTick]:
    return heapq.merge(
        *(_of_source(name, source_ticks, sources[name], delay.get(name, 0.0)) for name, source_ticks in ticks.items())
    )


def _of_source(name: str, ticks: Iterator[float], cron: ZonedCron, delay: float) -> Iterator[UpcomingTick]:
    return (UpcomingTick(at=at, source=name, delay=delay, cron=cron) for at in ticks)
