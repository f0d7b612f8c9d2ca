"""JSON values as expressions take and give them.

Here because every module of the package speaks of them. An integer stays an integer, 1.0 a float and null a null.
"""

from dataclasses import dataclass
from typing import TypeAlias

JSON: TypeAlias = bool | int | float | str | list["JSON"] | dict[str, "JSON"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What an evaluation yields. Keys of dicts are sorted at every depth, since a CEL map has no order."""

    json: JSON
