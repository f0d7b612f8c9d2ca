"""Messages between parent and child: four bytes of length, then JSON in UTF-8.

Both ends have the same version. This module imports little, because the start of a child waits for it.
"""

import json
import struct
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import asyncio

_LENGTH = struct.Struct("!I")


def encode(message: object) -> bytes:
    """Return a message. Raises UnicodeEncodeError for invalid Unicode, RecursionError for deep nesting."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return _LENGTH.pack(len(body)) + body


async def receive(stream: "asyncio.StreamReader") -> Any:
    """Return the next message. Raises asyncio.IncompleteReadError at the end of the stream."""
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    return json.loads(await stream.readexactly(length))


def read(stream: BinaryIO) -> bytes | None:
    """Return the JSON of the next message, None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None
