"""An event that may start a run: of one source, of several (`allOf`), or a user's request. Pure.

A key identifies one event of one Schedule, so that two writers that start a run for the same event create the same
object: `torpor_wire.names.run` derives the name of the run from it. A Schedule that was deleted and created again has
another uid, and therefore other keys.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from torpor_crds.models.run_of import PreviousRun, RunOf
from torpor_crds.models.schedule import Schedule, ScheduleSource
from torpor_crds.models.taskrun import TaskRun
from torpor_expressions.value import JSON
from torpor_wire import constants, names, times

REQUEST = "request"
"""`origin` of a run that a user starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleEvent:
    """An event: its source, time, JSON text, value, next cursor, and the key of its run.

    `attempt` and `segment` are those of the TaskRun that fired; a tick has none. `params` replace those of the
    Schedule.
    """

    source: str | None
    at: str
    key: str
    text: str | None = None
    value: JSON = None
    cursor: str | None = None
    is_tick: bool = False
    origin: str = "event of allOf"  # what an event without a source is
    attempt: int | None = None
    segment: int | None = None
    params: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The event as the subject of a sentence."""
        kind = "tick" if self.is_tick else "event"
        return f"{kind} {self.at} of source {self.source}" if self.source else f"{self.origin} of {self.at}"

    def run_of(self, schedule: Schedule, previous: PreviousRun | None) -> RunOf:
        """`spec.runOf` of its run."""
        return RunOf(
            schedule=schedule.metadata.name,
            uid=schedule.metadata.uid,
            source=self.source,
            at=self.at,
            event=self.text,
            attempt=self.attempt,
            segment=self.segment,
            previous=previous,
        )


def event_of_source(schedule: Schedule, source: ScheduleSource, taskrun: TaskRun) -> ScheduleEvent:
    """The event of a TaskRun that has fired."""
    status, uid = taskrun.status, schedule.metadata.uid
    value = parse_value(status.event)
    fields = value if isinstance(value, dict) else {}
    cursor = fields.get("cursor")
    cursor = cursor if isinstance(cursor, str) and len(cursor) <= constants.CURSOR_MAX else None
    tick = _epoch(fields.get("at")) if source.cron is not None else None
    if tick is not None:
        return ScheduleEvent(
            source=source.name,
            at=times.rfc3339(tick),
            key=names.tick_key(uid, source.name, tick),
            text=status.event,
            value=value,
            cursor=cursor,
            is_tick=True,
        )
    return ScheduleEvent(
        source=source.name,
        at=status.fired_at or taskrun.metadata.creation_timestamp,
        key=event_key(uid, source.name, taskrun.metadata.uid, status.attempt, status.segment),
        text=status.event,
        value=value,
        cursor=cursor,
        attempt=status.attempt,
        segment=status.segment,
    )


def rerun_key(uid: str, source: str, tick: float, backfill_uid: str) -> str:
    """The key of the further run that a Backfill creates for a tick that already has a run."""
    return f"{names.tick_key(uid, source, tick)}/{backfill_uid}"


def event_key(uid: str, source: str, taskrun_uid: str, attempt: int, segment: int) -> str:
    """The key of an event of a source that is a trigger: the TaskRun and the position at which it fired."""
    return f"{uid}/{source}/{taskrun_uid}/{attempt}/{segment}"


def join_key(uid: str, keys: Iterable[str]) -> str:
    """The key of the events that `allOf` joins. Their order does not matter."""
    return f"{uid}/allOf/{','.join(sorted(keys))}"


def parse_value(text: str | None) -> JSON:
    """The value of an event's JSON text; null if there is none."""
    try:
        value: JSON = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return value


def _epoch(value: JSON) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return times.epoch(value)
    except (ValueError, OverflowError):
        return None
