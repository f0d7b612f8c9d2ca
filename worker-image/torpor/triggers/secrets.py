"""Values that stand in a Secret: how a reference to one looks, and how a class tells what came from one.

On a TaskRun stands the reference, `{"secretRef": {"name": ..., "key": ...}}`. The triggerer puts the text in its place
before it makes the trigger, as `Revealed`: so a class can take a password from a Secret and refuse one that stands on
the TaskRun for all to read. A class takes both forms, since a task pod makes it with the reference. Pure.
"""

from collections.abc import Mapping
from typing import TypeAlias

Reference: TypeAlias = Mapping[str, Mapping[str, str]]
REFERENCE = "secretRef"
_PARTS = {"name", "key"}


class Revealed(str):
    """What a Secret holds. Equal to its text, and not shown where it is represented."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def is_reference(value: object) -> bool:
    """Whether it means to name a key of a Secret, rightly or not."""
    return isinstance(value, Mapping) and REFERENCE in value


def reference(value: object, name: str) -> Reference:
    """A reference, checked. Raises ValueError naming the argument where it names no key of a Secret."""
    found = value[REFERENCE] if isinstance(value, Mapping) and set(value) == {REFERENCE} else None
    if not isinstance(found, Mapping) or set(found) != _PARTS or not all(found[part] for part in _PARTS):
        raise ValueError(f"{name} names a key of a Secret as {{secretRef: {{name: ..., key: ...}}}}, and nothing else")
    if not all(isinstance(found[part], str) for part in _PARTS):
        raise ValueError(f"{name}: the name and the key of a secretRef are text")
    return {REFERENCE: {"name": found["name"], "key": found["key"]}}
