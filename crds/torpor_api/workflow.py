"""Workflow: one run of a graph of tasks, as its author writes it.

The field descriptions are what `kubectl explain workflow.spec.tasks` prints: they teach the language.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field
from torpor_wire import keys

from torpor_api.podspec import PodFields
from torpor_api.schema import Condition, Count, Duration, Expression, Identifier, Metadata, Model, Moment, Name
from torpor_api.taskrun import Command, Retries

Value = Annotated[Any, Field(json_schema_extra={"x-any": True})]


class Rule(StrEnum):
    """Which outcomes of the tasks before it let a task run (Airflow's trigger rules)."""

    ALL_SUCCESS = "all_success"
    ALL_DONE = "all_done"


class Hook(StrEnum):
    """Which ends of a run a hook follows."""

    SUCCESS = "success"
    FAILURE = "failure"
    END = "end"


class TriggerTask(Model):
    """A wait as a task: it goes straight to the triggerer and never has a pod."""

    class_name: Annotated[
        str,
        Field(
            alias="class",
            max_length=253,
            description="time (at), duration (duration), http (url, ...), kubernetes (api_version, kind, ...), or "
            "a class registered with the triggerer; docs/triggers.md has each one's arguments.",
        ),
    ]
    kwargs: Annotated[
        dict[str, Value],
        Field(max_length=64, description="Arguments of the trigger; strings may hold `${...}` expressions."),
    ] = Field(default_factory=dict)
    timeout: Annotated[Duration | None, Field(description="How long the wait may last: 30s, 6h, 7d.")] = None


class Expansion(Model):
    """One name over one list: an instance of the task for each item (AIP-42's expand)."""

    name: Annotated[Identifier, Field(description="Argument that takes one item in each instance.")]
    over: Annotated[
        Value, Field(description="A list, or one `${...}` expression that yields one, such as `${tasks.list.result}`.")
    ]


class Task(Model):
    """A task: a Python function in a pod, a container, or a trigger without a pod."""

    name: Annotated[Identifier, Field(description="Lower-case identifier, unique in the Workflow.")]
    after: Annotated[
        tuple[Identifier, ...],
        Field(max_length=100, description="Tasks that come first. A reference to `tasks.x` in an expression adds x."),
    ] = ()
    python: Annotated[
        str | None,
        Field(
            max_length=253,
            pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$",
            description="The function, or operator class, to run in a pod: `package.module:name`.",
        ),
    ] = None
    container: Annotated[
        Command | None,
        Field(
            description="Any program of the task's `image` instead of a function. `args` arrive as environment "
            "variables (strings as they are, others as JSON); the result is what it writes to /dev/termination-log, as "
            "JSON if it is JSON, else as a string."
        ),
    ] = None
    trigger: Annotated[
        TriggerTask | None,
        Field(
            description="A wait; it needs no pod. Beside `python` it comes first, and the function is called with "
            "`event` when it has fired."
        ),
    ] = None
    result: Annotated[
        Expression | None,
        Field(description="CEL over `event` and `params`: the result of a task that is only a wait, else the event."),
    ] = None
    fail_when: Annotated[
        Expression | None,
        Field(description="CEL over `event` and `params`: where true, a task that is only a wait fails by its event."),
    ] = None
    trigger_pool: Annotated[
        Name | None, Field(description="Which triggerers serve this task's waits, instead of spec.triggerPool.")
    ] = None
    hook: Annotated[
        Hook | None,
        Field(
            description="Runs when every other task has ended: success, failure (also by a timeout), or end, which is "
            "either. Expressions see `run.state`, `run.reason`, `run.message`, `run.name`. It changes nothing of how "
            "the run ended."
        ),
    ] = None
    image: Annotated[str | None, Field(max_length=512, description="Image of this task, instead of spec.image.")] = None
    args: Annotated[
        dict[str, Value],
        Field(
            max_length=64,
            description="Keyword arguments. Strings may hold `${...}`: CEL over `params`, `tasks.x.result`, "
            "`tasks.x.results` of a task with expand; a string that is one expression keeps its type, `$${` is a "
            "literal `${`.",
        ),
    ] = Field(default_factory=dict)
    expand: Annotated[
        tuple[Expansion, ...], Field(max_length=1, description="Run once for each item of a list known at run time.")
    ] = ()
    when: Annotated[
        Expression | None,
        Field(description="CEL, such as `size(tasks.list.result) > 0`; the task is skipped where it is false."),
    ] = None
    rule: Annotated[
        Rule,
        Field(description="all_success: every task before it succeeded; all_done: every one ended, however it did."),
    ] = Rule.ALL_SUCCESS
    retries: Annotated[Retries, Field(description="How a failed attempt is tried again.")] = Retries()
    timeout: Annotated[Duration | None, Field(description="Total time an attempt may take over all its segments.")] = (
        None
    )
    timeout_while_deferred: Annotated[
        bool, Field(description="Whether the time spent deferred counts in `timeout`, as in Airflow.")
    ] = True
    pod: Annotated[PodFields | None, Field(description="The fields of the task's pod that are yours to set.")] = None


class WorkflowSpec(Model):
    """What to run. Immutable but for suspend, cancel and parallelism."""

    params: Annotated[
        dict[str, Value], Field(max_length=64, description="Values that expressions read as `params.name`.")
    ] = Field(default_factory=dict)
    image: Annotated[
        str | None, Field(max_length=512, description="Image of python tasks: built FROM Torpor's worker image.")
    ] = None
    parallelism: Annotated[int, Field(ge=1, le=10_000, description="How many tasks hold a pod at a time.")] = 50
    count_deferred: Annotated[
        bool, Field(description="Whether a deferred task counts in `parallelism` though it holds no pod.")
    ] = False
    deferrable: Annotated[
        bool | None,
        Field(description="Whether sensors give their pod back while they wait; unset: as the installation has it."),
    ] = None
    timeout: Annotated[Duration | None, Field(description="How long the run may take; then it is cancelled.")] = None
    ttl_after_finished: Annotated[
        Duration | None, Field(description="How long a finished run is kept; forever if unset.")
    ] = None
    trigger_pool: Annotated[Name, Field(description="Which triggerers serve the waits of this run.")] = (
        keys.DEFAULT_POOL
    )
    suspend: Annotated[bool, Field(description="Start nothing new; what runs goes on.")] = False
    cancel: Annotated[bool, Field(description="End the run: pods are stopped, waits are killed.")] = False
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


class TaskStatus(Model):
    """One task: counts of its instances, never a list of them."""

    name: Annotated[Identifier, Field(description="The task.")]
    state: Annotated[TaskState, Field(description="Where the task stands, its instances taken together.")]
    total: Annotated[Count, Field(description="How many instances there are to be.")] = 0
    created: Annotated[Count, Field(description="High-water mark: how many instances have been created, in order.")] = 0
    active: Annotated[Count, Field(description="Scheduled, Running or UpForRetry.")] = 0
    deferred: Annotated[Count, Field(description="Waiting without a pod.")] = 0
    succeeded: Annotated[Count, Field(description="Ended well.")] = 0
    failed: Annotated[Count, Field(description="Failed, Cancelled or deleted.")] = 0
    reason: Annotated[Name | None, Field(description="Why the task failed or was skipped.")] = None
    message: Annotated[str | None, Field(max_length=1024, description="The reason, as a sentence.")] = None


class ClearedTask(Model):
    """A task whose TaskRuns are made anew."""

    name: Annotated[Identifier, Field(description="The task.")]
    indexes: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...] | None,
        Field(max_length=100_000, description="Which instances; unset: all, and their number is found out again."),
    ] = None


class Clearing(Model):
    """What somebody asked to have run again, until it has been made anew."""

    asked: Annotated[str, Field(max_length=keys.CLEAR_MAX, description="The text of the annotation torpor.dev/clear.")]
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
    start_time: Annotated[Moment, Field(description="When the operator first saw it.")] = None
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
    spec: Annotated[WorkflowSpec, Field(description="What to run. Immutable but for suspend, cancel and parallelism.")]
    status: Annotated[WorkflowStatus, Field(description="How the run goes.")] = WorkflowStatus()


def parse(body: Any) -> Workflow:
    """A Workflow from the API server's JSON. Raises pydantic.ValidationError for what the schema does not allow."""
    return Workflow.model_validate(body)
