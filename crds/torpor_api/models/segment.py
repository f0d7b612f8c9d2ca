"""A segment of a TaskRun: the pod that runs it, and where the next one enters."""

from typing import Annotated

from pydantic import Field
from torpor_wire import constants

from torpor_api.models.base import Model, ObjectName


class PodRef(Model):
    """The pod that runs, or ran, the present segment."""

    name: Annotated[ObjectName, Field(description="Name of the pod.")]
    uid: Annotated[str | None, Field(max_length=63, description="uid of the pod that claimed this segment.")] = None
    claim: Annotated[str | None, Field(max_length=63, description="Random word of the process that won the claim.")] = (
        None
    )


class Resume(Model):
    """Where the next segment enters."""

    method: Annotated[
        str,
        Field(max_length=253, description="Method of the operator, or `module:function`; empty: the task anew."),
    ]
    kwargs: Annotated[str, Field(max_length=constants.NEXT_MAX, description="State passed on, as JSON text.")] = "{}"
    on_timeout: Annotated[
        str | None,
        Field(max_length=253, description="Where it enters instead when the wait took too long; unset: it fails."),
    ] = None
    timeout_is_final: Annotated[
        bool | None,
        Field(
            description="Where true, a wait that took too long fails the task without another attempt, as a sensor's."
        ),
    ] = None
