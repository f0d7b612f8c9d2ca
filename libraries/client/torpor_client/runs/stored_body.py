"""The body of an archived result as the value of the task: checked against its digest, lists and objects as JSON. Pure.

The archive stores a list as one JSON line for each item, and an object as one line `[key, value]` for each entry.
Memory holds one chunk and one line.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torpor_views import json_fields

from torpor_client.errors import UserError

_BINARY = frozenset({"bytes", "file"})
_DECODER = json.JSONDecoder()


def is_binary(stored: Mapping[str, Any]) -> bool:
    """Whether the result is bytes or a file."""
    return stored.get("type") in _BINARY


def value_of(stored: Mapping[str, Any], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the value as JSON text, or the bytes of a file. Raises UserError for a body that is incomplete."""
    body = ResultDecoder(stored)
    for chunk in chunks:
        yield body.feed(chunk)
    yield body.finish()


class ResultDecoder:
    """Translates the chunks of a body in the order of their arrival. `finish` gives the rest and checks the whole."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._stored = stored
        self._digest = hashlib.sha256()
        self._size = 0
        match stored.get("type"):
            case "list":
                self._form: _Form = _JoinedLines(b"[", b"]\n", bytes)
            case "object":
                self._form = _JoinedLines(b"{", b"}\n", _entry)
            case kind if kind in _BINARY:
                self._form = _Unchanged(b"")
            case _:
                self._form = _Unchanged(b"\n")

    def feed(self, chunk: bytes) -> bytes:
        """Return the part of the value that a chunk completes. Raises UserError for an entry that is not JSON."""
        self._digest.update(chunk)
        self._size += len(chunk)
        return self._form.feed(chunk)

    def finish(self) -> bytes:
        """Return the rest. Raises UserError if the chunks are not what the TaskRun describes."""
        expected = json_fields.number(self._stored.get("size"), -1)
        if self._size != expected or self._digest.hexdigest() != self._stored.get("digest"):
            raise UserError(f"the archive sent {self._size} of {expected} bytes, or other ones; try again")
        return self._form.finish()


class _Unchanged:
    """The bytes as they are, and an end."""

    def __init__(self, end: bytes) -> None:
        self._end = end

    @staticmethod
    def feed(chunk: bytes) -> bytes:
        return chunk

    def finish(self) -> bytes:
        return self._end


class _JoinedLines:
    """Lines as the items of a JSON text."""

    def __init__(self, first: bytes, last: bytes, item: Callable[[bytes], bytes]) -> None:
        self._first, self._last, self._item = first, last, item
        self._before = first
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        ended, newline, rest = chunk.rpartition(b"\n")
        if not newline:  # an item of 8 MiB comes in many chunks, and is searched once
            self._rest += chunk
            return b""
        lines = (self._rest + ended).split(b"\n")
        self._rest = bytearray(rest)
        return b"".join(map(self._joined, lines))

    def finish(self) -> bytes:
        rest = self._joined(self._rest) if self._rest else b""
        opening = self._first if self._before == self._first else b""
        return opening + rest + self._last

    def _joined(self, line: bytes | bytearray) -> bytes:
        before, self._before = self._before, b","
        return before + self._item(bytes(line))


_Form = _Unchanged | _JoinedLines


def _entry(line: bytes) -> bytes:
    """Return `["key",value]` as `"key":value`. The text of the value does not change."""
    text = line.decode()
    try:
        _, end = _DECODER.raw_decode(text, 1)
    except ValueError as error:
        raise UserError("the archive sent an entry that is not JSON; try again") from error
    return f"{text[1:end]}:{text[end + 1 : -1]}".encode()
