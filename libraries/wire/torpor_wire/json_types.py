"""Names of the JSON types, as messages and `status.stored.type` use them. Pure."""

from collections.abc import Mapping


def type_name(value: object) -> str:
    """Return `null`, `boolean`, `number`, `string`, `list` or `object` for a decoded JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "list"


def described(value: object) -> str:
    """Return the type with its article, for a message: `a list`, `an object`, `null`."""
    name = type_name(value)
    match name:
        case "null":
            return name
        case "object":
            return f"an {name}"
        case _:
            return f"a {name}"
