"""The model of `status.trigger`: what a deferred TaskRun waits for.

The approvers of an approval are in the kwargs and also in fields, because an admission policy cannot parse JSON.
"""

from typing import Annotated

from pydantic import Field
from torpor_wire import constants
from torpor_wire.approvers import NAME_MAX, NAMES_MAX

from torpor_crds.models.base import Model, PrintableLine

PersonName = Annotated[str, Field(min_length=1, max_length=NAME_MAX)]


class ApproverNames(Model):
    """Users and groups that may answer an approval."""

    users: Annotated[tuple[PersonName, ...], Field(max_length=NAMES_MAX, description="Names of users.")] = ()
    groups: Annotated[
        tuple[PersonName, ...],
        Field(max_length=NAMES_MAX, description="Names of groups. Membership in one of them is enough."),
    ] = ()


class Waiting(Model):
    """The trigger that a deferred TaskRun waits for."""

    class_name: Annotated[PrintableLine, Field(alias="class", description="Registered class of the trigger.")]
    kwargs: Annotated[str, Field(max_length=constants.KWARGS_MAX, description="Keyword arguments, as JSON text.")] = (
        "{}"
    )
    key: Annotated[
        str, Field(max_length=64, description="Hash of the trigger. Equal waits can share one running trigger.")
    ]
    shard: Annotated[
        int, Field(ge=0, lt=constants.SHARDS, description="Shard of the triggerer that runs it, derived from the key.")
    ]
    waits_for: Annotated[
        PrintableLine, Field(max_length=120, description="What the TaskRun waits for, in one line.")
    ] = ""
    approvers: Annotated[
        ApproverNames | None, Field(description="Users and groups that may answer an approval. A policy enforces it.")
    ] = None
