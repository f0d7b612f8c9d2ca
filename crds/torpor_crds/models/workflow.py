"""Workflow: one run of a graph of tasks, as its author writes it.

The field descriptions are what `kubectl explain workflow.spec.tasks` prints: they teach the language.
"""

from typing import Annotated, Any

from pydantic import Field, PrivateAttr
from torpor_wire import constants
from torpor_wire.enums import LogMode, Runtime
from torpor_wire.state import TaskState

from torpor_crds.models.archive import StoredRunResult
from torpor_crds.models.argument import JsonText, MappedGroup
from torpor_crds.models.base import (
    Condition,
    Count,
    Duration,
    Expression,
    Identifier,
    Metadata,
    Model,
    Moment,
    Name,
    ObjectName,
    QueueName,
    ReasonWord,
    Value,
)
from torpor_crds.models.defaults import TaskDefaults, with_defaults
from torpor_crds.models.history import Clearing, Ranges, WorkflowHistoryEntry
from torpor_crds.models.metrics import MetricList
from torpor_crds.models.notify import NotificationList, NotifyList, by_name
from torpor_crds.models.program import CodeSource
from torpor_crds.models.run_of import ParentRun, RunOf, TemplateRef
from torpor_crds.models.task import Task
from torpor_crds.models.volume_claim import VolumeClaim


class WorkflowSpec(Model):
    """What to run. Only suspend, stop, cancel, parallelism, image, params, and image and pod of tasks may change."""

    template_ref: Annotated[
        TemplateRef | None,
        Field(description="Template of the run. The operator copies its spec when the run starts."),
    ] = None
    run_of: Annotated[
        RunOf | None,
        Field(description="The event of a Schedule that started the run. Only the operator can set it."),
    ] = None
    parent: Annotated[
        ParentRun | None,
        Field(description="The task of another run that started the run. Only the operator can set it."),
    ] = None
    params: Annotated[
        dict[str, Value],
        Field(max_length=64, description="Parameters of the run. Expressions read them as `params.name`."),
    ] = Field(default_factory=dict)
    image: Annotated[
        str | None,
        Field(
            max_length=512,
            description="Default image of tasks with a pod. For python tasks, an image with Python 3.11 or later.",
        ),
    ] = None
    runtime: Annotated[
        Runtime | None,
        Field(
            description="Runtime of python tasks. Inject: the operator mounts it at /torpor. Image: the image has it, "
            "since it is built FROM the worker image. Unset: Inject."
        ),
    ] = None
    source: Annotated[
        CodeSource | None,
        Field(
            description="Files that python tasks can import and that are not in their image. They are mounted at "
            "/torpor-source, which comes first in sys.path."
        ),
    ] = None
    parallelism: Annotated[
        int, Field(ge=1, le=10_000, description="Maximum number of tasks that hold a pod at the same time.")
    ] = 50
    max_map_size: Annotated[
        int | None,
        Field(
            ge=1,
            le=constants.MAP_MAX,
            description="Maximum number of instances of one task. Unset: the setting of the operator.",
        ),
    ] = None
    variables_from: Annotated[
        ObjectName | None,
        Field(description="Name of a ConfigMap in the namespace. Expressions read its values as `variables.name`."),
    ] = None
    count_deferred: Annotated[bool, Field(description="Whether deferred tasks count toward `parallelism`.")] = False
    deferrable: Annotated[
        bool | None,
        Field(description="Whether sensors release their pods while they wait. Unset: the setting of the operator."),
    ] = None
    timeout: Annotated[
        Duration | None,
        Field(description="Maximum duration of the run, which is then cancelled. A clear grants the time again."),
    ] = None
    ttl_after_finished: Annotated[
        Duration | None, Field(description="How long a finished run is kept. Unset: forever.")
    ] = None
    pods_ttl: Annotated[
        Duration | None,
        Field(
            alias="podsTTL",
            description="How long an ended pod and its log are kept. Unset: the setting of the operator, a day by "
            "default.",
        ),
    ] = None
    logs: Annotated[
        LogMode | None,
        Field(
            description="Which logs of pods and waits the archive keeps: all, only of those that failed (failed), or "
            "none. Unset: all."
        ),
    ] = None
    defaults: Annotated[
        TaskDefaults | None,
        Field(
            description="Defaults of all tasks, merged with the fields of each one. When the run starts, the operator "
            "adds those of the namespace, in its annotation torpor.dev/defaults, and of the installation."
        ),
    ] = None
    bodies: Annotated[
        dict[str, dict[str, Any]],
        Field(
            max_length=constants.BODIES_MAX,
            description="Bodies that tasks use by name, in `use`: fields of a task that say how it runs. The order is "
            "the task, its body, `defaults`, the namespace, and the installation.",
        ),
    ] = Field(default_factory=dict)
    notify: NotifyList = ()
    queue: Annotated[
        QueueName | None,
        Field(
            description="LocalQueue of Kueue for pods of tasks that set none. Kueue must be installed: it holds a pod "
            "until the queue has quota."
        ),
    ] = None
    volume_claims: Annotated[
        tuple[VolumeClaim, ...],
        Field(
            max_length=10,
            description="Volumes of the run, which the operator creates before the first pod that mounts them.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    result: Annotated[
        Expression | None,
        Field(
            description="CEL: the result of the run, such as `tasks.report.result`, evaluated when all tasks have "
            "ended and none failed the run. A failed evaluation fails the run."
        ),
    ] = None
    metrics: MetricList = ()
    trigger_pool: Annotated[Name, Field(description="Triggerer pool of the run.")] = constants.DEFAULT_POOL
    suspend: Annotated[bool, Field(description="Starts no further tasks. Running tasks go on.")] = False
    stop: Annotated[bool, Field(description="Ends the run: cancels tasks and waits, then runs the hooks.")] = False
    cancel: Annotated[bool, Field(description="Ends the run as stop does, but runs no hooks.")] = False
    groups: Annotated[
        tuple[MappedGroup, ...],
        Field(
            max_length=20,
            description="Groups of tasks that are mapped together. A task names its group in `group`.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    tasks: Annotated[
        tuple[Task, ...],
        Field(
            max_length=500,
            description="Tasks of the graph. Unset with templateRef, until the operator copies the template.",
            json_schema_extra={"x-key": "name", "minItems": 1},
        ),
    ] = ()
    _written_tasks: tuple[Task, ...] = PrivateAttr(())

    @property
    def written_tasks(self) -> tuple[Task, ...]:
        """The tasks without the defaults of the spec, which are below those of a body."""
        return self._written_tasks or self.tasks


class TaskStatus(Model):
    """Counts of the instances of one task."""

    name: Annotated[Identifier, Field(description="Name of the task.")]
    state: Annotated[TaskState, Field(description="State of the task over all its instances.")]
    total: Annotated[Count, Field(description="Number of instances that the task will have.")] = 0
    instances: Annotated[
        Ranges | None,
        Field(
            description="For a task in a group, the instances as ranges of group indexes and own indexes. 0-3.0-9 are "
            "ten instances in each of four groups. `made` and `skips` have the same form."
        ),
    ] = None
    created: Annotated[Count, Field(description="Number of created instances. None of them is created again.")] = 0
    made: Annotated[
        Ranges | None,
        Field(
            description="Created instances, such as 0-3,7. Unset: the first `created`, or in a group all of `instances`"
            " without `skips`. An instance whose TaskRun is missing was deleted."
        ),
    ] = None
    skipped: Annotated[Count, Field(description="Number of instances that `when` skipped or that ended Skipped.")] = 0
    skips: Annotated[Ranges | None, Field(description="Instances that `when` skipped, such as 4-6.")] = None
    removed: Annotated[
        Count, Field(description="Number of instances that a clear removed because the new list is shorter.")
    ] = 0
    active: Annotated[Count, Field(description="Number of instances in state Scheduled, Running or UpForRetry.")] = 0
    deferred: Annotated[Count, Field(description="Number of deferred instances.")] = 0
    succeeded: Annotated[Count, Field(description="Number of succeeded instances.")] = 0
    failed: Annotated[Count, Field(description="Number of failed, cancelled or deleted instances.")] = 0
    reason: Annotated[ReasonWord | None, Field(description="Why the task failed or was skipped.")] = None
    message: Annotated[str | None, Field(max_length=1024, description="The reason as a sentence.")] = None


class WorkflowStatus(Model):
    """State of the run."""

    observed_generation: Annotated[
        int, Field(ge=0, description="Generation of the spec that this status describes.")
    ] = 0
    state: Annotated[
        str | None,
        Field(
            max_length=20,
            description="Pending (the template does not exist), Running, Suspended, Cancelling, Finishing (hooks run), "
            "Succeeded, or Failed.",
        ),
    ] = None
    progress: Annotated[str | None, Field(max_length=40, description="Ended instances of the known instances.")] = None
    start_time: Annotated[
        Moment, Field(description="Time at which the operator first saw the run. A clear does not change it.")
    ] = None
    reopened_time: Annotated[
        Moment,
        Field(description="Time of the last clear after the end of the run. spec.timeout then counts from here."),
    ] = None
    completion_time: Annotated[Moment, Field(description="Time at which the last task ended.")] = None
    tasks: Annotated[
        tuple[TaskStatus, ...],
        Field(max_length=500, description="Counts for each task.", json_schema_extra={"x-key": "name"}),
    ] = ()
    result: Annotated[JsonText | None, Field(description="Result of the run, as JSON text.")] = None
    stored: Annotated[
        StoredRunResult | None,
        Field(description="Description of a result in the archive, instead of `result`."),
    ] = None
    clears: Annotated[Count, Field(description="Number of clears of the run.")] = 0
    clearing: Annotated[Clearing | None, Field(description="The clear in progress.")] = None
    history: Annotated[
        tuple[WorkflowHistoryEntry, ...],
        Field(
            max_length=constants.HISTORY_MAX,
            description="Changes of the run, the oldest first, with the user who requested each.",
        ),
    ] = ()
    notifications: NotificationList = ()
    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8,
            description="Succeeded, Reconciling, Stalled, and Archived.",
            json_schema_extra={"x-key": "type"},
        ),
    ] = ()


class Workflow(Model):
    """One run of a graph of tasks. A task that waits holds no pod."""

    metadata: Metadata
    spec: Annotated[WorkflowSpec, Field(description="What to run. Some fields may change: docs/reference/fields.md.")]
    status: Annotated[WorkflowStatus, Field(description="State of the run.")] = WorkflowStatus()


def parse(body: Any, former: Workflow | None = None) -> Workflow:
    """A Workflow from JSON, with defaults in its tasks. An unchanged spec is that of `former`."""
    if former is not None and former.metadata.is_of_generation(body["metadata"]):
        return Workflow.model_validate({**body, "spec": {}}).model_copy(update={"spec": former.spec})
    workflow = Workflow.model_validate(body)
    spec, defaults = workflow.spec, workflow.spec.defaults
    if defaults is None:
        return workflow
    fields: dict[str, Any] = {"image": spec.image or defaults.image, "logs": spec.logs or defaults.logs}
    fields["notify"] = by_name(spec.notify, defaults.notify)
    completed = spec.model_copy(update=fields | {"tasks": with_defaults(spec.tasks, defaults)})
    if any(task.use is not None for task in spec.tasks):
        completed._written_tasks = spec.tasks  # noqa: SLF001 - of a model of this module
    return workflow.model_copy(update={"spec": completed})
