"""Decodes JSON with a limit on nesting, and responses of the API server object by object. Pure.

Python's decoder fails at a depth that depends on the call stack, and recursive code (copies, validation, canonical
JSON) fails earlier. The check runs on the text and costs nearly as much as decoding. Text with few brackets skips it.

One object cannot break a whole list or watch: an object that is nested too deeply keeps its name, version and the
readable members; `UNREADABLE` lists the others. Of `metadata.managedFields`, which is half of an object's size and
writable by any client, only the entries for approval annotations are kept: they contain the time of the approval.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from torpor_wire import constants

UNREADABLE = "torpor.dev/unreadable"
"""The member that says why an object is incomplete. The API server never sends it."""

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]+|[\]}]+', re.DOTALL)
_OPENING = "[{"
_APPROVAL_PATH = ("fieldsV1", "f:metadata", "f:annotations", f"f:{constants.APPROVAL}")


def decode(data: bytes) -> Any:
    """Decode an object, or a list of objects with `items`. Raises ValueError for invalid JSON."""
    try:
        body = loads(data)
    except TooDeepError:
        return _decode_deep(data.decode())
    if isinstance(body, dict):
        items = body.get("items")
        for each in items if isinstance(items, list) else [body]:
            _reduce_managed_fields(each)
    return body


def decode_event(line: bytes) -> dict[str, Any]:
    """Decode a watch event with `type` and `object`. Raises ValueError for anything else."""
    event: Any
    try:
        event = loads(line)
    except TooDeepError:
        text = line.decode()
        event = {key: _value(key, text[start:end]) for key, start, end in _members(text)}
    else:
        if isinstance(event, dict):
            _reduce_managed_fields(event.get("object"))
    if isinstance(event, dict) and isinstance(event.get("object"), dict):
        return event
    raise ValueError(f"watch event without an object: {line[:100]!r}")


def bounded_event(line: bytes) -> bytes:
    """Encode the event as a line of JSON that any decoder can read, for clients with their own decoder."""
    return json.dumps(decode_event(line), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _reduce_managed_fields(body: object) -> None:
    if isinstance(body, dict) and isinstance(metadata := body.get("metadata"), dict):
        entries = metadata.pop("managedFields", None)
        approvals = (
            [_approval_only(each) for each in entries if _is_approval(each)] if isinstance(entries, list) else []
        )
        if approvals:
            metadata["managedFields"] = approvals


def _is_approval(entry: object) -> bool:
    """Return whether a managedFields entry contains the approval annotation."""
    member = entry
    for name in _APPROVAL_PATH:
        if not isinstance(member, dict) or name not in member:
            return False
        member = member[name]
    return True


def _approval_only(entry: dict[str, Any]) -> dict[str, Any]:
    annotations, annotation = _APPROVAL_PATH[-2:]
    return entry | {"fieldsV1": {"f:metadata": {annotations: {annotation: {}}}}}


def _decode_deep(text: str) -> Any:
    """Decode like `decode`, but member by member, so that only objects that are too deep are incomplete."""
    spans = {key: (start, end) for key, start, end in _members(text)}
    if "items" not in spans:
        return _object(text)
    start, end = spans.pop("items")
    items = [_object(text[begin:stop]) for begin, stop in _elements(text[start:end], start)]
    return {key: _value(key, text[begin:stop]) for key, (begin, stop) in spans.items()} | {"items": items}


def _value(key: str, text: str) -> Any:
    return _object(text) if key == "object" else loads(text.encode())


def _object(text: str) -> Any:
    """Decode one object without the members that are too deep; `UNREADABLE` names them."""
    if not text.startswith("{"):
        return loads(text.encode())
    body: dict[str, Any] = {}
    missing: list[str] = []
    for key, start, end in _members(text):
        try:
            body[key] = _metadata(text[start:end]) if key == "metadata" else loads(text[start:end].encode())
        except TooDeepError:
            missing.append(key)
    if missing:
        body[UNREADABLE] = f"{', '.join(missing)}: nested more than {MAX_DEPTH} levels deep"
    return body


def _metadata(text: str) -> Any:
    if not text.startswith("{"):
        return loads(text.encode())
    spans = {key: text[start:end] for key, start, end in _members(text) if key != "managedFields"}
    return {key: loads(value.encode()) for key, value in spans.items()}


def _members(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the keys of a JSON object and the spans of their values. Raises ValueError for anything else."""
    at = _expect(text, 0, "{")
    if text[_skip_space(text, at)] == "}":
        return
    while True:
        key, at = _DECODER.raw_decode(text, _skip_space(text, at))
        start = _skip_space(text, _expect(text, at, ":"))
        end = _end(text, start)
        yield str(key), start, end
        at = _skip_space(text, end)
        if text[at : at + 1] != ",":
            _expect(text, at, "}")
            return
        at += 1


def _elements(text: str, offset: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the elements of a JSON array that begins at `offset` of a longer text."""
    if text == "null":
        return
    at = _expect(text, 0, "[")
    if text[_skip_space(text, at)] == "]":
        return
    while True:
        start = _skip_space(text, at)
        end = _end(text, start)
        yield offset + start, offset + end
        at = _skip_space(text, end)
        if text[at : at + 1] != ",":
            _expect(text, at, "]")
            return
        at += 1


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, token: str) -> int:
    at = _skip_space(text, at)
    if text[at : at + 1] != token:
        raise ValueError(f"expected {token!r} at character {at}")
    return at + 1


def _end(text: str, start: int) -> int:
    """Find the end of the value at `start`, by Python's decoder, or by brackets if it is too deep."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except RecursionError:
        pass
    depth = 0
    for token in _TOKEN.finditer(text, start):
        run = token.group()
        if run[0] in _OPENING:
            depth += len(run)
        elif run[0] != '"':
            if len(run) >= depth:
                return token.start() + depth
            depth -= len(run)
    raise ValueError("unterminated list or object")


MAX_DEPTH = 100
"""Levels of lists and objects. The admission policy accepts 20 in the values of a Workflow; a TaskRun adds a few."""

_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_AS_LISTS = bytes.maketrans(b"{}", b"[]")


class TooDeepError(ValueError):
    """The text exceeds the limit on nesting."""


def loads(data: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Return the decoded value. Raises TooDeepError above `max_depth` levels, ValueError for text that is not JSON."""
    if is_too_deep(data, max_depth):
        raise TooDeepError(_too_deep(max_depth))
    try:
        return json.loads(data)
    except RecursionError as error:  # unbalanced brackets: the decoder reports them
        raise TooDeepError(_too_deep(max_depth)) from error


def is_too_deep(data: bytes, max_depth: int = MAX_DEPTH) -> bool:
    """Return whether JSON text exceeds `max_depth` levels. For text that is not JSON the result is undefined."""
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return False
    # Without escapes each second part between quotes is outside of strings. It costs half of a regular expression.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    brackets = b"".join(plain.split(b'"')[::2]).translate(_AS_LISTS, _NOT_BRACKETS)
    for _ in range(max_depth):
        if not brackets:
            return False
        # Each pass removes the innermost level.
        fewer = brackets.replace(b"[]", b"")
        if len(fewer) == len(brackets):
            return False  # unbalanced: the decoder reports it
        brackets = fewer
    return bool(brackets)


def _too_deep(max_depth: int) -> str:
    return f"the JSON is nested more than {max_depth} levels deep"
