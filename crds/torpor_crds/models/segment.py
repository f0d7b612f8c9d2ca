"""A segment of a TaskRun: the pod that runs it, and where the next one enters."""

from typing import Annotated

from pydantic import Field
from torpor_wire import constants

from torpor_crds.models.base import SOURCE_HASH, Model, ObjectName


class PodRef(Model):
    """The pod of the current segment."""

    name: Annotated[ObjectName, Field(description="Name of the pod.")]
    uid: Annotated[str | None, Field(max_length=63, description="uid of the pod that claimed this segment.")] = None
    claim: Annotated[str | None, Field(max_length=63, description="Random text of the process that won the claim.")] = (
        None
    )
    source: Annotated[
        str | None,
        Field(
            max_length=63,
            description="Hash of the files of spec.source that the pod has mounted.",
            json_schema_extra=SOURCE_HASH,
        ),
    ] = None


class NextSegment(Model):
    """What the next segment runs."""

    method: Annotated[
        str,
        Field(
            max_length=253,
            description="Method of the operator class, or `module:function`. Empty: the task starts again.",
        ),
    ]
    kwargs: Annotated[
        str, Field(max_length=constants.NEXT_MAX, description="State for the resumed function, as JSON text.")
    ] = "{}"
    on_timeout: Annotated[
        str | None,
        Field(max_length=253, description="Method or function that runs if the wait times out. Unset: the task fails."),
    ] = None
    timeout_is_final: Annotated[
        bool | None,
        Field(description="Whether a timeout of the wait fails the task without a retry, as for sensors."),
    ] = None
