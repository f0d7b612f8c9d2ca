"""More fields of the manifest of an object task, from a ConfigMap (ADR 0080). Pure.

The text is data: it chooses neither apiVersion nor kind, no expression in it is evaluated, and it is read with bounds.
"""

import json
from functools import lru_cache
from typing import Any, TypeAlias

import yaml
from torpor_crds.models.bodies.object_task import ManifestKeyRef, ObjectTask
from torpor_expressions import errors
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import constants

from torpor_operator.expressions.context import Pending, Scope

DEPTH_MAX = 30
_PARSED = 64
"""Texts whose fields are kept: the instances of a mapped task have the same text."""
_FIELD = "object.manifestFrom"
_LITERAL = ("apiVersion", "kind")
Fields: TypeAlias = dict[str, JSON]


class ManifestLoader(yaml.CSafeLoader):
    """Reads YAML without timestamps: JSON has none, so a date is a text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as its base declares it
        first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
        for first, entries in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def completed(body: ObjectTask, manifest: JSON, scope: Scope) -> JSON | ExpressionError | Pending:
    """The evaluated manifest with the fields of its ConfigMap that it does not set itself."""
    if body.manifest_from is None or not isinstance(manifest, dict):
        return manifest
    reference = body.manifest_from.config_map_key_ref
    answer = scope.config_map(reference.name, _FIELD, reference.key)
    if not isinstance(answer, Value):
        return answer
    fields = _fields(reference, answer.json)
    if isinstance(fields, ExpressionError):
        return fields
    for field in _LITERAL:
        if field in fields and fields[field] != manifest.get(field):
            return _failed(
                reference,
                f"{field} is {json.dumps(fields[field])[:80]}, and object.manifest has "
                f"{json.dumps(manifest.get(field))[:80]}: write the same, since data may not choose it",
            )
    return _merged(fields, manifest)


def _fields(reference: ManifestKeyRef, data: JSON) -> Fields | ExpressionError:
    text = data.get(reference.key) if isinstance(data, dict) else None
    if not isinstance(text, str):
        return _failed(reference, "the ConfigMap has no such key")
    parsed = parse(text)
    return _failed(reference, parsed) if isinstance(parsed, str) else parsed


def _failed(reference: ManifestKeyRef, problem: str) -> ExpressionError:
    return errors.failed(f"{_FIELD}: {reference.key} of ConfigMap {reference.name}: {problem}")


@lru_cache(maxsize=_PARSED)
def parse(text: str) -> Fields | str:
    """The object in a YAML or JSON text, or why there is none. The result is shared: do not change it."""
    if len(text.encode(errors="replace")) > constants.MANIFEST_MAX:
        return f"it has more than {constants.MANIFEST_MAX:,} bytes"
    try:
        if (problem := _problem(text)) is not None:
            return problem
        loaded: Any = yaml.load(text, Loader=ManifestLoader)  # noqa: S506 - a safe loader
        value = json.loads(json.dumps(loaded, allow_nan=False))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        return f"it cannot be read: {' '.join(str(error).split())[:200]}"
    return value if isinstance(value, dict) else "it is not an object"


def _problem(text: str) -> str | None:
    """Why a text could become larger than it is, or too deep. The parser yields one event at a time."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=ManifestLoader):
        match event:
            case yaml.AliasEvent():
                return "it has anchors: write their values out"
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                depth += 1
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                depth -= 1
            case yaml.DocumentStartEvent():
                documents += 1
        if depth > DEPTH_MAX or documents > 1:
            return "it has several documents" if documents > 1 else f"it is nested more than {DEPTH_MAX} levels deep"
    return None


def _merged(fields: Fields, manifest: Fields) -> Fields:
    """The fields with those of the manifest over them; a null removes one (RFC 7386)."""
    merged = {name: value for name, value in fields.items() if manifest.get(name, value) is not None}
    for name, value in manifest.items():
        below = fields.get(name)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[name] = _merged(below, value)
        elif value is not None:
            merged[name] = value
    return merged
