"""WorkflowTemplate and ClusterWorkflowTemplate: a Workflow with typed parameters, from which runs are created."""

from typing import Annotated, Any

from pydantic import Field
from torpor_wire.enums import LabelOperator, ParameterType

from torpor_crds.models.base import Identifier, Metadata, Model, Name, Value
from torpor_crds.models.workflow import WorkflowSpec


class Parameter(Model):
    """A parameter of a WorkflowTemplate."""

    name: Annotated[Identifier, Field(description="Name of the parameter. Expressions read it as `params.name`.")]
    type: Annotated[
        ParameterType,
        Field(description="Type of the value: string, integer, number, boolean, array or object."),
    ] = ParameterType.STRING
    description: Annotated[str | None, Field(max_length=1024, description="What the parameter means.")] = None
    required: Annotated[
        bool, Field(description="Whether a run must set it. A parameter with a default is optional.")
    ] = False
    default: Annotated[Value, Field(description="Value of a run that does not set it.")] = None
    enum: Annotated[
        tuple[Value, ...] | None, Field(max_length=100, description="The allowed values. Unset: any value of the type.")
    ] = None
    pattern: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=256,
            description="Regular expression (RE2) that a whole string must match, such as [a-z]+-[0-9]+.",
        ),
    ] = None


class WorkflowTemplateSpec(Model):
    """What a run of the template consists of."""

    description: Annotated[str | None, Field(max_length=4096, description="What the workflow does.")] = None
    params: Annotated[
        tuple[Parameter, ...],
        Field(max_length=64, description="Parameters that a run may or must set.", json_schema_extra={"x-key": "name"}),
    ] = ()
    workflow: Annotated[
        WorkflowSpec,
        Field(description="Spec of the Workflow. Values in its params are constants, which a run cannot set."),
    ]


class WorkflowTemplate(Model):
    """A workflow with typed parameters. A run copies it when it starts, so later edits do not change that run."""

    metadata: Metadata
    spec: Annotated[WorkflowTemplateSpec, Field(description="What a run of the template consists of.")]


class LabelRequirement(Model):
    """A condition on one label."""

    key: Annotated[str, Field(min_length=1, max_length=317, description="Name of the label.")]
    operator: Annotated[LabelOperator, Field(description="In, NotIn, Exists or DoesNotExist.")]
    values: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        Field(max_length=50, description="Values for In and NotIn."),
    ] = ()


class NamespaceSelector(Model):
    """A selector of namespaces by their labels. All conditions must hold. An empty one selects all namespaces."""

    match_labels: Annotated[
        dict[str, Annotated[str, Field(max_length=63)]],
        Field(max_length=20, description="Labels that a namespace must have, with their values."),
    ] = Field(default_factory=dict)
    match_expressions: Annotated[
        tuple[LabelRequirement, ...], Field(max_length=20, description="Conditions on labels.")
    ] = ()


class AllowedNamespaces(Model):
    """Namespaces whose Workflows may use a template: those with one of the names, and those that are selected."""

    names: Annotated[tuple[Name, ...], Field(max_length=500, description="Names of namespaces.")] = ()
    selector: Annotated[
        NamespaceSelector | None,
        Field(description="Labels of namespaces, as administrators set them. `{}` selects all namespaces."),
    ] = None


class ClusterWorkflowTemplateSpec(WorkflowTemplateSpec):
    """What a run of the template consists of, and in which namespaces it may run."""

    allowed_namespaces: Annotated[
        AllowedNamespaces,
        Field(description="Namespaces whose Workflows may use the template. They get a copy of its content."),
    ]


class ClusterWorkflowTemplate(WorkflowTemplate):
    """A WorkflowTemplate of the cluster, for the namespaces that its author allows."""

    spec: Annotated[ClusterWorkflowTemplateSpec, Field(description="What a run consists of, and where it may run.")]


def parse_of_cluster(body: Any) -> ClusterWorkflowTemplate:
    """A ClusterWorkflowTemplate from the API server's JSON. Raises pydantic.ValidationError for an invalid one."""
    return ClusterWorkflowTemplate.model_validate(body)


def parse(body: Any) -> WorkflowTemplate:
    """A WorkflowTemplate from the API server's JSON. Raises pydantic.ValidationError for an invalid one."""
    return WorkflowTemplate.model_validate(body)
