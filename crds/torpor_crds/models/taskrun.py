"""TaskRun: one task instance, created when its turn comes, and its whole state machine in `status`.

The field descriptions are what `kubectl explain taskrun` prints. Values that must come back unchanged are JSON text,
since the API server sorts keys, turns 1.0 into 1 and drops nulls.
"""

from typing import Annotated, Any

from pydantic import Field
from torpor_wire import constants
from torpor_wire.enums import MarkState, Runtime
from torpor_wire.state import State
from torpor_wire.transitions import NO_HISTORY, Pin

from torpor_crds.models.archive import StoredResult
from torpor_crds.models.argument import Argument, GroupIndexes, JsonText
from torpor_crds.models.base import (
    ClassName,
    Condition,
    Count,
    Duration,
    Expression,
    Identifier,
    Message,
    Metadata,
    Model,
    Moment,
    Name,
    ObjectName,
    PrintableLine,
    PrintableLog,
    QueueName,
    ReasonWord,
    Retries,
)
from torpor_crds.models.bodies import http_task
from torpor_crds.models.bodies.object_task import ObjectCall
from torpor_crds.models.files import RunFiles, StoredFile
from torpor_crds.models.history import TaskRunHistory
from torpor_crds.models.notify import NotificationOf
from torpor_crds.models.pod_fields import EnvValue, PodValue
from torpor_crds.models.program import CodeSource, Command
from torpor_crds.models.run_of import ChildRun
from torpor_crds.models.segment import NextSegment, PodRef, Waiting

ABSENT_DEFAULTS = {
    "mapIndex": constants.UNMAPPED,
    "clears": 0,
    "env": [],
    "podValues": [],
    "arguments": [],
    "timeoutWhileDeferred": True,
}
"""Fields of the spec that are not stored with these values: there may be 100,000 TaskRuns."""


class OwnerRef(Model):
    """The Workflow or the Schedule that a TaskRun belongs to."""

    name: Annotated[ObjectName, Field(description="Name of the object.")]
    uid: Annotated[str, Field(max_length=63, description="uid of the object.")]


class TriggerCall(Model):
    """A trigger with evaluated expressions."""

    class_name: Annotated[ClassName, Field(alias="class", description="Registered class of the trigger.")]
    kwargs: Annotated[str, Field(max_length=constants.KWARGS_MAX, description="Keyword arguments, as JSON text.")] = (
        "{}"
    )
    timeout: Annotated[Duration | None, Field(description="Maximum duration of the wait.")] = None


class Mark(Model):
    """The outcome that a user chose. A marked TaskRun ends in it and runs nothing."""

    state: Annotated[MarkState, Field(description="State in which the TaskRun ends: Succeeded, Skipped or Failed.")]
    because: Annotated[Message, Field(description="Cause, as the user wrote it.")]
    by: Annotated[str | None, Field(max_length=253, description="User who requested it, where known.")] = None
    result: Annotated[JsonText | None, Field(description="Result of the task, as JSON text.")] = None


class TaskRunSpec(Model):
    """What to run. Immutable."""

    workflow: Annotated[OwnerRef | None, Field(description="Workflow of this TaskRun.")] = None
    schedule: Annotated[
        OwnerRef | None,
        Field(description="Schedule of this TaskRun, instead of workflow: it waits for the events of a source."),
    ] = None
    task: Annotated[Identifier, Field(description="Task of the Workflow, or source of the Schedule.")]
    map_index: Annotated[
        int,
        Field(ge=-1, lt=constants.MAP_MAX, description="Index of the instance. Absent if the task is not mapped."),
    ] = constants.UNMAPPED
    group_indexes: Annotated[
        GroupIndexes | None,
        Field(description="Index in each mapped group that contains the task, outermost first."),
    ] = None
    notification: Annotated[
        NotificationOf | None, Field(description="What the TaskRun notifies of. It is no task of the Workflow then.")
    ] = None
    display_name: Annotated[PrintableLine | None, Field(description="Display name of the instance.")] = None
    clears: Annotated[Count, Field(description="Number of clears of the run before this TaskRun was created.")] = 0
    trigger_pool: Annotated[Name, Field(description="Triggerer pool of this TaskRun.")] = constants.DEFAULT_POOL
    pool: Annotated[
        Identifier | None, Field(description="Pool of slots. The TaskRun takes one slot while it holds a pod.")
    ] = None
    queue: Annotated[QueueName | None, Field(description="LocalQueue of Kueue for its pods.")] = None
    image: Annotated[str | None, Field(max_length=512, description="Image of the task's pod.")] = None
    python: Annotated[str | None, Field(max_length=253, description="Function to call: `package.module:function`.")] = (
        None
    )
    runtime: Annotated[
        Runtime | None, Field(description="Image: the image has the runtime. Unset: the operator injects it.")
    ] = None
    source: Annotated[
        CodeSource | None, Field(description="Files that the function can import and that are not in the image.")
    ] = None
    container: Annotated[
        Command | None, Field(description="Program to run in the image, with evaluated expressions.")
    ] = None
    env: Annotated[
        tuple[EnvValue, ...],
        Field(max_length=100, description="Variables of `pod.env` with expressions, evaluated."),
    ] = ()
    pod_values: Annotated[
        tuple[PodValue, ...],
        Field(max_length=64, description="Values of pod fields with expressions, evaluated."),
    ] = ()
    trigger: Annotated[
        TriggerCall | None, Field(description="The wait of a trigger task, or the wait before the first pod.")
    ] = None
    run: Annotated[
        ChildRun | None, Field(description="The run that the operator starts first. `trigger` waits for its end.")
    ] = None
    object_: Annotated[
        ObjectCall | None,
        Field(alias="object", description="Object that the triggerer creates, changes or waits for."),
    ] = None
    result: Annotated[Expression | None, Field(description="CEL over `event`: the result of a trigger task.")] = None
    fail_when: Annotated[Expression | None, Field(description="CEL over `event`: if true, a trigger task fails.")] = (
        None
    )
    service_account: Annotated[
        Name | None, Field(description="ServiceAccount that must be allowed to read the Secrets of the trigger.")
    ] = None
    arguments: Annotated[
        tuple[Argument, ...], Field(max_length=64, description="Keyword arguments of the function.")
    ] = ()
    retries: Annotated[Retries, Field(description="How a failed attempt is retried.")] = Retries()
    timeout: Annotated[Duration | None, Field(description="Maximum duration of an attempt over all its segments.")] = (
        None
    )
    timeout_while_deferred: Annotated[bool, Field(description="Whether deferred time counts toward `timeout`.")] = True
    files: Annotated[RunFiles | None, Field(description="Files that the task reads and writes.")] = None
    mark: Annotated[
        Mark | None, Field(description="Outcome that a user chose. The TaskRun ends in it and runs nothing.")
    ] = None

    def to_json(self) -> dict[str, Any]:
        """The JSON to store. It omits each field of `ABSENT_DEFAULTS` that has its default value."""
        body = super().to_json()
        absent = {name for name, default in ABSENT_DEFAULTS.items() if body.get(name) == default}
        return {name: value for name, value in body.items() if name not in absent}

    @property
    def owner(self) -> OwnerRef:
        """The Workflow or the Schedule. Raises ValueError if the TaskRun names neither."""
        owner = self.workflow or self.schedule
        if owner is None:
            raise ValueError("the TaskRun names neither a Workflow nor a Schedule")
        return owner

    @property
    def holds_slot_deferred(self) -> bool:
        """Whether its deferral causes something elsewhere, and so holds a slot: a run, an object or a request."""
        is_request = self.trigger is not None and self.trigger.class_name == http_task.CLASS_NAME
        return self.run is not None or self.object_ is not None or is_request

    @property
    def group_path(self) -> tuple[int, ...]:
        """Its index in each group, outermost first; empty if its task is in no group."""
        return self.group_indexes or ()

    @property
    def path(self) -> tuple[int, ...]:
        """Its group path, and its own index if it is mapped itself."""
        return self.group_path if self.map_index == constants.UNMAPPED else (*self.group_path, self.map_index)


class TaskRunStatus(Model):
    """State of the TaskRun. Every change is one JSON Patch that tests uid, state, attempt, and segment."""

    state: Annotated[
        State, Field(description="Scheduled, Running, Deferred, UpForRetry, Succeeded, Failed, Skipped or Cancelled.")
    ] = State.SCHEDULED
    attempt: Annotated[int, Field(ge=1, description="Number of the attempt, from 1. A retry adds one.")] = 1
    segment: Annotated[
        int, Field(ge=0, description="Number of the segment within the attempt, from 0. A fired trigger adds one.")
    ] = 0
    launch: Annotated[int, Field(ge=0, description="Number of pods of the segment that were lost to disruptions.")] = 0
    pod: Annotated[PodRef | None, Field(description="Pod of the current segment, after its claim.")] = None
    started_at: Annotated[Moment, Field(description="Time of the first claim of the current attempt.")] = None
    first_started_at: Annotated[
        Moment, Field(description="Time of the first claim of the first attempt. Unset in the first attempt.")
    ] = None
    trigger: Annotated[Waiting | None, Field(description="What a deferred TaskRun waits for.")] = None
    next: Annotated[NextSegment | None, Field(description="Function or method that the resumed pod calls.")] = None
    deferred_at: Annotated[Moment, Field(description="Time of the last deferral.")] = None
    deadline: Annotated[Moment, Field(description="Time at which the wait times out.")] = None
    event: Annotated[
        str | None, Field(max_length=constants.EVENT_MAX, description="Event of the trigger, as JSON text.")
    ] = None
    fired_at: Annotated[Moment, Field(description="Time at which the trigger last fired.")] = None
    timed_out: Annotated[
        bool | None,
        Field(description="Whether the wait timed out and the task goes on in next.onTimeout."),
    ] = None
    deferred_seconds: Annotated[
        float | None, Field(ge=0, description="Seconds that this attempt was deferred, over all finished waits.")
    ] = None
    log: Annotated[PrintableLog | None, Field(description="Last log lines and traceback of a failed trigger.")] = None
    exit_code: Annotated[
        int | None, Field(ge=-(2**31), le=2**31 - 1, description="Exit code of the container of a failed attempt.")
    ] = None
    http_status: Annotated[
        int | None, Field(ge=100, le=999, description="Status of the HTTP response of a failed attempt.")
    ] = None
    exception: Annotated[
        PrintableLine | None,
        Field(description="Class of the Python exception that ended the attempt, such as OSError."),
    ] = None
    result: Annotated[JsonText | None, Field(description="Result of the task, as JSON text.")] = None
    stored: Annotated[
        StoredResult | None, Field(description="Description of a result in the archive, instead of `result`.")
    ] = None
    files: Annotated[
        tuple[StoredFile, ...],
        Field(
            max_length=constants.FILES_MAX,
            description="Outputs in the archive.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    reason: Annotated[ReasonWord | None, Field(description="Why the TaskRun failed or waits: a CamelCase word.")] = None
    message: Annotated[Message | None, Field(description="The reason as a sentence.")] = None
    retry_at: Annotated[Moment, Field(description="Start time of the next attempt, or of this one after a retry.")] = (
        None
    )
    completion_time: Annotated[Moment, Field(description="Time of the terminal state.")] = None
    duration: Annotated[
        str | None,
        Field(max_length=32, description="Time from the creation to the terminal state, such as 2m5s."),
    ] = None
    cancel: Annotated[
        Moment, Field(description="Time at which the operator requested the cancellation of the wait.")
    ] = None
    history: Annotated[
        TaskRunHistory, Field(description="Transitions of the TaskRun in their order, the oldest first.")
    ] = NO_HISTORY
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8, description="`Succeeded` from the end: True or False.", json_schema_extra={"x-key": "type"}
        ),
    ] = ()


class TaskRun(Model):
    """One task instance of a Workflow."""

    metadata: Metadata
    spec: Annotated[TaskRunSpec, Field(description="What to run. Immutable.")]
    status: Annotated[TaskRunStatus, Field(description="Current state.")] = TaskRunStatus()

    def pin(self, *, launch: bool = False) -> Pin:
        """What a writer who saw this object must still find when it writes."""
        status = self.status
        return Pin(
            uid=self.metadata.uid,
            created=self.metadata.creation_timestamp,
            state=status.state,
            attempt=status.attempt,
            segment=status.segment,
            launch=status.launch if launch else None,
            history=status.history,
        )


def parse(body: Any) -> TaskRun:
    """A TaskRun from the API server's JSON. Raises pydantic.ValidationError where a newer writer broke the schema."""
    return TaskRun.model_validate(body)
