"""The archive: its address, and the description on a TaskRun of a result in it (ADR 0012).

The description has type, lengths and keys, and no values. The operator decides how wide a mapped task is by it alone.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field
from torpor_wire import constants

from torpor_crds.models.base import Count, Model

KeysText = Annotated[str, Field(max_length=constants.STORED_KEYS_MAX)]


class StoredResult(Model):
    """A result in the archive: type, length, and keys, without values."""

    size: Annotated[int, Field(ge=0, le=2**53, description="Size of the body in the archive, in bytes.")]
    digest: Annotated[str, Field(max_length=64, description="SHA-256 of the body, in hexadecimal.")]
    type: Annotated[
        Literal["list", "object", "string", "number", "boolean", "null", "bytes", "file"],
        Field(description="Type of the value."),
    ]
    length: Annotated[Count | None, Field(description="Number of items of a list, or of entries of an object.")] = None
    keys: Annotated[
        KeysText | None,
        Field(description="Keys of an object in its order, as JSON text. Unset if there are too many."),
    ] = None
    name: Annotated[str | None, Field(max_length=255, description="Name of a file.")] = None


class StoredRunResult(StoredResult):
    """The result of a run in the archive: that of one of its TaskRuns, whole."""

    task_run: Annotated[str, Field(max_length=253, description="TaskRun that has the result.")]
    uid: Annotated[str, Field(max_length=63, description="uid of the TaskRun, under which the archive has it.")]


class ArchiveEndpoint(NamedTuple):
    """The base URL without a trailing slash, and the archive's own certificate as PEM."""

    url: str
    certificate: str
