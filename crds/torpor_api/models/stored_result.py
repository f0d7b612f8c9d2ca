"""What stands on a TaskRun of a result that is in the archive: its type, lengths and keys, and no values (adr/0012).

The operator decides how wide a mapped task is by this alone.
"""

from typing import Annotated, Literal

from pydantic import Field
from torpor_wire import constants

from torpor_api.models.base import Count, Model

KeysText = Annotated[str, Field(max_length=constants.STORED_KEYS_MAX)]


class StoredResult(Model):
    """A result too large for the TaskRun, as the archive describes it: lengths and keys, no values."""

    size: Annotated[int, Field(ge=0, le=2**53, description="Bytes of its body in the archive.")]
    digest: Annotated[str, Field(max_length=64, description="SHA-256 of the body, in hexadecimal.")]
    type: Annotated[
        Literal["list", "object", "string", "number", "boolean", "null", "bytes", "file"],
        Field(description="What it is."),
    ]
    length: Annotated[Count | None, Field(description="How many items a list has, or entries an object.")] = None
    keys: Annotated[
        KeysText | None,
        Field(description="An object's keys in their order, as JSON text; unset where they are too many."),
    ] = None
    name: Annotated[str | None, Field(max_length=255, description="Name of a file.")] = None
