"""A segment of a TaskRun: the pod that runs it, where the next one enters, and the trigger of `status.trigger`.

The approvers of an approval are in the kwargs and also in fields, because an admission policy cannot parse JSON.
"""

from typing import Annotated

from pydantic import Field
from torpor_wire import constants
from torpor_wire.approvers import NAME_MAX, NAMES_MAX

from torpor_crds.models.base import SOURCE_HASH, Model, ObjectName, PrintableLine


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
