"""Values that only Airflow's serde can encode, within the JSON that Torpor stores.

Torpor's typed JSON encodes moments, sets, bytes and other standard types, so that people can read them. Every other
object becomes the form of Airflow's serde, `{"__classname__": …, "__version__": …, "__data__": …}`. Decoding creates
only classes that Airflow's configuration allows.
"""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import serde
from torpor_wire import canonical, typed_json

_DEPTH_MAX = typed_json.DEPTH_MAX
_CLASS, _VERSION = "__classname__", "__version__"


def encode(value: Any, depth: int = 0) -> Any:
    """Return the value with each object that typed JSON cannot hold replaced by the form of serde.

    Raises TypeError for an object that serde cannot encode either.
    """
    if depth > _DEPTH_MAX:
        raise TypeError(f"a value is nested more than {_DEPTH_MAX} deep, or contains itself")
    match value:
        case Mapping():
            return {name: encode(item, depth + 1) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return (
                type(value)(encode(item, depth + 1) for item in value) if _is_plain(value) else serde.serialize(value)
            )
        case _:
            return value if _is_typed_json(value) else serde.serialize(value)


def decode(value: Any) -> Any:
    """Return the value with each form of serde replaced by its object. Raises ValueError for a class not allowed."""
    match value:
        case {"__classname__": str(), "__version__": int()}:
            try:
                return serde.deserialize(value)
            except (ImportError, TypeError, AttributeError, KeyError) as error:
                raise ValueError(f"a value cannot be decoded: {error}") from error
        case Mapping():
            return {name: decode(item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset() if _is_plain(value):
            return type(value)(decode(item) for item in value)
        case _:
            return value


def _is_plain(value: Any) -> bool:
    """Whether a collection is of its type itself: a NamedTuple takes other arguments."""
    return type(value) in {list, tuple, set, frozenset}


def _is_typed_json(value: Any) -> bool:
    try:
        typed_json.encode(value)
    except canonical.NotJsonError:
        return False
    return True
