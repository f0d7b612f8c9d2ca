"""Decodes what the API server sends, one object at a time, so that one object never fails a whole list or watch.

`metadata.managedFields` is half of an object's bytes, and any writer of an object may set it to anything. Only the
entries of who answered a person's wait are kept, which tell when. An object that is nested too deeply keeps its name,
its version and the members that can be read; `UNREADABLE` says what is missing. Pure: no I/O.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from torpor_wire import constants

from torpor_api.client import bounded_json

UNREADABLE = "torpor.dev/unreadable"
"""The member of an object that cannot be read whole: a sentence for people. No API server sends it."""

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]+|[\]}]+', re.DOTALL)
_OPENING = "[{"
_ANSWER = ("fieldsV1", "f:metadata", "f:annotations", f"f:{constants.APPROVAL}")


def decode(data: bytes) -> Any:
    """One object, or a list of objects with `items`. Raises ValueError for text that is not JSON."""
    if bounded_json.is_too_deep(data):
        return _decode_deep(data.decode())
    body = bounded_json.loads(data)
    if isinstance(body, dict):
        items = body.get("items")
        for each in items if isinstance(items, list) else [body]:
            _reduce_managed_fields(each)
    return body


def decode_event(line: bytes) -> dict[str, Any]:
    """One event of a watch: `type` and `object`. Raises ValueError for text that is not such an event."""
    event: Any
    if bounded_json.is_too_deep(line):
        text = line.decode()
        event = {key: _value(key, text[start:end]) for key, start, end in _members(text)}
    else:
        event = bounded_json.loads(line)
        if isinstance(event, dict):
            _reduce_managed_fields(event.get("object"))
    if isinstance(event, dict) and isinstance(event.get("object"), dict):
        return event
    raise ValueError(f"a watch event without an object: {line[:100]!r}")


def bounded_event(line: bytes) -> bytes:
    """The event as one line of JSON that any decoder reads; for a client that decodes watches itself."""
    return json.dumps(decode_event(line), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _reduce_managed_fields(body: object) -> None:
    if isinstance(body, dict) and isinstance(metadata := body.get("metadata"), dict):
        entries = metadata.pop("managedFields", None)
        answers = [_answer(each) for each in entries if _answers(each)] if isinstance(entries, list) else []
        if answers:
            metadata["managedFields"] = answers


def _answers(entry: object) -> bool:
    """Whether an entry is of who wrote the annotation that answers a person's wait."""
    found = entry
    for name in _ANSWER:
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


def _answer(entry: dict[str, Any]) -> dict[str, Any]:
    annotations, word = _ANSWER[-2:]
    return entry | {"fieldsV1": {"f:metadata": {annotations: {word: {}}}}}


def _decode_deep(text: str) -> Any:
    """What `decode` returns, read member by member: only the objects that are too deep lose anything."""
    spans = {key: (start, end) for key, start, end in _members(text)}
    if "items" not in spans:
        return _object(text)
    start, end = spans.pop("items")
    items = [_object(text[begin:stop]) for begin, stop in _elements(text[start:end], start)]
    return {key: _value(key, text[begin:stop]) for key, (begin, stop) in spans.items()} | {"items": items}


def _value(key: str, text: str) -> Any:
    return _object(text) if key == "object" else bounded_json.loads(text.encode())


def _object(text: str) -> Any:
    """One object; the members that are too deep are left out, and `UNREADABLE` names them."""
    if not text.startswith("{"):
        return bounded_json.loads(text.encode())
    body: dict[str, Any] = {}
    missing: list[str] = []
    for key, start, end in _members(text):
        try:
            body[key] = (
                _metadata(text[start:end]) if key == "metadata" else bounded_json.loads(text[start:end].encode())
            )
        except bounded_json.TooDeepError:
            missing.append(key)
    if missing:
        body[UNREADABLE] = f"{', '.join(missing)}: nested more than {bounded_json.MAX_DEPTH} levels deep"
    return body


def _metadata(text: str) -> Any:
    if not text.startswith("{"):
        return bounded_json.loads(text.encode())
    spans = {key: text[start:end] for key, start, end in _members(text) if key != "managedFields"}
    return {key: bounded_json.loads(value.encode()) for key, value in spans.items()}


def _members(text: str) -> Iterator[tuple[str, int, int]]:
    """The keys of a JSON object, each with the span of its value. Raises ValueError for text that is no object."""
    at = _past(text, 0, "{")
    if text[_skip(text, at)] == "}":
        return
    while True:
        key, at = _DECODER.raw_decode(text, _skip(text, at))
        start = _skip(text, _past(text, at, ":"))
        end = _end(text, start)
        yield str(key), start, end
        at = _skip(text, end)
        if text[at : at + 1] != ",":
            _past(text, at, "}")
            return
        at += 1


def _elements(text: str, offset: int) -> Iterator[tuple[int, int]]:
    """The spans of the elements of a JSON array that begins at `offset` of a longer text."""
    if text == "null":
        return
    at = _past(text, 0, "[")
    if text[_skip(text, at)] == "]":
        return
    while True:
        start = _skip(text, at)
        end = _end(text, start)
        yield offset + start, offset + end
        at = _skip(text, end)
        if text[at : at + 1] != ",":
            _past(text, at, "]")
            return
        at += 1


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _past(text: str, at: int, token: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != token:
        raise ValueError(f"{token!r} expected at character {at}")
    return at + 1


def _end(text: str, start: int) -> int:
    """Where the value that begins at `start` ends: by Python's decoder, or by its brackets where it is too deep."""
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
    raise ValueError("a list or an object without an end")
