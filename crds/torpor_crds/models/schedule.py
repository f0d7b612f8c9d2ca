"""Schedule: starts runs at times and on events.

Each source is a TaskRun of the Schedule that waits for its trigger. A Schedule writes nothing into the Workflows that
it has started, except to start queued ones and to cancel replaced ones.
"""

from typing import Annotated, Any

from pydantic import Field
from torpor_wire import constants
from torpor_wire.enums import ConcurrencyPolicy, DeletionPolicy, MissedRun

from torpor_crds.models.base import Duration, Expression, Identifier, Metadata, Model, Moment, Name, ObjectName, Value
from torpor_crds.models.run_of import TemplateRef
from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_crds.models.task import TriggerTask
from torpor_crds.models.workflow import WorkflowSpec


class ScheduleSource(Model):
    """A cron expression or a trigger."""

    name: Annotated[Identifier, Field(description="Name of the source. Expressions read it as `source`.")]
    cron: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="Cron expression: five fields (minute, hour, day of month, month, day of week), six with "
            "seconds first, or a name such as @daily.",
        ),
    ] = None
    timezone: Annotated[
        str | None, Field(max_length=100, description="IANA time zone of `cron`, such as Europe/Berlin. Unset: UTC.")
    ] = None
    trigger: Annotated[
        TriggerTask | None, Field(description="Trigger that waits for the event. It starts again after each event.")
    ] = None
    trigger_pool: Annotated[
        Name | None, Field(description="Triggerer pool of the source. Unset: the pool named default.")
    ] = None
    service_account: Annotated[
        ObjectName | None,
        Field(
            description="ServiceAccount that must be allowed to read the Secrets of the trigger. Unset: torpor-task."
        ),
    ] = None
    cursor: Annotated[
        str | None,
        Field(
            max_length=constants.CURSOR_MAX,
            description="Position at which the source begins, for triggers with a cursor. Unset: as the trigger "
            "decides. status.sources has the present one.",
        ),
    ] = None


class Missed(Model):
    """What happens to ticks that passed while no run could be started."""

    within: Annotated[Duration, Field(description="Maximum age of a missed tick that is run.")] = "1h"
    run: Annotated[MissedRun, Field(description="Which missed ticks are run: None, Last or All.")] = MissedRun.LAST


class Kept(Model):
    """How many finished runs are kept as Workflows. The archive has all of them."""

    succeeded: Annotated[int, Field(ge=0, le=1000, description="Number of succeeded runs.")] = 3
    failed: Annotated[int, Field(ge=0, le=1000, description="Number of failed and cancelled runs.")] = 3


class ScheduleSpec(Model):
    """When runs start, and what they run."""

    sources: Annotated[
        tuple[ScheduleSource, ...],
        Field(
            min_length=1,
            max_length=20,
            description="Sources that start a run: any of them, unless `allOf` is set.",
            json_schema_extra={"x-key": "name"},
        ),
    ]
    all_of: Annotated[
        tuple[Identifier, ...],
        Field(
            max_length=20,
            description="Sources that start a run together: when each of them has had an event since the last run.",
        ),
    ] = ()
    within: Annotated[
        Duration | None,
        Field(description="For `allOf`: maximum age of an event when the last one arrives. Unset: any age."),
    ] = None
    template_ref: Annotated[TemplateRef | None, Field(description="WorkflowTemplate of the runs.")] = None
    workflow: Annotated[WorkflowSpec | None, Field(description="Spec of the runs, instead of templateRef.")] = None
    params: Annotated[
        dict[str, Value],
        Field(
            max_length=64,
            description="Parameters of each run. Strings may contain `${...}` expressions over `event`, `at`, "
            "`previous` and `source`.",
        ),
    ] = Field(default_factory=dict)
    when: Annotated[
        Expression | None,
        Field(description="CEL over `event`, `at`, `previous` and `source`. If it is false, no run starts."),
    ] = None
    concurrency_policy: Annotated[
        ConcurrencyPolicy,
        Field(
            description="What happens to an event while `maxActive` runs are active. Allow: it waits at its source. "
            "Forbid: it is skipped. Replace: the oldest run is cancelled. Queue: a run is created, which waits."
        ),
    ] = ConcurrencyPolicy.FORBID
    max_active: Annotated[
        int | None,
        Field(ge=1, le=1000, description="Maximum number of active runs. Unset: 1, and with Allow no limit."),
    ] = None
    max_queued: Annotated[
        int, Field(ge=0, le=1000, description="Maximum number of queued runs. Further events wait at their source.")
    ] = 100
    missed: Annotated[Missed, Field(description="What happens to missed ticks.")] = Missed()
    jitter: Annotated[
        Duration | None,
        Field(description="Longest delay of ticks. The delay of a Schedule is fixed, and derived from its uid."),
    ] = None
    not_before: Annotated[Moment, Field(description="Ticks and events before this time start no run.")] = None
    not_after: Annotated[
        Moment,
        Field(description="Ticks and events after this time start no run. The run of one that waits may start later."),
    ] = None
    suspend: Annotated[
        bool, Field(description="Starts no runs. Ticks pass without a run; other events wait at their source.")
    ] = False
    pause_after_failures: Annotated[
        int | None, Field(ge=1, le=100, description="Number of failed runs in a row after which suspend is set.")
    ] = None
    history: Annotated[Kept, Field(description="How many finished runs are kept.")] = Kept()
    deletion_policy: Annotated[
        DeletionPolicy,
        Field(
            description="What happens to the runs when the Schedule is deleted: Orphan keeps them, Delete deletes them."
        ),
    ] = DeletionPolicy.ORPHAN


class Schedule(Model):
    """Starts runs at times and on events."""

    metadata: Metadata
    spec: Annotated[ScheduleSpec, Field(description="When runs start, and what they run.")]
    status: Annotated[ScheduleStatus, Field(description="State of the Schedule.")] = ScheduleStatus()


def parse(body: Any) -> Schedule:
    """A Schedule from the API server's JSON. Raises pydantic.ValidationError for an invalid one."""
    return Schedule.model_validate(body)
