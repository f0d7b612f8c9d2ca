"""What a body says it is, by its headers: whether that makes sense is decided before a byte of it is read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from torpor_archive import errors
from torpor_archive.errors import Refusal

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
RUN = "run"
"""A finished Workflow and its TaskRuns; not a type of result."""
TYPE_HEADER, NAME_HEADER, LENGTH_HEADER = "Torpor-Type", "Torpor-Name", "Torpor-Length"
NAME_MAX = 255
_UNFIT = re.compile(r"[\x00-\x1f\x7f/]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of the types of results, and a file's name."""

    type: str
    name: str | None = None

    @property
    def content_type(self) -> str:
        """How its body is written."""
        return CONTENT_TYPES.get(self.type, LINES)

    @property
    def lined(self) -> bool:
        """Whether its body is lines of JSON, which can be read one by one."""
        return self.content_type == LINES

    def headers(self) -> dict[str, str]:
        """As a reader is told."""
        named = {} if self.name is None else {NAME_HEADER: quote(self.name)}
        return {TYPE_HEADER: self.type, "Content-Type": self.content_type, **named}


def of(headers: Mapping[str, str]) -> Kind | Refusal:
    """The kind that a result's headers give; a name is percent-encoded UTF-8."""
    given = headers.get(TYPE_HEADER, "")
    expected = CONTENT_TYPES.get(given)
    if expected is None:
        return errors.invalid(f"header {TYPE_HEADER} is {given!r}; it is one of {', '.join(CONTENT_TYPES)}")
    content_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if content_type != expected:
        return errors.invalid(f"a {given} is sent with Content-Type {expected}, not {content_type!r}")
    return _named(given, headers.get(NAME_HEADER))


def _named(given: str, written: str | None) -> Kind | Refusal:
    if written is None:
        return Kind(type=given)
    if given != "file":
        return errors.invalid(f"header {NAME_HEADER} is for a file; this is a {given}")
    try:
        name = unquote(written, errors="strict")
    except UnicodeDecodeError:
        return errors.invalid(f"header {NAME_HEADER} is percent-encoded UTF-8, and {written[:80]!r} is not")
    if not name or name in {".", ".."} or len(name) > NAME_MAX or _UNFIT.search(name):
        return errors.invalid(
            f"{name[:80]!r} is no file's name: 1 to {NAME_MAX} characters, no slash and no control characters"
        )
    return Kind(type=given, name=name)
