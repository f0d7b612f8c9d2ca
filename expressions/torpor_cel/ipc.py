"""How parent and child speak: four bytes of length, then JSON in UTF-8.

Both ends are ours and of one version, so there is no version here. Must import little: a child's start waits for it.
"""

import json
import struct
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import asyncio

_LENGTH = struct.Struct("!I")


def encode(message: object) -> bytes:
    """One frame. Raises UnicodeEncodeError for text that is not Unicode, RecursionError for what is nested too deep."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return _LENGTH.pack(len(body)) + body


async def receive(stream: "asyncio.StreamReader") -> Any:
    """The next message; asyncio.IncompleteReadError where the other side is gone."""
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    return json.loads(await stream.readexactly(length))


def read(stream: BinaryIO) -> bytes | None:
    """The next message's JSON, or None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None
