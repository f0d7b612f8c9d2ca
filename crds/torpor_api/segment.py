"""The pod of a TaskRun's present segment, as its status names it."""

from typing import Annotated

from pydantic import Field

from torpor_api.schema import Model, ObjectName


class PodRef(Model):
    """The pod that runs, or ran, the present segment."""

    name: Annotated[ObjectName, Field(description="Name of the pod.")]
    uid: Annotated[str | None, Field(max_length=63, description="uid of the pod that claimed this segment.")] = None
    claim: Annotated[str | None, Field(max_length=63, description="Random word of the process that won the claim.")] = (
        None
    )
