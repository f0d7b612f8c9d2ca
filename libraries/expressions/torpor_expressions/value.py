"""JSON values of expressions: integers stay integers, 1.0 a float and null a null."""

from dataclasses import dataclass
from typing import TypeAlias

JSON: TypeAlias = bool | int | float | str | list["JSON"] | dict[str, "JSON"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The value of an expression. Keys of dicts are sorted at all levels, because a CEL map has no order."""

    json: JSON
