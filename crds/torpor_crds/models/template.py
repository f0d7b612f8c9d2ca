"""WorkflowTemplate: a Workflow with typed parameters, from which runs are created."""

from typing import Annotated, Any

from pydantic import Field
from torpor_wire.enums import ParameterType

from torpor_crds.models.base import Identifier, Metadata, Model, Value
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


def parse(body: Any) -> WorkflowTemplate:
    """A WorkflowTemplate from the API server's JSON. Raises pydantic.ValidationError for an invalid one."""
    return WorkflowTemplate.model_validate(body)
