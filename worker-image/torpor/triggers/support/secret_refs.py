"""Values that stand in a Secret: how a reference to one looks, and how a class tells what came from one.

A Workflow spells a reference `{"secretRef": {"name": ..., "key": ...}}`, a task `SecretRef(name, key)`; on a TaskRun
both carry a mark (`torpor_wire.secret_ref`). The triggerer puts the text in its place before it makes the trigger, as
`Revealed`: so a class can take a password from a Secret and refuse one that stands on the TaskRun for all to read. A
class takes both forms, since a task pod makes it with the reference. Pure.
"""

from collections.abc import Mapping
from typing import TypeAlias

from torpor_wire import secret_ref
from torpor_wire.secret_ref import SecretRef

Reference: TypeAlias = Mapping[str, Mapping[str, str]]
REFERENCE = secret_ref.FIELD


class Revealed(str):
    """What a Secret holds. Equal to its text, and not shown where it is represented."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def is_reference(value: object) -> bool:
    """Whether it means to name a key of a Secret, rightly or not."""
    return isinstance(value, Mapping) and REFERENCE in value


def reference(value: object, name: str) -> Reference:
    """A reference, checked. Raises ValueError naming the argument where it names no key of a Secret.

    What came without the mark of an author (`SecretRef`) stays without it, and is refused where it is written down.
    """
    if isinstance(value, SecretRef):
        return value
    try:
        found = secret_ref.of_field(value if isinstance(value, Mapping) else {})
    except ValueError as error:
        raise ValueError(
            f"{name} names a key of a Secret as {{secretRef: {{name: ..., key: ...}}}}, and nothing else: {error}"
        ) from error
    return {REFERENCE: found.parts()}
