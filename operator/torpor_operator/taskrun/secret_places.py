"""Puts references to Secrets into the kwargs of a trigger, at places that a container names beside them. Pure.

A container writes its kwargs as JSON, which may contain data of a server. So a reference is not part of the kwargs
(adr/0017). It is separate, under the JSON Pointer (RFC 6901) of the argument that it fills.
"""

from collections.abc import Mapping
from typing import Any

from torpor_wire import secret_ref

_MANY = 32


def put(kwargs: Mapping[str, Any], secrets: object) -> Any:
    """The kwargs with the references of `secrets`: `{"/headers/Authorization": {"name": ..., "key": ...}}`.

    The last part of a pointer is a new key of an object, or of an object that is created. Raises ValueError.
    """
    if secrets is None:
        return kwargs
    if not isinstance(secrets, Mapping) or len(secrets) > _MANY:
        raise ValueError(f'"defer.trigger.secrets" must be an object of at most {_MANY} pointers')
    filled: Any = kwargs
    for pointer, parts in secrets.items():
        if not pointer.startswith("/"):
            raise ValueError(f"{pointer[:100]!r} in defer.trigger.secrets is not a JSON Pointer; write /NAME")
        path = [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]
        filled = _put(filled, path, secret_ref.of_parts(parts), pointer)
    return filled


def _put(value: Any, path: list[str], reference: secret_ref.SecretRef, pointer: str) -> Any:
    """A copy of the value with the reference at the path."""
    name, *rest = path
    match value:
        case secret_ref.SecretRef():
            pass
        case Mapping() if not rest and name not in value:
            return {**value, name: reference}
        case Mapping() if rest:
            return {**value, name: _put(value.get(name, {}), rest, reference, pointer)}
        case list() if rest and name.isdecimal() and len(name) <= 4 and int(name) < len(value):  # noqa: PLR2004 - digits
            place = int(name)
            return [*value[:place], _put(value[place], rest, reference, pointer), *value[place + 1 :]]
        case _:
            pass
    raise ValueError(f"{pointer[:100]!r} in defer.trigger.secrets is no free place in defer.trigger.kwargs")
