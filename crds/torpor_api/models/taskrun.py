"""TaskRun: one task instance, created when its turn comes, and its whole state machine in `status`.

The field descriptions are what `kubectl explain taskrun` prints. Values that must come back unchanged are JSON text,
since the API server sorts keys, turns 1.0 into 1 and drops nulls.
"""

from typing import Annotated, Any, Literal

from pydantic import Field
from torpor_wire import constants
from torpor_wire.state import State
from torpor_wire.transitions import Pin

from torpor_api.models.base import (
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
    ReasonWord,
    Retries,
)
from torpor_api.models.deferral import Waiting
from torpor_api.models.pod_fields import EnvValue
from torpor_api.models.segment import PodRef, Resume
from torpor_api.models.stored_result import StoredResult

JsonText = Annotated[str, Field(max_length=constants.RESULT_MAX)]


class WorkflowRef(Model):
    """The Workflow a TaskRun belongs to."""

    name: Annotated[ObjectName, Field(description="Name of the Workflow.")]
    uid: Annotated[str, Field(max_length=63, description="uid of the Workflow.")]


GroupIndexes = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=constants.MAP_MAX)], ...], Field(max_length=constants.GROUP_DEPTH)
]


class ArgumentSource(Model):
    """A result too large to copy: the worker reads it from the TaskRuns of another task."""

    task: Annotated[Identifier, Field(description="The task whose result is meant.")]
    field: Annotated[
        Literal["result", "results"],
        Field(description="`result` of one TaskRun, or `results` of mapped ones, in the order of their index."),
    ]
    group_indexes: Annotated[
        GroupIndexes | None,
        Field(description="In which index of each mapped group, outermost first, it is to be found."),
    ] = None
    index: Annotated[
        int | None,
        Field(
            ge=-1,
            description="Whose `result`: the instance's position, unset or -1 where the task is not mapped. "
            "Of `results`: the position of the first; unset: 0.",
        ),
    ] = None
    count: Annotated[
        Count, Field(description="How many instances `results` has, those skipped or failed included.")
    ] = 1
    paths: Annotated[
        str | None,
        Field(
            max_length=constants.RANGES_MAX,
            description="Which instances `results` has where they are of several indexes of groups, below "
            "`groupIndexes`: 0-3 or 0-3.0-9. Then `index` and `count` mean nothing.",
        ),
    ] = None
    mapped: Annotated[
        bool | None, Field(description="Whether the last number of `paths` is the task's own index, not its group's.")
    ] = None
    missing: Annotated[
        str | None,
        Field(
            max_length=constants.MISSING_MAX,
            description="Which of `results` are not there, as ranges of positions (`2,7-9`) or of `paths`, empty where "
            "none is; unset: not known here, and the worker looks.",
        ),
    ] = None
    item: Annotated[
        Count | None,
        Field(
            description="Only this one of it, from 0: an item of a list, or `[key, value]` of an object in its order."
        ),
    ] = None


class Argument(Model):
    """One keyword argument of the task's function."""

    name: Annotated[Identifier, Field(description="Name of the parameter.")]
    value: Annotated[JsonText | None, Field(description="The value, as JSON text.")] = None
    source: Annotated[ArgumentSource | None, Field(alias="from", description="Where the worker reads the value.")] = (
        None
    )
    map: Annotated[
        str | None,
        Field(
            max_length=253,
            description="`package.module:function` of the image, called with the value; what it "
            "returns is passed instead.",
        ),
    ] = None


class Command(Model):
    """What a container task runs; Kubernetes replaces `$(name)` of environment variables in it."""

    command: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(max_length=64, description="Instead of the image's entrypoint."),
    ] = ()
    args: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(max_length=64, description="Instead of the image's arguments."),
    ] = ()


class TriggerCall(Model):
    """A trigger as the workflow asks for it, its expressions evaluated."""

    class_name: Annotated[ClassName, Field(alias="class", description="Registered class of the trigger.")]
    kwargs: Annotated[str, Field(max_length=constants.KWARGS_MAX, description="Keyword arguments, as JSON text.")] = (
        "{}"
    )
    timeout: Annotated[Duration | None, Field(description="How long the wait may last.")] = None


class TaskRunSpec(Model):
    """What to run. Immutable."""

    workflow: Annotated[WorkflowRef, Field(description="The Workflow this is a part of.")]
    task: Annotated[Identifier, Field(description="The task of the Workflow that this is an instance of.")]
    map_index: Annotated[
        int,
        Field(ge=-1, lt=constants.MAP_MAX, description="Position in the task's expansion; -1 for a task not mapped."),
    ] = constants.UNMAPPED
    group_indexes: Annotated[
        GroupIndexes | None,
        Field(description="Which index of each mapped group that its task stands in, outermost first."),
    ] = None
    display_name: Annotated[PrintableLine | None, Field(description="What people call this instance.")] = None
    clears: Annotated[Count, Field(description="How often its run had been cleared when this was made.")] = 0
    trigger_pool: Annotated[Name, Field(description="Which triggerers serve this TaskRun's waits.")] = (
        constants.DEFAULT_POOL
    )
    pool: Annotated[Identifier | None, Field(description="The pool whose slot it takes while it holds a pod.")] = None
    image: Annotated[str | None, Field(max_length=512, description="Image of the task's pod.")] = None
    python: Annotated[
        str | None, Field(max_length=253, description="The function to call: `package.module:function`.")
    ] = None
    container: Annotated[
        Command | None, Field(description="The program to run in the image, its expressions evaluated.")
    ] = None
    env: Annotated[
        tuple[EnvValue, ...],
        Field(max_length=100, description="The variables of `pod.env` whose values hold expressions, evaluated."),
    ] = ()
    trigger: Annotated[
        TriggerCall | None, Field(description="The wait that is this task, or that comes before its first pod.")
    ] = None
    result: Annotated[
        Expression | None, Field(description="CEL over `event`: the result of a task that is only a wait.")
    ] = None
    fail_when: Annotated[
        Expression | None, Field(description="CEL over `event`: where true, a task that is only a wait fails.")
    ] = None
    service_account: Annotated[
        Name | None, Field(description="Who must be allowed to read the secrets that its trigger refers to.")
    ] = None
    arguments: Annotated[
        tuple[Argument, ...], Field(max_length=64, description="Keyword arguments of the function.")
    ] = ()
    retries: Annotated[Retries, Field(description="How a failed attempt is tried again.")] = Retries()
    timeout: Annotated[Duration | None, Field(description="Total time an attempt may take over all its segments.")] = (
        None
    )
    timeout_while_deferred: Annotated[
        bool, Field(description="Whether the time spent deferred counts in `timeout`.")
    ] = True

    @property
    def frame(self) -> tuple[int, ...]:
        """Its index in each group, outermost first; empty where its task stands in none."""
        return self.group_indexes or ()

    @property
    def path(self) -> tuple[int, ...]:
        """Its frame, and its own index where it is mapped itself."""
        return self.frame if self.map_index == constants.UNMAPPED else (*self.frame, self.map_index)


class TaskRunStatus(Model):
    """Where it stands. Every change is one JSON Patch that tests uid, state, attempt, segment (and launch)."""

    state: Annotated[
        State, Field(description="Scheduled, Running, Deferred, UpForRetry, Succeeded, Failed, Skipped or Cancelled.")
    ] = State.SCHEDULED
    attempt: Annotated[int, Field(ge=1, description="Counts tries, from 1; a retry adds one.")] = 1
    segment: Annotated[int, Field(ge=0, description="Counts resumes within the attempt, from 0; a fire adds one.")] = 0
    launch: Annotated[int, Field(ge=0, description="Counts pods of the segment lost to disruption, from 0.")] = 0
    pod: Annotated[PodRef | None, Field(description="The pod of the present segment, once it has claimed it.")] = None
    started_at: Annotated[Moment, Field(description="First claim of the present attempt.")] = None
    first_started_at: Annotated[
        Moment, Field(description="First claim of the first attempt; unset until there is a second one.")
    ] = None
    trigger: Annotated[Waiting | None, Field(description="What a deferred TaskRun waits for.")] = None
    next: Annotated[Resume | None, Field(description="Where the resumed pod enters.")] = None
    deferred_at: Annotated[Moment, Field(description="When it last deferred.")] = None
    deadline: Annotated[Moment, Field(description="When the wait has lasted too long.")] = None
    event: Annotated[
        str | None, Field(max_length=constants.EVENT_MAX, description="The event that fired, as JSON text.")
    ] = None
    fired_at: Annotated[Moment, Field(description="When the trigger last fired.")] = None
    timed_out: Annotated[
        bool | None,
        Field(description="The wait took too long, and its task goes on in next.onTimeout without an event."),
    ] = None
    deferred_seconds: Annotated[
        float | None, Field(ge=0, description="How long this attempt was deferred, over all its waits that are over.")
    ] = None
    log: Annotated[
        PrintableLog | None, Field(description="The last lines of a failed trigger's log, and its traceback.")
    ] = None
    result: Annotated[JsonText | None, Field(description="What the task returned, as JSON text.")] = None
    stored: Annotated[
        StoredResult | None, Field(description="Instead of `result`: what the task returned stands in the archive.")
    ] = None
    reason: Annotated[ReasonWord | None, Field(description="Why it failed or does not move: one CamelCase word.")] = (
        None
    )
    message: Annotated[Message | None, Field(description="The reason, as a sentence.")] = None
    retry_at: Annotated[Moment, Field(description="When the next attempt starts, or when this one did.")] = None
    completion_time: Annotated[Moment, Field(description="When a terminal state was reached.")] = None
    cancel: Annotated[Moment, Field(description="Since when the wait is asked to end; its triggerer answers.")] = None
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8, description="`Succeeded`: Unknown, then True or False.", json_schema_extra={"x-key": "type"}
        ),
    ] = ()


class TaskRun(Model):
    """One task instance of a Workflow: `kubectl get taskruns` shows what runs and what waits for what."""

    metadata: Metadata
    spec: Annotated[TaskRunSpec, Field(description="What to run. Immutable.")]
    status: Annotated[TaskRunStatus, Field(description="Where it stands.")] = TaskRunStatus()

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
        )


def parse(body: Any) -> TaskRun:
    """A TaskRun from the API server's JSON. Raises pydantic.ValidationError where a newer writer broke the schema."""
    return TaskRun.model_validate(body)
