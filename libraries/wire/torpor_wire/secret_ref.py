"""References to keys of Secrets in the arguments of a trigger, and the mark that distinguishes them from data.

On a TaskRun a reference is `{"__type": "secretRef", "__var": {"name": ..., "key": ...}}`. The operator writes this mark
for what the author of a Workflow wrote, a worker for a `SecretRef`. Data cannot carry it, because the encoding of typed
values escapes that shape. Each writer and the triggerer reject an object that only has the field `secretRef`, because
it may come from a server's response. Pure.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

FIELD = "secretRef"
_TYPE, _VAR = "__type", "__var"
_WRITTEN = {_TYPE, _VAR}
_PARTS = {"name", "key"}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")

UNMARKED = (
    "contains a secretRef that came as data; only a reference by the author is resolved: a task writes "
    "torpor.SecretRef('NAME', 'KEY'), a Workflow spells {secretRef: {name: NAME, key: KEY}} out in trigger.kwargs"
)


class SecretRef(Mapping[str, Mapping[str, str]]):
    """A key of a Secret in the namespace of the task, for an argument of a trigger.

        Http("https://example.org/state", headers={"Authorization": SecretRef("jobs", "token")})

    Raises ValueError for an invalid name or key.
    """

    __slots__ = ("key", "name")

    def __init__(self, name: object, key: object) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"{name!r:.100} is not the name of a Secret")
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ValueError(f"{key!r:.100} is not the key of a Secret")
        self.name = name
        self.key = key

    def __getitem__(self, field: str) -> Mapping[str, str]:
        if field != FIELD:
            raise KeyError(field)
        return self.parts()

    def __iter__(self) -> Iterator[str]:
        yield FIELD

    def __len__(self) -> int:
        return 1

    def __hash__(self) -> int:
        return hash((self.name, self.key))

    def __repr__(self) -> str:
        return f"SecretRef({self.name!r}, {self.key!r})"

    def parts(self) -> dict[str, str]:
        """Return name and key as a mapping."""
        return {"name": self.name, "key": self.key}

    def written(self) -> dict[str, Any]:
        """Return the reference as it is stored on a TaskRun."""
        return {_TYPE: FIELD, _VAR: self.parts()}


def of_parts(parts: object) -> SecretRef:
    """Return the reference of `{name, key}`. Raises ValueError."""
    if not isinstance(parts, Mapping) or set(parts) != _PARTS:
        raise ValueError("a secretRef must be {secretRef: {name: ..., key: ...}}")
    return SecretRef(parts["name"], parts["key"])


def of_field(value: Mapping[str, Any]) -> SecretRef:
    """Return the reference of `{secretRef: {name, key}}`. Raises ValueError."""
    return of_parts(value[FIELD] if set(value) == {FIELD} else None)


def is_marked(value: object) -> bool:
    """Return whether a value on a TaskRun has the mark of a reference, valid or not."""
    return isinstance(value, Mapping) and value.keys() == _WRITTEN and value[_TYPE] == FIELD


def claims(value: object) -> bool:
    """Return whether a value has the form of a reference, with or without the mark."""
    return isinstance(value, Mapping) and (FIELD in value or value.get(_TYPE) == FIELD)


def is_claimed(value: object) -> bool:
    """Return whether a value contains anything in the form of a reference."""
    left = [value]
    while left:
        item = left.pop()
        if claims(item):
            return True
        if isinstance(item, Mapping):
            left.extend(item.values())
        elif isinstance(item, list | tuple):
            left.extend(item)
    return False


def references(value: Any) -> frozenset[SecretRef]:
    """Return all references in the kwargs of a TaskRun. Raises ValueError for an unmarked or invalid one."""
    collected: list[SecretRef] = []
    replaced(value, collected.append)
    return frozenset(collected)


def replaced(value: Any, put: Callable[[SecretRef], Any]) -> Any:
    """Return the kwargs of a TaskRun with each reference replaced. Raises ValueError as `found` does."""
    match value:
        case Mapping() if is_marked(value):
            return put(of_parts(value[_VAR]))
        case Mapping() if value.keys() == _WRITTEN and isinstance(value[_VAR], Mapping):
            return {**value, _VAR: _each(value[_VAR], put)}
        case Mapping() if FIELD in value:
            raise ValueError(f"the trigger {UNMARKED}")
        case Mapping():
            return _each(value, put)
        case list() | tuple():
            return [replaced(item, put) for item in value]
        case _:
            return value


def _each(values: Mapping[str, Any], put: Callable[[SecretRef], Any]) -> dict[str, Any]:
    if FIELD in values:
        raise ValueError(f"the trigger {UNMARKED}")
    return {name: replaced(item, put) for name, item in values.items()}


def spelled(value: Any) -> Any:
    """Return the value with each marked reference as authors write it."""
    match value:
        case Mapping() if is_marked(value):
            return {FIELD: value[_VAR]}
        case Mapping():
            return {name: spelled(item) for name, item in value.items()}
        case list() | tuple():
            return [spelled(item) for item in value]
        case _:
            return value
