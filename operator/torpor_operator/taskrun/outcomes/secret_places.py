"""Puts references to Secrets into the kwargs of a trigger, at places that a container names beside them. Pure.

A container writes its kwargs as JSON, which may contain data of a server. So a reference is not part of the kwargs
(ADR 0017). It is separate, under the JSON Pointer (RFC 6901) of the argument that it fills. It may only name a Secret
that the author of the Workflow listed (ADR 0049).
"""

from collections.abc import Mapping
from typing import Any

from torpor_wire import secret_ref, trigger
from torpor_wire.secret_ref import KeyRef, SecretRef

_MANY = 32


def put(kwargs: Mapping[str, Any], secrets: object, permitted: frozenset[SecretRef]) -> Any:
    """The kwargs with the references of `secrets`: `{"/headers/Authorization": {"name": ..., "key": ...}}`.

    Each reference must be permitted. The last part of a pointer is a new key of an object, or of an object that is
    created. Raises ValueError.
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
        filled = _put(filled, path, _reference(parts, permitted), pointer)
    return filled


def _reference(parts: object, permitted: frozenset[SecretRef]) -> KeyRef:
    reference = secret_ref.of_parts(parts)
    if reference not in permitted:
        name, key = reference.name, reference.key
        raise ValueError(
            f"the container may not use the key {key} of the Secret {name} in a trigger: add {{name: {name}, "
            f"key: {key}}} to container.triggerSecrets of the task"
        )
    return reference


def _put(value: Any, path: list[str], reference: KeyRef, pointer: str) -> Any:
    """A copy of the value with the reference at the path."""
    name, *rest = path
    match value:
        case KeyRef():
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
    raise ValueError(f"{pointer[:100]!r} in defer.trigger.secrets is not a free place in defer.trigger.kwargs")


def unsealed(value: object) -> str | None:
    """The name of an argument that is to be sealed and is not, so that no plain secret is stored on a TaskRun."""
    left: list[object] = [value]
    while left:
        match left.pop():
            case dict() as entries:
                for name, inner in entries.items():
                    sealed = isinstance(inner, str) and inner.startswith("sealed:")
                    if name.startswith(trigger.SEALED) and not sealed:
                        return str(name)
                left.extend(entries.values())
            case list() as items:
                left.extend(items)
            case _:
                pass
    return None
