"""The rules of the API server for ConfigMaps, whose keys become the names of files. Pure."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_MAX = 253
_SIZE_MAX = 1024**2

Object = Mapping[str, Any]


def problem(_: Object | None, body: Object) -> str | None:
    """Return why a ConfigMap is invalid, None if it is valid."""
    data, binary = ({} if body.get(field) is None else body[field] for field in ("data", "binaryData"))
    if not isinstance(data, Mapping) or not isinstance(binary, Mapping):
        return "data and binaryData have to be objects"
    problems = [*(_key_problem("data", key) for key in data), *(_key_problem("binaryData", key) for key in binary)]
    problems += [f"data[{key}] has to be a string" for key, value in data.items() if not isinstance(value, str)]
    problems += [f"binaryData[{key}] is not base64" for key, value in binary.items() if _decoded(value) is None]
    problems += [f"data[{key}]: duplicate of key present in binaryData" for key in data.keys() & binary.keys()]
    return next(filter(None, problems), None) or _size_problem(data, binary)


def files(body: Object) -> dict[str, bytes]:
    """Return the files that a pod sees if it mounts a valid ConfigMap."""
    data, binary = body.get("data") or {}, body.get("binaryData") or {}
    return {
        **{key: text.encode() for key, text in data.items()},
        **{key: _decoded(text) or b"" for key, text in binary.items()},
    }


def _key_problem(field: str, key: str) -> str | None:
    if len(key) <= _KEY_MAX and _KEY.fullmatch(key) and key != "." and not key.startswith(".."):
        return None
    return (
        f"{field}[{key}]: a valid config key must consist of alphanumeric characters, '-', '_' or '.', "
        f"must not be '.' or start with '..', and has at most {_KEY_MAX} characters"
    )


def _size_problem(data: Mapping[str, str], binary: Mapping[str, str]) -> str | None:
    size = sum(map(len, files({"data": data, "binaryData": binary}).values()))
    return f"it has {size:,} bytes: must have at most {_SIZE_MAX:,}" if size > _SIZE_MAX else None


def _decoded(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
