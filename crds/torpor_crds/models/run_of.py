"""Where a Workflow comes from: its template, and the event, the tick or the task that started it."""

from typing import Annotated, Any

from pydantic import Field
from torpor_wire import constants
from torpor_wire.enums import RunDeletion, TemplateKind

from torpor_crds.models.argument import JsonText
from torpor_crds.models.base import Count, Duration, Identifier, Model, ObjectName, Time, Value


class TemplateRef(Model):
    """A WorkflowTemplate of the same namespace, or a ClusterWorkflowTemplate."""

    name: Annotated[ObjectName, Field(description="Name of the template.")]
    kind: Annotated[
        TemplateKind | None,
        Field(description="WorkflowTemplate or ClusterWorkflowTemplate. Unset: WorkflowTemplate."),
    ] = None


class BodyRef(Model):
    """The body that a task uses. A text is the name of one in spec.bodies."""

    template: Annotated[
        ObjectName | None,
        Field(description="WorkflowTemplate of the namespace that has the body. Unset: `spec.bodies` has it."),
    ] = None
    cluster_template: Annotated[
        ObjectName | None,
        Field(description="ClusterWorkflowTemplate that has the body, instead of `template`."),
    ] = None
    body: Annotated[
        Identifier | None, Field(description="Name of a body in `bodies`, of the template or of this spec.")
    ] = None
    task: Annotated[
        Identifier | None,
        Field(description="Name of a task of the template, whose fields are taken as those of a body."),
    ] = None
    uid: Annotated[
        str | None, Field(max_length=63, description="uid of the template. Only the operator can set it.")
    ] = None
    generation: Annotated[
        Count | None,
        Field(description="Generation of the template whose fields were taken. Only the operator can set it."),
    ] = None


def parse_body_ref(value: Any) -> Any:
    """The reference of a text: the name of a body of the same spec. Any other value stays."""
    return {"body": value} if isinstance(value, str) else value


class PreviousRun(Model):
    """The run that a Schedule started before this one."""

    name: Annotated[ObjectName, Field(description="Name of the Workflow.")]
    at: Annotated[Time, Field(description="Time of its event.")]
    state: Annotated[
        str | None, Field(max_length=20, description="Its state when this run was created, such as Succeeded.")
    ] = None
    result: Annotated[
        JsonText | None, Field(description="Its result (spec.result) then, as JSON text. Unset also for a large one.")
    ] = None


class RunOf(Model):
    """The event that started a run. Only the operator can set it. Expressions read it as `run`."""

    schedule: Annotated[ObjectName, Field(description="Name of the Schedule.")]
    uid: Annotated[str, Field(max_length=63, description="uid of the Schedule.")]
    source: Annotated[
        Identifier | None,
        Field(description="Source of the event. Unset for several sources (`allOf`) and for `torpor schedule run`."),
    ] = None
    at: Annotated[
        Time, Field(description="Time of the event: the tick of a cron source, otherwise when its trigger fired.")
    ]
    event: Annotated[
        str | None,
        Field(
            max_length=constants.EVENT_MAX * 21,
            description="The event, as JSON text. With `allOf`, an object of the events by source.",
        ),
    ] = None
    attempt: Annotated[
        Count | None, Field(description="Attempt of the source's TaskRun that fired. Unset for a tick.")
    ] = None
    segment: Annotated[
        Count | None, Field(description="Segment of the source's TaskRun that fired. Unset for a tick.")
    ] = None
    backfill: Annotated[ObjectName | None, Field(description="Name of the Backfill that created the run.")] = None
    previous: Annotated[PreviousRun | None, Field(description="The run that the Schedule started before.")] = None


class RunCall(Model):
    """A run of a WorkflowTemplate as a task. By default, the task ends as the run ends, with the result of the run."""

    template_ref: Annotated[TemplateRef, Field(description="Template of the run, of the namespace or of the cluster.")]
    params: Annotated[
        dict[str, Value],
        Field(
            max_length=64,
            description="Params of the run. Strings may contain `${...}` expressions. In a mapped task, the items are "
            "further params by name.",
        ),
    ] = Field(default_factory=dict)
    timeout: Annotated[
        Duration | None,
        Field(description="Maximum duration of the run, such as 6h. The run is cancelled afterwards."),
    ] = None
    name: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=512,
            description="Name of the run, with `${...}` expressions. The run of a later attempt has the number of the "
            "attempt behind it, such as load-2. If another Workflow has the name, the task fails with RunNameTaken. "
            "Unset: a name that derives from the TaskRun and its attempt.",
        ),
    ] = None
    wait: Annotated[
        bool | None,
        Field(
            description="Whether the task waits for the end of the run. If false, the task succeeds when the run "
            "exists, with the result `{name, uid}`, and nothing that happens to the task concerns the run. Unset: true."
        ),
    ] = None
    deletion_policy: Annotated[
        RunDeletion | None,
        Field(
            description="What happens to the run when its task is cleared, or the outer run is deleted: Delete, or "
            "Retain. A retained run that has not ended is cancelled. Unset: Delete."
        ),
    ] = None


class ChildRun(Model):
    """The run that a TaskRun starts, with evaluated expressions."""

    template: Annotated[ObjectName, Field(description="Template of the run.")]
    kind: Annotated[TemplateKind | None, Field(description="Kind of the template. Unset: WorkflowTemplate.")] = None
    params: Annotated[JsonText, Field(description="Params of the run, as JSON text.")] = "{}"
    depth: Annotated[Count, Field(description="Number of runs that contain the run.")] = 1
    root: Annotated[str, Field(max_length=63, description="uid of the outermost Workflow.")]
    name: Annotated[
        ObjectName | None, Field(description="Name that the author chose for the run of the first attempt.")
    ] = None
    wait: Annotated[bool | None, Field(description="Whether the task waits for the end of the run. Unset: true.")] = (
        None
    )
    deletion_policy: Annotated[
        RunDeletion | None, Field(description="What happens to the run when the TaskRun is deleted. Unset: Delete.")
    ] = None

    @property
    def waits(self) -> bool:
        """Whether the task ends with the run."""
        return self.wait is not False

    @property
    def is_owned(self) -> bool:
        """Whether the run is deleted with its TaskRun."""
        return self.waits and self.deletion_policy is not RunDeletion.RETAIN


class ParentRun(Model):
    """The task that started a run. Only the operator can set it."""

    workflow: Annotated[ObjectName, Field(description="Workflow of the task.")]
    task_run: Annotated[ObjectName, Field(description="TaskRun of the task.")]
    uid: Annotated[
        str,
        Field(
            max_length=63,
            description="uid of the TaskRun. Until the TaskRun is created again, the uid of the outer Workflow.",
        ),
    ]
    attempt: Annotated[Count, Field(description="Attempt of the TaskRun that waits for the run.")] = 1
    clears: Annotated[Count, Field(description="Clears of the run when the task began to wait for it.")] = 0
    depth: Annotated[Count, Field(description="Number of runs that contain this one.")]
    root: Annotated[str, Field(max_length=63, description="uid of the outermost Workflow.")]
