"""The body of an archived result as the value of the task: checked against its digest, lists and objects as JSON. Pure.

The archive stores a list as one JSON line for each item, and an object as one line `[key, value]` for each entry.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torpor_views import json_fields

from torpor_cli.cluster.http import split_lines
from torpor_cli.errors import CliError

_BINARY = frozenset({"bytes", "file"})
_DECODER = json.JSONDecoder()


def is_binary(stored: Mapping[str, Any]) -> bool:
    """Whether the result is bytes or a file."""
    return stored.get("type") in _BINARY


def value_of(stored: Mapping[str, Any], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the value as JSON text, or the bytes of a file. Raises CliError for a body that is incomplete."""
    whole = checked(stored, chunks)
    match stored.get("type"):
        case "list":
            return _joined(b"[", split_lines(whole), b"]\n")
        case "object":
            return _joined(b"{", map(_entry, split_lines(whole)), b"}\n")
        case kind if kind in _BINARY:
            return whole
        case _:
            return _ended(whole)


def checked(stored: Mapping[str, Any], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks, and raise CliError at the end if they are not what the TaskRun describes."""
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        yield chunk
    expected = json_fields.number(stored.get("size"), -1)
    if size != expected or digest.hexdigest() != stored.get("digest"):
        raise CliError(f"the archive sent {size} of {expected} bytes, or other ones; try again")


def _joined(first: bytes, items: Iterable[bytes], last: bytes) -> Iterator[bytes]:
    yield first
    separator = b""
    for item in items:
        yield separator + item
        separator = b","
    yield last


def _entry(line: bytes) -> bytes:
    """Return `["key",value]` as `"key":value`. The text of the value does not change."""
    text = line.decode()
    try:
        _, end = _DECODER.raw_decode(text, 1)
    except ValueError as error:
        raise CliError("the archive sent an entry that is not JSON; try again") from error
    return f"{text[1:end]}:{text[end + 1 : -1]}".encode()


def _ended(chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield from chunks
    yield b"\n"
