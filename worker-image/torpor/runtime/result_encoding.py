"""A result as what is stored of it: JSON text where that is short, else a body for the archive, made in pieces.

A list or an object is written item by item, so a list of 100 MB is never one text. Pure, but that a file is read.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torpor_wire import canonical, json_types
from torpor_wire.reason import Reason

from torpor.errors import RejectedError, UnreadableError
from torpor.runtime import tracebacks

_PIECE = 64 * 1024
_JSON, _LINES, _BYTES = "application/json", "application/x-ndjson", "application/octet-stream"


class Body(NamedTuple):
    """What goes to the archive; `pieces` makes its bytes anew each time, and raises RejectedError for no JSON."""

    kind: str
    content_type: str
    pieces: Callable[[], Iterator[bytes]]
    name: str | None = None
    """Of a file."""


def of(value: object, limit: int) -> str | Body:
    """Its JSON text of `limit` bytes at most, or its body. Raises RejectedError for what neither can say."""
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
    """The items as one text, None where that is longer than the limit; no more of them is written than fits."""
    size, found = 1, []
    for text in texts:
        size += len(text.encode()) + 1
        if size > limit:
            return None
        found.append(text)
    return f"{ends[0]}{','.join(found)}{ends[1]}"


def _items(values: Iterable[object]) -> Iterator[str]:
    return _checked(canonical.plain(item, f"$[{place}]") for place, item in enumerate(values))


def _entries(values: Mapping[object, object]) -> Iterator[str]:
    return _checked(":".join(canonical.entry(key, item)) for key, item in values.items())


def _pairs(values: Mapping[object, object]) -> Iterator[str]:
    return _checked(f"[{','.join(canonical.entry(key, item))}]" for key, item in values.items())


def _checked(texts: Iterator[str]) -> Iterator[str]:
    """The texts. Raises RejectedError for what is not JSON, and for what user code raises while they are made."""
    try:
        yield from texts
    except UnreadableError:  # of lazy results that are returned: another attempt may read them
        raise
    except canonical.NotJsonError as error:
        raise RejectedError(Reason.RESULT_INVALID, f"the result is not JSON: {error}") from error
    except Exception as error:
        said = f"the result cannot be written as JSON: {tracebacks.describe(error)}"
        raise RejectedError(Reason.RESULT_INVALID, said) from error


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
        said = f"the result is the path {path!r:.300}, where no file is: return an existing file, or str(path)"
        raise RejectedError(Reason.RESULT_INVALID, said)
    return Body("file", _BYTES, pieces, os.path.basename(path))  # noqa: PTH119 - pathlib costs 5 ms
