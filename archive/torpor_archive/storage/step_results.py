"""The result of a task with steps, as one body: an object with the result of each step by its name.

Results in the archive are read from their bodies, and never leave the archive. Each becomes one line of the new body,
so it has at most the bytes of a line.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_archive.errors import RefusedError, invalid, too_large
from torpor_archive.storage import bodies
from torpor_archive.storage.bodies import ByteRange, StoredBody
from torpor_archive.storage.database import Database
from torpor_archive.storage.validation import LINE_MAX

STEPS_MAX = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenStep:
    """The result of a step: JSON text, or the digest of its body in the archive."""

    name: str
    text: str | None = None
    digest: str | None = None


def parse(body: Any) -> tuple[str, tuple[GivenStep, ...]]:
    """Return the uid of the TaskRun, and its steps. Raises RefusedError (400)."""
    match body:
        case {"uid": str(uid), "steps": list(steps)} if 0 < len(steps) <= STEPS_MAX:
            return uid, tuple(_part(step) for step in steps)
    raise RefusedError(invalid(f"send an object with the `uid` of a TaskRun, and up to {STEPS_MAX} `steps`"))


def _part(step: Any) -> GivenStep:
    match step:
        case {"name": str(name), "digest": str(digest)}:
            return GivenStep(name=name, digest=digest)
        case {"name": str(name), "text": str(text)}:
            return GivenStep(name=name, text=text)
    raise RefusedError(invalid("a step has a `name`, and the `digest` or the `text` of its result"))


class CombinedBody:
    """The body of the object, as an upload reads it: one line at a time. Raises RefusedError (413)."""

    def __init__(self, database: Database, parts: Sequence[GivenStep], stored: Mapping[str, StoredBody]) -> None:
        self._lines = self._each(database, parts, stored)

    async def readany(self) -> bytes:
        """Return the next line; empty at the end."""
        return await anext(self._lines, b"")

    async def _each(
        self, database: Database, parts: Sequence[GivenStep], stored: Mapping[str, StoredBody]
    ) -> AsyncIterator[bytes]:
        for part in parts:
            text = (part.text or "null").encode() if part.digest is None else await _value(database, stored[part.name])
            yield b"[%s,%s]\n" % (json.dumps(part.name).encode(), text)


async def _value(database: Database, body: StoredBody) -> bytes:
    """Return the JSON text of a body: its lines are the items of a list, or the entries of an object."""
    if body.size > LINE_MAX:
        raise RefusedError(too_large(f"the result of a step has {body.size} bytes; the limit is {LINE_MAX}"))
    span = ByteRange(start=0, end=body.size)
    content = b"".join([chunk async for chunk in bodies.read_chunks(database, body, span)])
    lines = [line for line in content.split(b"\n") if line]
    match body.format.type:
        case "list":
            return b"[" + b",".join(lines) + b"]"
        case "object":
            return b"{" + b",".join(map(_entry, lines)) + b"}"
        case _:
            return content


def _entry(line: bytes) -> bytes:
    """Return `"key":value` of a line `["key",value]`, whose key is a JSON string."""
    key, end = json.JSONDecoder().raw_decode(line.decode(), 1)
    text = line.decode()[end:].lstrip().removeprefix(",")
    return f"{json.dumps(key, ensure_ascii=False)}:{text.rstrip()[:-1]}".encode()
