"""References to keys of Secrets and ConfigMaps in the arguments of a trigger, and the mark that tells them from data.

On a TaskRun a reference is `{"__type": "secretRef", "__var": {"name": ..., "key": ...}}`; the type of one to a
ConfigMap is `configMapRef`. The operator writes this mark for what the author of a Workflow wrote, a worker for a
`SecretRef` or a `ConfigMapRef`. Data cannot carry it, because the encoding of typed values escapes that shape. Each
writer and the triggerer reject an object without the mark that has the form of a reference, because it may come from a
server's response. Pure.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

FIELD = "secretRef"
CONFIG_MAP_FIELD = "configMapRef"
_TYPE, _VAR = "__type", "__var"
_WRITTEN = {_TYPE, _VAR}
_PARTS = {"name", "key"}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")

_ADVICE = (
    "came as data; only a reference by the author is resolved: a task writes torpor.{name}('NAME', 'KEY'), a Workflow "
    "spells {{{field}: {{name: NAME, key: KEY}}}} out in trigger.kwargs"
)


class KeyRef(Mapping[str, Mapping[str, str]]):
    """A key of an object in the namespace of the task, for an argument of a trigger.

    Raises ValueError for an invalid name or key.
    """

    __slots__ = ("key", "name")
    field: ClassVar[str]
    kind: ClassVar[str]

    def __init__(self, name: object, key: object) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"{name!r:.100} is not the name of a {self.kind}")
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ValueError(f"{key!r:.100} is not the key of a {self.kind}")
        self.name = name
        self.key = key

    def __getitem__(self, field: str) -> Mapping[str, str]:
        if field != self.field:
            raise KeyError(field)
        return self.parts()

    def __iter__(self) -> Iterator[str]:
        yield self.field

    def __len__(self) -> int:
        return 1

    def __hash__(self) -> int:
        return hash((self.field, self.name, self.key))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.key!r})"

    def parts(self) -> dict[str, str]:
        """Return name and key as a mapping."""
        return {"name": self.name, "key": self.key}

    def written(self) -> dict[str, Any]:
        """Return the reference as it is stored on a TaskRun."""
        return {_TYPE: self.field, _VAR: self.parts()}


class SecretRef(KeyRef):
    """A key of a Secret in the namespace of the task, for an argument of a trigger.

        Http("https://example.org/state", headers={"Authorization": SecretRef("jobs", "token")})

    Raises ValueError for an invalid name or key.
    """

    __slots__ = ()
    field = FIELD
    kind = "Secret"


class ConfigMapRef(KeyRef):
    """A key of a ConfigMap in the namespace of the task, for an argument of a trigger. Its text is not redacted."""

    __slots__ = ()
    field = CONFIG_MAP_FIELD
    kind = "ConfigMap"


CLASSES: Mapping[str, type[KeyRef]] = {each.field: each for each in (SecretRef, ConfigMapRef)}
_FIELDS = tuple(CLASSES)  # a value on a TaskRun may have a type that cannot be hashed


def of_parts(parts: object, field: str = FIELD) -> KeyRef:
    """Return the reference of `{name, key}`. Raises ValueError."""
    if not isinstance(parts, Mapping) or set(parts) != _PARTS:
        raise ValueError(f"a {field} must be {{{field}: {{name: ..., key: ...}}}}")
    return CLASSES[field](parts["name"], parts["key"])


def of_field(value: Mapping[str, Any]) -> KeyRef:
    """Return the reference of `{secretRef: {name, key}}`, or of one to a ConfigMap. Raises ValueError."""
    field = field_of(value) or FIELD
    return of_parts(value[field] if set(value) == {field} else None, field)


def field_of(value: object) -> str | None:
    """Return the field of a value that has the form of a reference without the mark.

    The source `{configMapRef: {name: ...}}` of a container's variables is none: it has no key.
    """
    match value:
        case {"secretRef": _}:
            return FIELD
        case {"configMapRef": parts, **others} if not others and (not isinstance(parts, Mapping) or "key" in parts):
            return CONFIG_MAP_FIELD
        case _:
            return None


def is_marked(value: object) -> bool:
    """Return whether a value on a TaskRun has the mark of a reference, valid or not."""
    return isinstance(value, Mapping) and value.keys() == _WRITTEN and value[_TYPE] in _FIELDS


def claims(value: object) -> bool:
    """Return whether a value has the form of a reference, with or without the mark."""
    return _claimed(value) is not None


def _claimed(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return None
    marked = value.get(_TYPE)
    return marked if marked in _FIELDS else field_of(value)


def is_claimed(value: object) -> bool:
    """Return whether a value contains anything in the form of a reference."""
    return claimed_field(value) is not None


def claimed_field(value: object) -> str | None:
    """Return the field of a reference that a value contains, with or without the mark; None without any."""
    left = [value]
    while left:
        item = left.pop()
        if (field := _claimed(item)) is not None:
            return field
        if isinstance(item, Mapping):
            left.extend(item.values())
        elif isinstance(item, list | tuple):
            left.extend(item)
    return None


def references(value: Any) -> frozenset[KeyRef]:
    """Return all references in the kwargs of a TaskRun. Raises ValueError for an unmarked or invalid one."""
    collected: list[KeyRef] = []
    replaced(value, collected.append)
    return frozenset(collected)


def replaced(value: Any, put: Callable[[KeyRef], Any]) -> Any:
    """Return the kwargs of a TaskRun with each reference replaced. Raises ValueError as `found` does."""
    match value:
        case Mapping() if is_marked(value):
            return put(of_parts(value[_VAR], value[_TYPE]))
        case Mapping() if value.keys() == _WRITTEN and isinstance(value[_VAR], Mapping):
            return {**value, _VAR: _each(value[_VAR], put)}
        case Mapping():
            return _each(value, put)
        case list() | tuple():
            return [replaced(item, put) for item in value]
        case _:
            return value


def _each(values: Mapping[str, Any], put: Callable[[KeyRef], Any]) -> dict[str, Any]:
    field = field_of(values)
    if field is not None:
        advice = _ADVICE.format(field=field, name=CLASSES[field].__name__)
        raise ValueError(f"the trigger contains a {field} that {advice}")
    return {name: replaced(item, put) for name, item in values.items()}


def spelled(value: Any) -> Any:
    """Return the value with each marked reference as authors write it."""
    match value:
        case Mapping() if is_marked(value):
            return {value[_TYPE]: value[_VAR]}
        case Mapping():
            return {name: spelled(item) for name, item in value.items()}
        case list() | tuple():
            return [spelled(item) for item in value]
        case _:
            return value
