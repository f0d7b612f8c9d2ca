"""The status of a Schedule."""

from typing import Annotated

from pydantic import Field
from torpor_wire import constants

from torpor_crds.models.base import (
    Condition,
    Count,
    Identifier,
    Message,
    Model,
    Moment,
    ObjectName,
    ReasonWord,
    Time,
)


class HandledEvent(Model):
    """Identifies the last event of a source whose outcome is stored in this status."""

    uid: Annotated[str, Field(max_length=63, description="uid of the TaskRun of the source.")]
    attempt: Annotated[Count, Field(description="Attempt of the TaskRun.")]
    segment: Annotated[Count, Field(description="Segment of the TaskRun.")]


class PendingEvent(Model):
    """An event that waits for those of the other sources of `allOf`."""

    at: Annotated[Time, Field(description="Time of the event.")]
    event: Annotated[str | None, Field(max_length=constants.EVENT_MAX, description="The event, as JSON text.")] = None
    key: Annotated[str, Field(max_length=64, description="Hash that identifies the event.")]


class SourceStatus(Model):
    """State of one source."""

    name: Annotated[Identifier, Field(description="Name of the source.")]
    next: Annotated[Moment, Field(description="For cron: the next tick.")] = None
    last: Annotated[Moment, Field(description="Time of the last event.")] = None
    events: Annotated[Count, Field(description="Number of events.")] = 0
    cursor: Annotated[
        str | None, Field(max_length=constants.CURSOR_MAX, description="Position after the last event.")
    ] = None
    handled: Annotated[HandledEvent | None, Field(description="The last event that was handled.")] = None
    pending: Annotated[PendingEvent | None, Field(description="For `allOf`: the event that waits for the others.")] = (
        None
    )
    reason: Annotated[ReasonWord | None, Field(description="Why the source does not wait: a CamelCase word.")] = None
    message: Annotated[Message | None, Field(description="The reason as a sentence.")] = None


class MissedTicks(Model):
    """Ticks that were not run."""

    count: Annotated[Count, Field(description="Number of missed ticks.")] = 0
    last: Annotated[Moment, Field(description="The last missed tick.")] = None


class FailedEvent(Model):
    """An event that started no run because of an error."""

    source: Annotated[Identifier | None, Field(description="Source of the event.")] = None
    at: Annotated[Time, Field(description="Time of the event.")]
    event: Annotated[str | None, Field(max_length=1024, description="The event, as JSON text, shortened.")] = None
    reason: Annotated[ReasonWord, Field(description="Why it started no run: a CamelCase word.")]
    message: Annotated[Message, Field(description="The reason as a sentence.")]


class LastRun(Model):
    """The last run that the Schedule started."""

    name: Annotated[ObjectName, Field(description="Name of the Workflow.")]
    at: Annotated[Time, Field(description="Time of its event.")]
    source: Annotated[Identifier | None, Field(description="Source of its event.")] = None


class ScheduleStatus(Model):
    """State of the Schedule."""

    observed_generation: Annotated[
        int, Field(ge=0, description="Generation of the spec that this status describes.")
    ] = 0
    next: Annotated[Moment, Field(description="The next tick of its cron sources.")] = None
    last: Annotated[Moment, Field(description="Time of the last event that was handled.")] = None
    last_run: Annotated[LastRun | None, Field(description="The last run that was started.")] = None
    started: Annotated[Count, Field(description="Number of started runs.")] = 0
    active: Annotated[Count, Field(description="Number of active runs.")] = 0
    queued: Annotated[Count, Field(description="Number of queued runs.")] = 0
    skipped: Annotated[Count, Field(description="Number of events without a run: Forbid, or `when` was false.")] = 0
    missed: Annotated[MissedTicks | None, Field(description="Ticks that were not run because they were too old.")] = (
        None
    )
    failed: Annotated[
        Count,
        Field(
            description="Number of events that started no run because of an error, or a run whose params do not fit."
        ),
    ] = 0
    consecutive_failures: Annotated[
        Count,
        Field(
            description="Number of such events since the last event that started a run, or the last edit of the spec."
        ),
    ] = 0
    failed_events: Annotated[
        tuple[FailedEvent, ...],
        Field(max_length=10, description="The last events that started no run because of an error."),
    ] = ()
    suspended: Annotated[bool, Field(description="Whether the Schedule was suspended at the last observation.")] = False
    resumed_time: Annotated[
        Moment, Field(description="Time of the last resumption. Failed runs count for pauseAfterFailures from here.")
    ] = None
    sources: Annotated[
        tuple[SourceStatus, ...],
        Field(max_length=20, description="State of each source.", json_schema_extra={"x-key": "name"}),
    ] = ()
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8,
            description="Ready: whether events start runs. Suspended: why they do not.",
            json_schema_extra={"x-key": "type"},
        ),
    ] = ()
