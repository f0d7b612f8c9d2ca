"""TaskRuns with every field of the schema, and without each field that may be unset."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from torpor_crds.crdgen import openapi
from torpor_crds.models.base import Metadata
from torpor_crds.models.taskrun import TaskRunSpec, TaskRunStatus
from torpor_wire import constants, times

Body: TypeAlias = dict[str, Any]
Location: TypeAlias = tuple[str | int, ...]

SCHEMA = {
    "type": "object",
    "required": ["metadata", "spec", "status"],
    "properties": {
        "metadata": {**Metadata.model_json_schema(), "required": ["name", "namespace", "uid", "creationTimestamp"]},
        "spec": openapi.structural(TaskRunSpec.model_json_schema()),
        "status": openapi.structural(TaskRunStatus.model_json_schema()),
    },
}
_JSON_TEXTS = {"kwargs": '{"rows": 2}', "event": '{"rows": 3}', "value": "[4]"}


def _sample(schema: Mapping[str, Any], name: str, number: Iterator[int]) -> Any:
    """Return a valid value that is not the default. Most numbers, times, durations and texts differ from each other."""
    match schema:
        case {"enum": [*words]}:
            return next(word for word in reversed(words) if word != schema.get("default"))
        case {"properties": fields}:
            return {key: _sample(field, key, number) for key, field in fields.items()}
        case {"type": "array", "items": items}:
            return [_sample(items, name, number)]
        case {"type": "boolean"}:
            return not schema.get("default", False)
        case {"type": "integer"}:
            return min(next(number), schema.get("maximum", constants.MAP_MAX))
        case {"type": "number"}:
            return next(number) + 0.5
        case {"type": "object"}:
            return {"key": "value"}
        case {"anyOf": [inner, {"type": "null"}]}:
            return _sample(inner, name, number)
        case _:
            return _text(schema, name, number)


def _text(schema: Mapping[str, Any], name: str, number: Iterator[int]) -> str:
    if schema.get("format") == "date-time" or name.endswith("Timestamp"):
        return times.rfc3339(1_800_000_000 + 60 * next(number))
    if schema.get("pattern") == times.DURATION_PATTERN:
        return f"{next(number)}s"
    return _JSON_TEXTS.get(name, f"{name.lower()}{next(number)}")


def full() -> Body:
    """Return a TaskRun with every field."""
    body: Body = _sample(SCHEMA, "", iter(range(2, 250)))
    body["status"]["history"].append(dict(body["status"]["history"][0]))
    return body


def _optional(schema: Mapping[str, Any], at: Location = ()) -> Iterator[Location]:
    """Yield the location of each field that may be unset."""
    for name, field in schema.get("properties", {}).items():
        if name not in schema.get("required", ()):
            yield (*at, name)
        yield from _optional(field, (*at, name))
    if "items" in schema:
        yield from _optional(schema["items"], (*at, 0))


def _without(body: Body, location: Location) -> Body:
    body = copy.deepcopy(body)
    parent: Any = body
    for step in location[:-1]:
        parent = parent[step]
    del parent[location[-1]]
    return body


def bodies() -> Iterator[tuple[str, Body]]:
    """Yield TaskRuns with every field, without one of the fields that may be unset, and without all of them."""
    yield "every field", full()
    least = full()
    for location in _optional(SCHEMA):
        yield "without " + ".".join(map(str, location)), _without(full(), location)
    for location in sorted(_optional(SCHEMA), key=len, reverse=True):
        least = _without(least, location)
    yield "no field that may be unset", least


class Recorded(dict[str, Any]):
    """JSON that records the fields that are read."""

    def __init__(self, body: Mapping[str, Any], read: set[str], at: str = "") -> None:
        """`read` gets the names of the fields with their parents: `spec.workflow.name`."""
        self._read, self._at = read, at
        super().__init__({name: self._wrapped(value, f"{at}{name}.") for name, value in body.items()})

    def _wrapped(self, value: Any, at: str) -> Any:
        if isinstance(value, list):
            return [self._wrapped(item, at) for item in value]
        return Recorded(value, self._read, at) if isinstance(value, dict) else value

    def _record(self, name: object) -> None:
        self._read.add(f"{self._at}{name}")

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value, and record its name."""
        self._record(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self._record(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._record(name)
        return super().__contains__(name)


def fields(schema: Mapping[str, Any] = SCHEMA, at: str = "") -> Iterator[str]:
    """Yield the name of each field with its parents: `spec.workflow.name`."""
    for name, field in schema.get("properties", {}).items():
        yield f"{at}{name}"
        yield from fields(field.get("items", field), f"{at}{name}.")
