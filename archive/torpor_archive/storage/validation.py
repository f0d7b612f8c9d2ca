"""Whether a body is what it says it is, looked at while it streams through.

What the archive calls a list is a list to every reader, so each line is parsed as it comes: one at a time, so that what
parsing takes is bounded by the longest line, whoever sends. A string beyond that length is held to UTF-8 and its quotes
only, since to parse it would be to hold it.
"""

import codecs
import json
import re
from collections.abc import Callable
from typing import Any, Never, Protocol

from torpor_wire import constants, json_types

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage.content import Kind

LINE_MAX = 8 * 1024 * 1024
"""Bytes of one item, and of any JSON value that is no list, object or string."""
CONTAINERS_MAX = 250_000
"""Lists and objects in one item: each takes some 200 bytes of memory while the item is parsed, for 3 bytes of text."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


class Shape(Protocol):
    """One look at one body; both raise RefusedError for what must not be kept."""

    def feed(self, data: bytes) -> None:
        """What has come."""

    def end(self) -> None:
        """That was all."""


class Opaque:
    """Bytes and files."""

    def feed(self, data: bytes) -> None:
        """Anything goes."""

    def end(self) -> None:
        """Even nothing."""


class Lines:
    """Lines of JSON; `look` is told the number and the value of each."""

    def __init__(self, look: Callable[[int, Any], None]) -> None:
        self._look = look
        self._line = bytearray()
        self._count = 0

    def feed(self, data: bytes) -> None:
        """Parse the lines that are whole by now."""
        *ended, tail = data.split(b"\n")
        for part in ended:
            self._close(part)
        self._grow(tail)

    def end(self) -> None:
        """Parse a last line without a newline."""
        if self._line:
            self._close(b"")

    def _grow(self, part: bytes) -> None:
        self._line += part
        if len(self._line) > LINE_MAX:
            raise RefusedError(
                errors.too_large(f"item {self._count} has more than {LINE_MAX} bytes, the limit of a single item")
            )

    def _close(self, part: bytes) -> None:
        if self._line or len(part) > LINE_MAX:
            self._grow(part)
            part = bytes(self._line)
            self._line.clear()
        self._look(self._count, parse(part, "line", self._count))
        self._count += 1


class Entries:
    """An object's entries, `[key, value]` each; keeps the keys while they fit."""

    def __init__(self) -> None:
        self._keys: list[str] | None = []
        self._size = 1

    @property
    def keys(self) -> str | None:
        """The keys in their order, as JSON text; None where they take more than may stand on a TaskRun."""
        return None if self._keys is None else _text(self._keys)

    def look(self, number: int, value: Any) -> None:
        """One line."""
        if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)):  # noqa: PLR2004
            _refuse(f'line {number} is no entry of an object: each line is ["key", value]')
        if self._keys is None:
            return
        self._size += len(_text(value[0])) + 1
        self._keys.append(value[0])
        if self._size > constants.STORED_KEYS_MAX:
            self._keys = None

    def checked(self) -> None:
        """Raises RefusedError where a key is there twice, as far as keys are kept."""
        if self._keys is not None and len(set(self._keys)) < len(self._keys):
            twice = next(key for place, key in enumerate(self._keys) if key in self._keys[:place])
            _refuse(f"key {twice[:80]!r} is there twice")


class Value:
    """A JSON value that is no list and no object."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._text: bytearray | None = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._first = self._last = b""

    def feed(self, data: bytes) -> None:
        """Keep it while it is short."""
        self._first = self._first or data[:1]
        self._last = data[-1:] or self._last
        _decoded(self._decoder, data, final=False)
        if self._text is not None:
            self._text += data
            if len(self._text) > LINE_MAX:
                self._text = None
        if self._text is None and self._kind != "string":
            raise RefusedError(errors.too_large(f"a {self._kind} of more than {LINE_MAX} bytes is not kept"))

    def end(self) -> None:
        """Whether it is what was said."""
        _decoded(self._decoder, b"", final=True)
        if self._text is None:
            if self._first != b'"' or self._last != b'"':
                _refuse("a string is sent as JSON text, in quotes")
        elif (found := json_types.type_name(parse(bytes(self._text), "the body"))) != self._kind:
            _refuse(f"the body is a {found}, and not a {self._kind} as its header says")


def parse(text: bytes, what: str, number: int | None = None) -> Any:
    """JSON, without the constants that JSON has not. Raises RefusedError, naming what it was, and which."""
    named = what if number is None else f"{what} {number}"
    if _containers(text) > CONTAINERS_MAX and _containers(_STRING.sub(b"", text)) > CONTAINERS_MAX:
        raise RefusedError(errors.too_large(f"{named} has more than {CONTAINERS_MAX} lists and objects in it"))
    try:
        return _DECODER.decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise RefusedError(errors.invalid(f"{named} {_wrong(error)}")) from error


def _containers(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _wrong(error: Exception) -> str:
    match error:
        case UnicodeDecodeError():
            return f"is not UTF-8: {error.reason} at byte {error.start}"
        case RecursionError():
            return "is nested too deeply"
        case _:
            return f"is not JSON: {error}"


def of(kind: Kind) -> tuple[Shape, Entries | None]:
    """How to look at a result of this kind; of an object also who keeps its keys."""
    match kind.type:
        case "list":
            return Lines(lambda _number, _value: None), None
        case "object":
            entries = Entries()
            return Lines(entries.look), entries
        case "bytes" | "file":
            return Opaque(), None
        case other:
            return Value(other), None


def _decoded(decoder: codecs.IncrementalDecoder, data: bytes, *, final: bool) -> None:
    try:
        decoder.decode(data, final)
    except UnicodeDecodeError as error:
        _refuse(f"the body is not UTF-8: {error.reason}")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _no_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _refuse(message: str) -> Never:
    raise RefusedError(errors.invalid(message))
