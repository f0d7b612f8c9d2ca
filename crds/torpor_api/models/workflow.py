"""Workflow: one run of a graph of tasks, as its author writes it.

The field descriptions are what `kubectl explain workflow.spec.tasks` prints: they teach the language.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field
from torpor_wire import constants

from torpor_api.models.base import (
    Condition,
    Count,
    Duration,
    Identifier,
    Metadata,
    Model,
    Moment,
    Name,
    ObjectName,
    ReasonWord,
)
from torpor_api.models.task import Group, Task, Value


class WorkflowSpec(Model):
    """What to run. Immutable but for suspend, stop, cancel, parallelism, image, params, and a task's image and pod."""

    params: Annotated[
        dict[str, Value], Field(max_length=64, description="Values that expressions read as `params.name`.")
    ] = Field(default_factory=dict)
    image: Annotated[
        str | None, Field(max_length=512, description="Image of python tasks: built FROM Torpor's worker image.")
    ] = None
    parallelism: Annotated[int, Field(ge=1, le=10_000, description="How many tasks hold a pod at a time.")] = 50
    max_map_size: Annotated[
        int | None,
        Field(
            ge=1,
            le=constants.MAP_MAX,
            description="How many instances one task may have; unset: as the installation has it.",
        ),
    ] = None
    variables_from: Annotated[
        ObjectName | None,
        Field(description="A ConfigMap of this namespace; expressions read its texts as `variables.name`."),
    ] = None
    count_deferred: Annotated[
        bool, Field(description="Whether a deferred task counts in `parallelism` though it holds no pod.")
    ] = False
    deferrable: Annotated[
        bool | None,
        Field(description="Whether sensors give their pod back while they wait; unset: as the installation has it."),
    ] = None
    timeout: Annotated[
        Duration | None,
        Field(
            description="How long the run may take; then it is cancelled. Cleared after its end, it has as long again."
        ),
    ] = None
    ttl_after_finished: Annotated[
        Duration | None, Field(description="How long a finished run is kept; forever if unset.")
    ] = None
    pods_ttl: Annotated[
        Duration | None,
        Field(
            alias="podsTTL",
            description="How long a task's pod, and so its log, is kept after its end; unset: as the installation has "
            "it, a day by default.",
        ),
    ] = None
    trigger_pool: Annotated[Name, Field(description="Which triggerers serve the waits of this run.")] = (
        constants.DEFAULT_POOL
    )
    suspend: Annotated[bool, Field(description="Start nothing new; what runs goes on.")] = False
    stop: Annotated[bool, Field(description="End the run: pods are stopped, waits are killed, then its hooks run.")] = (
        False
    )
    cancel: Annotated[bool, Field(description="End the run at once, as stop does, and run no hooks.")] = False
    groups: Annotated[
        tuple[Group, ...],
        Field(
            max_length=20,
            description="Groups of tasks that are mapped as a whole; a task says by `group` that it stands in one.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    tasks: Annotated[
        tuple[Task, ...],
        Field(min_length=1, max_length=500, description="The graph.", json_schema_extra={"x-key": "name"}),
    ]


class TaskState(StrEnum):
    """Where a task of the Workflow stands, all its instances taken together."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SKIPPED = "Skipped"
    UPSTREAM_FAILED = "UpstreamFailed"
    CANCELLED = "Cancelled"


Ranges = Annotated[str, Field(max_length=constants.RANGES_MAX, pattern=r"^[0-9.,-]*$")]


class TaskStatus(Model):
    """One task: counts of its instances, never a list of them."""

    name: Annotated[Identifier, Field(description="The task.")]
    state: Annotated[TaskState, Field(description="Where the task stands, its instances taken together.")]
    total: Annotated[Count, Field(description="How many instances there are to be.")] = 0
    instances: Annotated[
        Ranges | None,
        Field(
            description="Of a task in a group, which these are, by the index in each group and their own: 0-3.0-9 are "
            "ten in each of four. Those below are written so too."
        ),
    ] = None
    created: Annotated[Count, Field(description="How many instances have been created; none of them is again.")] = 0
    made: Annotated[
        Ranges | None,
        Field(
            description="Which ones, as in 0-3,7; unset: the first `created`, in a group all of `instances` that are "
            "not in `skips`. One that is not there was deleted."
        ),
    ] = None
    skipped: Annotated[Count, Field(description="Instances that `when` left out, or that ended Skipped.")] = 0
    skips: Annotated[Ranges | None, Field(description="Which ones `when` left out, as in 4-6.")] = None
    removed: Annotated[Count, Field(description="Instances of before a clearing that are beyond the new length.")] = 0
    active: Annotated[Count, Field(description="Scheduled, Running or UpForRetry.")] = 0
    deferred: Annotated[Count, Field(description="Waiting without a pod.")] = 0
    succeeded: Annotated[Count, Field(description="Ended well.")] = 0
    failed: Annotated[Count, Field(description="Failed, Cancelled or deleted.")] = 0
    reason: Annotated[ReasonWord | None, Field(description="Why the task failed or was skipped.")] = None
    message: Annotated[str | None, Field(max_length=1024, description="The reason, as a sentence.")] = None


class ClearedTask(Model):
    """A task whose TaskRuns are made anew."""

    name: Annotated[Identifier, Field(description="The task.")]
    indexes: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...] | None,
        Field(
            max_length=constants.MAP_MAX,
            description="Which instances; unset: all, and their number is found out again.",
        ),
    ] = None
    within: Annotated[
        Ranges | None,
        Field(description="Of a task in a group: all instances at these indexes, as in 0-3,5.0 of one or more levels."),
    ] = None


class Clearing(Model):
    """What somebody asked to have run again, until it has been made anew."""

    asked: Annotated[
        str, Field(max_length=constants.CLEAR_MAX, description="The text of the annotation torpor.dev/clear.")
    ]
    tasks: Annotated[
        tuple[ClearedTask, ...],
        Field(max_length=500, description="The tasks.", json_schema_extra={"x-key": "name"}),
    ] = ()


class WorkflowStatus(Model):
    """How the run goes."""

    observed_generation: Annotated[int, Field(ge=0, description="The generation of spec that this speaks of.")] = 0
    state: Annotated[
        str | None,
        Field(
            max_length=20, description="Running, Suspended, Cancelling, Finishing (its hooks run), Succeeded, Failed."
        ),
    ] = None
    progress: Annotated[str | None, Field(max_length=40, description="Instances done, of those known.")] = None
    start_time: Annotated[
        Moment, Field(description="When the operator first saw it. Clearing instances does not change it.")
    ] = None
    reopened_time: Annotated[
        Moment, Field(description="When instances were last cleared after its end; spec.timeout counts from here then.")
    ] = None
    completion_time: Annotated[Moment, Field(description="When the last task ended.")] = None
    tasks: Annotated[
        tuple[TaskStatus, ...],
        Field(max_length=500, description="Counts for each task.", json_schema_extra={"x-key": "name"}),
    ] = ()
    clears: Annotated[Count, Field(description="How often instances of the run have been cleared.")] = 0
    clearing: Annotated[
        Clearing | None, Field(description="The clearing that is under way: old TaskRuns go, new ones come.")
    ] = None
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8,
            description="Succeeded, and kstatus' Reconciling and Stalled.",
            json_schema_extra={"x-key": "type"},
        ),
    ] = ()


class Workflow(Model):
    """One run of a graph of tasks; what waits costs no pod."""

    metadata: Metadata
    spec: Annotated[WorkflowSpec, Field(description="What to run. Some fields may change: docs/reference/fields.md.")]
    status: Annotated[WorkflowStatus, Field(description="How the run goes.")] = WorkflowStatus()


def parse(body: Any) -> Workflow:
    """A Workflow from the API server's JSON. Raises pydantic.ValidationError for what the schema does not allow."""
    return Workflow.model_validate(body)
