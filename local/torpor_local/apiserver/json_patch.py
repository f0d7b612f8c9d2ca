"""JSON Patch (RFC 6902) as the API server applies it: all or nothing."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_local.apiserver.history import copied

HISTORY = "/status/history/-"
"""The API server fills in the default of the schema, an empty list, when it reads a stored TaskRun."""


class PatchError(Exception):
    """A `test` did not hold, or a path is not there."""


def apply(document: Any, ops: Sequence[Mapping[str, Any]]) -> Any:
    """The patched document; the one passed in stays as it is."""
    document = copied(document)
    if any(op["path"] == HISTORY for op in ops):
        document["status"].setdefault("history", [])
    for op in ops:
        match op["op"]:
            case "test":
                if not _same(_tested(document, op["path"]), op["value"]):
                    raise PatchError(f"testing value {op['path']} failed")
            case "add":
                _set(document, op["path"], copied(op["value"]), insert=True)
            case "replace":
                _set(document, op["path"], copied(op["value"]), insert=False)
            case "remove":
                _remove(document, op["path"])
            case "copy":
                _set(document, op["path"], copied(_get(document, op["from"])), insert=True)
            case "move":
                value = _get(document, op["from"])
                _remove(document, op["from"])
                _set(document, op["path"], value, insert=True)
            case other:
                raise PatchError(f"unknown operation {other!r}")
    return document


def _get(document: Any, path: str) -> Any:
    for word in _words(path):
        document = _child(document, word, path)
    return document


def _tested(document: Any, path: str) -> Any:
    """What `test` compares: a last word that is not there is null, as the API server has it."""
    parent, _, last = path.rpartition("/")
    container = _get(document, parent)
    return _child(container, last, path) if isinstance(container, list) else container.get(*_words(f"/{last}"))


def _same(value: Any, other: Any) -> bool:
    """Numbers are compared as they are written: 1 is not 1.0."""
    if isinstance(value, str) or isinstance(other, str):
        return bool(value == other)
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)


def _set(document: Any, path: str, value: Any, *, insert: bool) -> None:
    """Set a value. `replace` of a key that is not there adds it, against the RFC, as the API server does."""
    *parents, last = _words(path)
    for word in parents:
        document = _child(document, word, path)
    if not isinstance(document, list):
        document[last] = value
    elif insert:
        document.insert(len(document) if last == "-" else int(last), value)
    else:
        document[int(last)] = value


def _remove(document: Any, path: str) -> None:
    *parents, last = _words(path)
    for word in parents:
        document = _child(document, word, path)
    _child(document, last, path)
    del document[int(last) if isinstance(document, list) else last]


def _child(document: Any, word: str, path: str) -> Any:
    try:
        return document[int(word) if isinstance(document, list) else word]
    except (KeyError, IndexError, ValueError, TypeError):
        raise PatchError(f"path {path} is not there") from None


def _words(path: str) -> list[str]:
    return [word.replace("~1", "/").replace("~0", "~") for word in path.split("/")[1:]]
