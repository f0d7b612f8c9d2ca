"""The schema of `spec.bodies`, from that of a task. Pure."""

from collections.abc import Sequence

from torpor_crds.crdgen.openapi import Schema
from torpor_crds.models.defaults import PLACE_FIELDS


def body(task: Schema) -> Schema:
    """The schema of a body: the fields of a task but those of its place, without defaults, which would count as set."""
    fields = {name: field for name, field in task["properties"].items() if name not in PLACE_FIELDS}
    return {
        "type": "object",
        "description": "Fields of a task.",
        "properties": {name: _undescribed(field) | _kept(field) for name, field in fields.items()},
    }


def _kept(field: Schema) -> Schema:
    """The description, without a sentence about a default."""
    return {"description": field["description"].partition(" Default: ")[0]}


def _undescribed(schema: Schema, keys: Sequence[str] = ()) -> Schema:
    """The schema without descriptions and defaults: those of `spec.tasks` hold. `keys` identify entries of a list."""
    kept = {name: value for name, value in schema.items() if name not in {"description", "default"}}
    if "properties" in schema:
        kept["properties"] = {
            name: _undescribed(field) | ({"default": field["default"]} if name in keys and "default" in field else {})
            for name, field in schema["properties"].items()
        }
    if "items" in schema:
        kept["items"] = _undescribed(schema["items"], schema.get("x-kubernetes-list-map-keys", ()))
    if isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = _undescribed(schema["additionalProperties"])
    return kept
