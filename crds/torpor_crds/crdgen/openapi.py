"""Converts pydantic's JSON schema into the structural OpenAPI v3 schema of a CRD.

A CRD allows no `$ref`, no `anyOf` with null and no `title`. Every node needs a type, and CEL's cost estimate needs a
bound on every string, list and map. `kubectl explain` prints the descriptions, so a field without one is an error. This
module knows no kind by name; `definitions` does.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

_KEPT = (
    "description",
    "type",
    "format",
    "pattern",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
)
_BOUNDS = {"string": "maxLength", "array": "maxItems"}
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMPTY: tuple[object, ...] = (None, "", [], {})


class SchemaError(ValueError):
    """The model cannot become a CRD; the message names each field and what it lacks."""


def structural(model: Mapping[str, Any]) -> Schema:
    """Convert the output of `model_json_schema`. Raises SchemaError with every invalid field."""
    schema = _node(model, model.get("$defs", {}))
    problems = [*_find_problems(schema, "")]
    if problems:
        raise SchemaError("\n".join(problems))
    return schema


def _node(source: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    if not source.get("x-any"):  # which may be a union
        source = _resolve(source, definitions)
    if source.get("x-any"):
        return {
            **_description(source),
            "nullable": True,
            _PRESERVE: True,
        }
    if "x-text-form" in source:
        return _object_or_text(source, definitions)
    if source.get("x-object"):
        return {**_description(source), "type": "object", _PRESERVE: True}
    node: Schema = {key: source[key] for key in _KEPT if key in source}
    if "exclusiveMaximum" in source:
        node["maximum"] = source["exclusiveMaximum"] - 1
    node |= _default(node, source)
    if "properties" in source:
        node["properties"] = {name: _node(field, definitions) for name, field in source["properties"].items()}
    if isinstance(source.get("additionalProperties"), Mapping):
        node["additionalProperties"] = _node(source["additionalProperties"], definitions)
    if "items" in source:
        node["items"] = _node(source["items"], definitions)
    if "x-key" in source:
        node |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [source["x-key"]]}
    return node


def _object_or_text(source: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """An object, or a text: without a type, keywords for one have no effect on the other."""
    node = _node({key: value for key, value in source.items() if key != "x-text-form"}, definitions)
    text: Schema = source["x-text-form"]
    return {key: value for key, value in node.items() if key != "type"} | text | {_PRESERVE: True}


def _default(node: Schema, source: Mapping[str, Any]) -> Schema:
    """The default, which the description names. An empty one is left out, unless `x-default` requires it."""
    if "x-default" in source:
        return {"default": source["x-default"]}
    if source.get("default") in _EMPTY:
        return {}
    default = source["default"]
    if isinstance(default, dict):  # a null is a field without a default
        default = {name: value for name, value in default.items() if value is not None}
    if not isinstance(default, str | int) or "description" not in node:
        return {"default": default}
    return {"default": default, "description": f"{node['description']} Default: {json.dumps(default).strip(chr(34))}."}


def _description(source: Mapping[str, Any]) -> Schema:
    return {"description": source["description"]} if "description" in source else {}


def _resolve(source: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve the node's reference and its `or null`. The node's own keywords override those of its target."""
    if "$ref" in source:
        target = definitions[source["$ref"].rpartition("/")[2]]
        return _resolve({**target, **{key: value for key, value in source.items() if key != "$ref"}}, definitions)
    if "anyOf" in source:
        present = [option for option in source["anyOf"] if option.get("type") != "null"]
        if len(present) != 1:
            raise SchemaError(f"a CRD field must have one type, not a union: {source['anyOf']}")
        return _resolve({**present[0], **{key: source[key] for key in source if key != "anyOf"}}, definitions)
    return source


def _find_problems(node: Schema, path: str) -> Iterator[str]:
    kind = node.get("type")
    if kind is None and _PRESERVE not in node:
        yield f"{path or 'the object'}: no type"
    if "enum" not in node and isinstance(kind, str) and _BOUNDS.get(kind, "type") not in node:
        yield f"{path}: no {_BOUNDS[kind]}"
    for name, field in node.get("properties", {}).items():
        if not field.get("description"):
            yield f"{path}.{name}: no description"
        yield from _find_problems(field, f"{path}.{name}")
    if "additionalProperties" in node:
        if "maxProperties" not in node:
            yield f"{path}: no maxProperties"
        yield from _find_problems(node["additionalProperties"], f"{path}.*")
    if "items" in node:
        yield from _find_problems(node["items"], f"{path}[]")
