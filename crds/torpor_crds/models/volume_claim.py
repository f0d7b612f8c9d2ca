"""A volume of a run: a PersistentVolumeClaim that the operator creates for it (ADR 0062)."""

from typing import Annotated

from pydantic import Field
from torpor_wire.enums import AccessMode, ClaimDeletion

from torpor_crds.models.base import Model, Name, ObjectName

QUANTITY = r"^[0-9]+(\.[0-9]+)?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"


class VolumeClaim(Model):
    """A volume that tasks of the run mount by its name."""

    name: Annotated[
        Name,
        Field(
            max_length=40,
            description="Name that `pod.volumeMounts` of tasks refer to. No volume of a task may have it.",
        ),
    ]
    size: Annotated[
        str,
        Field(
            min_length=1,
            max_length=20,
            description="Requested storage, such as 10Gi.",
            json_schema_extra={"pattern": QUANTITY},
        ),
    ]
    access_modes: Annotated[
        tuple[AccessMode, ...],
        Field(
            max_length=4,
            description="ReadWriteOnce (pods of one node), ReadWriteMany, ReadOnlyMany or ReadWriteOncePod. Unset: "
            "ReadWriteOnce.",
        ),
    ] = ()
    storage_class_name: Annotated[
        ObjectName | None, Field(description="StorageClass of the volume. Unset: the default class of the cluster.")
    ] = None
    deletion: Annotated[
        ClaimDeletion,
        Field(
            description="When the claim is deleted. AtEnd: when the run has ended. AfterSuccess: the same, if it "
            "succeeded. WithRun: with the Workflow. Never: a user deletes it."
        ),
    ] = ClaimDeletion.AT_END
