"""The outcome that a user chose for a TaskRun."""

from typing import Annotated

from pydantic import Field
from torpor_wire.enums import MarkState

from torpor_crds.models.argument import JsonText
from torpor_crds.models.base import Message, Model


class Mark(Model):
    """The outcome that a user chose. A marked TaskRun ends in it and runs nothing."""

    state: Annotated[MarkState, Field(description="State in which the TaskRun ends: Succeeded, Skipped or Failed.")]
    because: Annotated[Message, Field(description="Cause, as the user wrote it.")]
    by: Annotated[str | None, Field(max_length=253, description="User who requested it, where known.")] = None
    result: Annotated[JsonText | None, Field(description="Result of the task, as JSON text.")] = None
