"""References to keys of Secrets, and values that came from one.

A Workflow writes `{"secretRef": {"name": ..., "key": ...}}`, a task `SecretRef(name, key)`. On a TaskRun both are
marked (`torpor_wire.secret_ref`). The triggerer replaces the reference by the text as `Revealed` before it creates the
trigger. So a class can accept a password from a Secret and reject one that is readable on the TaskRun. A class accepts
both forms, because a task pod creates it with the reference. Pure.
"""

from collections.abc import Mapping
from typing import TypeAlias

from torpor_wire import secret_ref
from torpor_wire.secret_ref import SecretRef

Reference: TypeAlias = Mapping[str, Mapping[str, str]]
REFERENCE = secret_ref.FIELD


class Revealed(str):
    """A value from a Secret. It equals its text, and its repr hides it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def is_reference(value: object) -> bool:
    """Return whether a value has the form of a reference, valid or not."""
    return isinstance(value, Mapping) and REFERENCE in value


def reference(value: object, name: str) -> Reference:
    """Return a valid reference. Raises ValueError naming the argument.

    A reference without the mark of an author (`SecretRef`) stays unmarked, and is rejected when it is stored.
    """
    if isinstance(value, SecretRef):
        return value
    try:
        found = secret_ref.of_field(value if isinstance(value, Mapping) else {})
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return {REFERENCE: found.parts()}
