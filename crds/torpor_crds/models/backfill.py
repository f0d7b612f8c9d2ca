"""Backfill: creates the runs of a Schedule for the ticks of a period in the past."""

from typing import Annotated, Any

from pydantic import Field
from torpor_wire.enums import Rerun

from torpor_crds.models.base import (
    Condition,
    Count,
    Identifier,
    Message,
    Metadata,
    Model,
    Moment,
    ObjectName,
    Time,
    Value,
)


class BackfillSpec(Model):
    """Which ticks to run. Only cancel, suspend and concurrency may change."""

    schedule: Annotated[ObjectName, Field(description="Name of a Schedule in the namespace.")]
    source: Annotated[
        Identifier | None, Field(description="Cron source of the Schedule. Unset: all its cron sources.")
    ] = None
    start: Annotated[Time, Field(alias="from", description="First time of the period, included.")]
    end: Annotated[
        Time,
        Field(
            alias="to",
            description="End of the period, excluded. The Schedule runs ticks after the start of the Backfill.",
        ),
    ]
    reverse: Annotated[bool, Field(description="Whether the latest tick is run first.")] = False
    concurrency: Annotated[int, Field(ge=1, le=100, description="Maximum number of active runs of the Backfill.")] = 1
    rerun: Annotated[
        Rerun,
        Field(
            description="Which ticks are run. missing: those without a run. failed: also those whose last run failed. "
            "all: every tick. A tick with an active run is passed over."
        ),
    ] = Rerun.MISSING
    params: Annotated[
        dict[str, Value],
        Field(
            max_length=64,
            description="Parameters that replace those of the Schedule. Strings may contain the same expressions.",
        ),
    ] = Field(default_factory=dict)
    suspend: Annotated[bool, Field(description="Starts no further runs. Active runs go on.")] = False
    cancel: Annotated[bool, Field(description="Ends the Backfill: starts no further runs. Active runs go on.")] = False


class BackfillStatus(Model):
    """Progress of the Backfill."""

    observed_generation: Annotated[
        int, Field(ge=0, description="Generation of the spec that this status describes.")
    ] = 0
    state: Annotated[
        str | None,
        Field(
            max_length=20,
            description="Running, Waiting (the reason of the condition Succeeded names the cause), Suspended, "
            "Cancelling, Succeeded, Failed or Cancelled.",
        ),
    ] = None
    progress: Annotated[
        str | None, Field(max_length=40, description="Finished ticks of all ticks, such as 3/30, or 3/10000+.")
    ] = None
    ticks: Annotated[Count, Field(description="Number of ticks of the period, as far as they are counted.")] = 0
    more_ticks: Annotated[
        bool, Field(description="Whether the period has further ticks, which are not counted yet.")
    ] = False
    schedule_generation: Annotated[
        int, Field(ge=0, description="Generation of the Schedule's spec from which the ticks were counted.")
    ] = 0
    cursor: Annotated[
        Moment,
        Field(description="The last tick that was started, passed over or failed; later passes continue after it."),
    ] = None
    cursor_source: Annotated[Identifier | None, Field(description="Source of the tick in `cursor`.")] = None
    passed: Annotated[
        Count,
        Field(description="Number of ticks that were passed over: they have a run, or `when` is false."),
    ] = 0
    started: Annotated[Count, Field(description="Number of runs that the Backfill has started.")] = 0
    active: Annotated[Count, Field(description="Number of active runs.")] = 0
    active_runs: Annotated[
        tuple[ObjectName, ...], Field(max_length=100, description="Names of the active runs, the first started first.")
    ] = ()
    succeeded: Annotated[Count, Field(description="Number of succeeded runs.")] = 0
    failed: Annotated[
        Count,
        Field(description="Number of failed, cancelled and deleted runs, and of ticks without a run after an error."),
    ] = 0
    last_failure: Annotated[Message | None, Field(description="The last failure, as a sentence.")] = None
    start_time: Annotated[Moment, Field(description="Time at which the operator first saw the Backfill.")] = None
    completion_time: Annotated[Moment, Field(description="Time at which the last run ended.")] = None
    conditions: Annotated[
        tuple[Condition, ...],
        Field(max_length=8, description="Succeeded, Reconciling and Stalled.", json_schema_extra={"x-key": "type"}),
    ] = ()


class Backfill(Model):
    """Creates the runs of a Schedule for the ticks of a period in the past."""

    metadata: Metadata
    spec: Annotated[BackfillSpec, Field(description="Which ticks to run.")]
    status: Annotated[BackfillStatus, Field(description="Progress of the Backfill.")] = BackfillStatus()


def parse(body: Any) -> Backfill:
    """A Backfill from the API server's JSON. Raises pydantic.ValidationError for an invalid one."""
    return Backfill.model_validate(body)
