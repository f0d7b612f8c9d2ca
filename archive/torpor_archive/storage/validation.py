"""Validates a body against its declared type while it streams through.

Each line of a list is parsed separately, so that memory is bounded by the longest line. For a longer string only UTF-8
and the quotes are checked, because parsing would require the whole string in memory.
"""

import codecs
import json
import re
from collections.abc import Callable
from typing import Any, Never, Protocol

from torpor_wire import constants, json_types

from torpor_archive import errors
from torpor_archive.errors import RefusedError
from torpor_archive.storage.content import BodyFormat

LINE_MAX = 8 * 1024 * 1024
"""Maximum bytes of an item, and of a JSON number, boolean or null."""
CONTAINERS_MAX = 250_000
"""Maximum lists and objects in an item: while parsed, each takes about 200 bytes of memory for 3 bytes of text."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


class Validator(Protocol):
    """Validates one body. Both methods raise RefusedError."""

    def feed(self, data: bytes) -> None:
        """Add data."""

    def end(self) -> None:
        """Finish."""


class AnyBytes:
    """Accepts bytes and files."""

    def feed(self, data: bytes) -> None:
        """Accept any data."""

    def end(self) -> None:
        """Accept an empty body."""


class JsonLines:
    """Lines of JSON. `accept` receives the number and the value of each."""

    def __init__(self, accept: Callable[[int, Any], None]) -> None:
        self._accept = accept
        self._line = bytearray()
        self._count = 0

    def feed(self, data: bytes) -> None:
        """Parse the complete lines."""
        *ended, tail = data.split(b"\n")
        for part in ended:
            self._close(part)
        self._grow(tail)

    def end(self) -> None:
        """Parse the last line if it has no newline."""
        if self._line:
            self._close(b"")

    def _grow(self, part: bytes) -> None:
        self._line += part
        if len(self._line) > LINE_MAX:
            raise RefusedError(
                errors.too_large(f"item {self._count} has more than {LINE_MAX} bytes, the limit for one item")
            )

    def _close(self, part: bytes) -> None:
        if self._line or len(part) > LINE_MAX:
            self._grow(part)
            part = bytes(self._line)
            self._line.clear()
        self._accept(self._count, parse(part, "line", self._count))
        self._count += 1


class ObjectEntries:
    """The entries of an object, as `[key, value]` lines. Collects the keys while they fit into a TaskRun."""

    def __init__(self) -> None:
        self._keys: list[str] | None = []
        self._size = 1

    @property
    def keys(self) -> str | None:
        """The keys in order, as JSON text; None if they do not fit into a TaskRun."""
        return None if self._keys is None else _to_json(self._keys)

    def accept(self, number: int, value: Any) -> None:
        """Validate a line."""
        if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)):  # noqa: PLR2004
            _reject(f'line {number} is not an object entry: each line must be ["key", value]')
        if self._keys is None:
            return
        self._size += len(_to_json(value[0])) + 1
        self._keys.append(value[0])
        if self._size > constants.STORED_KEYS_MAX:
            self._keys = None

    def reject_duplicates(self) -> None:
        """Raise RefusedError if a collected key is duplicate."""
        if self._keys is not None and len(set(self._keys)) < len(self._keys):
            duplicate = next(key for index, key in enumerate(self._keys) if key in self._keys[:index])
            _reject(f"key {duplicate[:80]!r} is duplicate")


class ScalarValue:
    """A JSON string, number, boolean or null."""

    def __init__(self, body_format: str) -> None:
        self._type_name = body_format
        self._text: bytearray | None = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._first = self._last = b""

    def feed(self, data: bytes) -> None:
        """Buffer the text while it is short."""
        self._first = self._first or data[:1]
        self._last = data[-1:] or self._last
        _decode(self._decoder, data, final=False)
        if self._text is not None:
            self._text += data
            if len(self._text) > LINE_MAX:
                self._text = None
        if self._text is None and self._type_name != "string":
            raise RefusedError(errors.too_large(f"a {self._type_name} is limited to {LINE_MAX} bytes"))

    def end(self) -> None:
        """Compare the value with the declared type."""
        _decode(self._decoder, b"", final=True)
        if self._text is None:
            if self._first != b'"' or self._last != b'"':
                _reject("a string must be sent as JSON text, in quotes")
        elif (actual := json_types.type_name(parse(bytes(self._text), "the body"))) != self._type_name:
            _reject(f"the body is of type {actual}, but the header declares a {self._type_name}")


def parse(text: bytes, what: str, number: int | None = None) -> Any:
    """Parse strict JSON, without NaN and Infinity. Raises RefusedError with the subject and its number."""
    subject = what if number is None else f"{what} {number}"
    if _count_containers(text) > CONTAINERS_MAX and _count_containers(_STRING.sub(b"", text)) > CONTAINERS_MAX:
        raise RefusedError(errors.too_large(f"{subject} contains more than {CONTAINERS_MAX} lists and objects"))
    try:
        return _DECODER.decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise RefusedError(errors.invalid(f"{subject} {_describe(error)}")) from error


def _count_containers(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _describe(error: Exception) -> str:
    match error:
        case UnicodeDecodeError():
            return f"is not UTF-8: {error.reason} at byte {error.start}"
        case RecursionError():
            return "is nested too deeply"
        case _:
            return f"is not JSON: {error}"


def validator_for(body_format: BodyFormat) -> tuple[Validator, ObjectEntries | None]:
    """Return the validator for a result; for an object also its entries, which hold the keys."""
    match body_format.type:
        case "list":
            return JsonLines(lambda _number, _value: None), None
        case "object":
            entries = ObjectEntries()
            return JsonLines(entries.accept), entries
        case "bytes" | "file":
            return AnyBytes(), None
        case other:
            return ScalarValue(other), None


def _decode(decoder: codecs.IncrementalDecoder, data: bytes, *, final: bool) -> None:
    try:
        decoder.decode(data, final)
    except UnicodeDecodeError as error:
        _reject(f"the body is not UTF-8: {error.reason}")


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _no_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _reject(message: str) -> Never:
    raise RefusedError(errors.invalid(message))
