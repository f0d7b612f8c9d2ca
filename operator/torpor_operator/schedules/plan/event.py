"""An event that may start a run: of one source, of several (`allOf`), or a user's request."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_crds.models.run_of import PreviousRun, RunOf
from torpor_crds.models.schedule import Schedule, ScheduleSource
from torpor_crds.models.taskrun import TaskRun
from torpor_expressions.value import JSON
from torpor_wire import constants, times

from torpor_operator.schedules.plan import run_names

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


def of_source(schedule: Schedule, source: ScheduleSource, taskrun: TaskRun) -> ScheduleEvent:
    """The event of a TaskRun that has fired."""
    status, uid = taskrun.status, schedule.metadata.uid
    value = parsed(status.event)
    fields = value if isinstance(value, dict) else {}
    cursor = fields.get("cursor")
    cursor = cursor if isinstance(cursor, str) and len(cursor) <= constants.CURSOR_MAX else None
    tick = _epoch(fields.get("at")) if source.cron is not None else None
    if tick is not None:
        return ScheduleEvent(
            source=source.name,
            at=times.rfc3339(tick),
            key=run_names.tick_key(uid, source.name, tick),
            text=status.event,
            value=value,
            cursor=cursor,
            is_tick=True,
        )
    return ScheduleEvent(
        source=source.name,
        at=status.fired_at or taskrun.metadata.creation_timestamp,
        key=run_names.event_key(uid, source.name, taskrun.metadata.uid, status.attempt, status.segment),
        text=status.event,
        value=value,
        cursor=cursor,
        attempt=status.attempt,
        segment=status.segment,
    )


def parsed(text: str | None) -> JSON:
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
