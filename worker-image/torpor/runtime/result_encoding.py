"""Encodes a result: short JSON text, or a body for the archive in pieces.

A list or an object is encoded item by item, so a list of 100 MB never becomes one text. Pure, except that it reads
files.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torpor_wire import canonical, json_types
from torpor_wire.reason import Reason

from torpor.errors import RejectedError
from torpor.runtime import json_text

_PIECE = 64 * 1024
_JSON, _LINES, _BYTES = "application/json", "application/x-ndjson", "application/octet-stream"


class Body(NamedTuple):
    """A body for the archive.

    `pieces` encodes it again on each call, and raises RejectedError for values that are not JSON.
    """

    kind: str
    content_type: str
    pieces: Callable[[], Iterator[bytes]]
    name: str | None = None
    """The name of a file."""


def encode_result(value: object, limit: int) -> str | Body:
    """Return the JSON text if it has up to `limit` bytes, else a body.

    Raises RejectedError for an unsupported value.
    """
    match value:
        case bytes() | bytearray() | memoryview():
            data = bytes(value)
            return Body("bytes", _BYTES, lambda: _cut(data))
        case os.PathLike():
            return _file(os.fsdecode(value))
        case Mapping():
            return _short(_entries(value), "{}", limit) or Body("object", _LINES, lambda: _lines(_pairs(value)))
        case Sequence() if not isinstance(value, str):
            return _short(_items(value), "[]", limit) or Body("list", _LINES, lambda: _lines(_items(value)))
        case _:
            text = next(_checked(canonical.plain(value) for _ in range(1)))
            return (
                text
                if len(text.encode()) <= limit
                else Body(json_types.type_name(value), _JSON, lambda: _cut(text.encode()))
            )


def _short(texts: Iterable[str], ends: str, limit: int) -> str | None:
    """Return the items as one text, None if it exceeds the limit. It stops at the limit."""
    size, parts = 1, []
    for text in texts:
        size += len(text.encode()) + 1
        if size > limit:
            return None
        parts.append(text)
    return f"{ends[0]}{','.join(parts)}{ends[1]}"


def _items(values: Iterable[object]) -> Iterator[str]:
    return _checked(canonical.plain(item, f"$[{place}]") for place, item in enumerate(values))


def _entries(values: Mapping[object, object]) -> Iterator[str]:
    return _checked(":".join(canonical.entry(key, item)) for key, item in values.items())


def _pairs(values: Mapping[object, object]) -> Iterator[str]:
    return _checked(f"[{','.join(canonical.entry(key, item))}]" for key, item in values.items())


def _checked(texts: Iterator[str]) -> Iterator[str]:
    """Yield the texts. Raises RejectedError for values that are not JSON and for errors of user code in between."""
    with json_text.rejecting(Reason.RESULT_INVALID, "the result"):
        yield from texts


def _lines(texts: Iterable[str]) -> Iterator[bytes]:
    held = bytearray()
    for text in texts:
        held += text.encode() + b"\n"
        if len(held) >= _PIECE:
            yield from _cut(bytes(held))
            held.clear()
    if held:
        yield bytes(held)


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))


def _file(path: str) -> Body:
    def pieces() -> Iterator[bytes]:
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 5 ms
                while piece := file.read(_PIECE):
                    yield piece
        except OSError as error:
            raise RejectedError(Reason.RESULT_INVALID, f"the result is a file that cannot be read: {error}") from error

    if not os.path.isfile(path):  # noqa: PTH113 - pathlib costs 5 ms
        message = f"the result is the path {path!r:.300}, which is not a file: return an existing file, or str(path)"
        raise RejectedError(Reason.RESULT_INVALID, message)
    return Body("file", _BYTES, pieces, os.path.basename(path))  # noqa: PTH119 - pathlib costs 5 ms
