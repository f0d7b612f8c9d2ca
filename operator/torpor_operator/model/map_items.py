"""Where the items of a mapped task come from: a value that is known here, results of tasks, a result in the archive.

Items are made when they are asked for, since a task may have ten thousand. Pure.
"""

import json
from dataclasses import dataclass
from typing import Protocol

from torpor_api.models.stored_result import StoredResult
from torpor_api.models.taskrun import ArgumentSource, TaskRun
from torpor_cel.value import JSON
from torpor_wire import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item: the key a person knows it by, its JSON text where it is known here, and where a worker can read it.

    `value` is the text of `mapping.value`, which of an object's entry is less than the item `[key, value]`.
    """

    key: JSON
    text: str | None = None
    value: str | None = None
    source: ArgumentSource | None = None


class Items(Protocol):
    """The items of one entry of `expand`, in an order that never changes."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, place: int, /) -> Item:
        """The one at a place, from 0."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A list whose values are known; `source` is the result that it is, where it is one."""

    values: list[JSON]
    source: ArgumentSource | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self.values)

    def __getitem__(self, place: int, /) -> Item:
        """The item is the value."""
        text = canonical.plain(self.values[place])
        return Item(key=place, text=text, value=text, source=_item(self.source, place))


@dataclass(frozen=True, slots=True)
class Keyed:
    """An object whose values are known, as a list of its entries in their order."""

    entries: tuple[tuple[str, JSON], ...]
    source: ArgumentSource | None = None

    def __len__(self) -> int:
        """How many entries it has."""
        return len(self.entries)

    def __getitem__(self, place: int, /) -> Item:
        """The item is `[key, value]`."""
        key, value = self.entries[place]
        source = _item(self.source, place)
        return Item(key=key, text=canonical.plain([key, value]), value=canonical.plain(value), source=source)


@dataclass(frozen=True, slots=True)
class Archived:
    """A list or an object in the archive: only its length, and an object's keys, are known (AIP-42's TaskMapping)."""

    length: int
    keys: tuple[str, ...] | None
    source: ArgumentSource

    def __len__(self) -> int:
        """How many items it has."""
        return self.length

    def __getitem__(self, place: int, /) -> Item:
        """The item is read by the worker."""
        return Item(key=place if self.keys is None else self.keys[place], source=_item(self.source, place))


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a mapped task, in the order of its indexes; instances without one are left out."""

    runs: tuple[TaskRun, ...]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.runs)

    def __getitem__(self, place: int, /) -> Item:
        """The result of one instance, whole."""
        run = self.runs[place]
        text = run.status.result
        spec = run.spec
        source = ArgumentSource(task=spec.task, field="result", index=spec.map_index, group_indexes=spec.group_indexes)
        return Item(key=place, text=text, value=text, source=source)


def known(value: JSON, source: ArgumentSource | None) -> Items | str:
    """The items of a value; of what has none, being neither a list nor an object, the kind."""
    match value:
        case list():
            return Listed(value, source)
        case dict():
            return Keyed(tuple(value.items()), source)
        case _:
            return kind(value)


def archived(stored: StoredResult, source: ArgumentSource) -> Items | str:
    """The items of a result in the archive; of one that has none, or whose keys are not known, the kind."""
    match stored.type:
        case "list":
            return Archived(stored.length or 0, None, source)
        case "object" if stored.keys is not None:
            names = _keys(stored.keys, stored.length)
            return "an object whose keys cannot be read" if names is None else Archived(len(names), names, source)
        case "object":
            return f"an object of {stored.length} keys, more than are known here"
        case other:
            return f"a {other}"


def kind(value: JSON) -> str:
    """What a value is, for a message."""
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")


def _keys(text: str, count: int | None) -> tuple[str, ...] | None:
    """The keys of an object; None where it is no such list: the pod's account may write what it likes there."""
    try:
        found: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) != count:
        return None
    names = tuple(name for name in found if isinstance(name, str))
    return names if len(names) == count else None


def _item(source: ArgumentSource | None, place: int) -> ArgumentSource | None:
    return None if source is None else source.model_copy(update={"item": place})
