"""The format of a body according to its headers. Invalid headers are refused before the body is read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from torpor_wire.enums import FileKind

from torpor_archive import errors
from torpor_archive.errors import ErrorResponse

LINES, JSON, OCTETS = "application/x-ndjson", "application/json", "application/octet-stream"
CONTENT_TYPES: Mapping[str, str] = {
    "list": LINES,
    "object": LINES,
    "string": JSON,
    "number": JSON,
    "boolean": JSON,
    "null": JSON,
    "bytes": OCTETS,
    "file": OCTETS,
}
FILE_KINDS = frozenset(FileKind)
"""The types of files of a task; an archive of a folder is a tar stream (ADR 0064)."""
RUN = "run"
"""The type of a finished run: a Workflow and its TaskRuns. Not a type of result."""
TYPE_HEADER, NAME_HEADER, LENGTH_HEADER = "Torpor-Type", "Torpor-Name", "Torpor-Length"
NAME_MAX = 255
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f/]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFormat:
    """The type of a body, and the name of a file."""

    type: str
    name: str | None = None

    @property
    def content_type(self) -> str:
        """The body's media type."""
        return CONTENT_TYPES.get(self.type, OCTETS if self.type in FILE_KINDS else LINES)

    @property
    def has_lines(self) -> bool:
        """Whether the body consists of JSON lines, which can be read one by one."""
        return self.content_type == LINES

    def headers(self) -> dict[str, str]:
        """Build the response headers."""
        named = {} if self.name is None else {NAME_HEADER: quote(self.name)}
        return {TYPE_HEADER: self.type, "Content-Type": self.content_type, **named}


def parse_headers(headers: Mapping[str, str]) -> BodyFormat | ErrorResponse:
    """Parse the headers of a result. The name is percent-encoded UTF-8."""
    type_name = headers.get(TYPE_HEADER, "")
    expected = CONTENT_TYPES.get(type_name)
    if expected is None:
        return errors.invalid(f"header {TYPE_HEADER} is {type_name!r}; use one of {', '.join(CONTENT_TYPES)}")
    content_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if content_type != expected:
        return errors.invalid(f"a {type_name} requires Content-Type {expected}, not {content_type!r}")
    return _parse_name(type_name, headers.get(NAME_HEADER))


def parse_kind(headers: Mapping[str, str]) -> BodyFormat | ErrorResponse:
    """Parse the header of a file of a task."""
    kind = headers.get(TYPE_HEADER, "")
    if kind not in FILE_KINDS:
        return errors.invalid(f"header {TYPE_HEADER} is {kind[:40]!r}; use one of {', '.join(sorted(FILE_KINDS))}")
    return BodyFormat(type=kind)


def _parse_name(type_name: str, written: str | None) -> BodyFormat | ErrorResponse:
    if written is None:
        return BodyFormat(type=type_name)
    if type_name != "file":
        return errors.invalid(f"header {NAME_HEADER} is for type file only; this is of type {type_name}")
    try:
        name = unquote(written, errors="strict")
    except UnicodeDecodeError:
        return errors.invalid(f"header {NAME_HEADER} must be percent-encoded UTF-8; {written[:80]!r} is not")
    if not name or name in {".", ".."} or len(name) > NAME_MAX or _FORBIDDEN.search(name):
        return errors.invalid(
            f"{name[:80]!r} is not a file name: 1 to {NAME_MAX} characters, no slash, no control characters"
        )
    return BodyFormat(type=type_name, name=name)
