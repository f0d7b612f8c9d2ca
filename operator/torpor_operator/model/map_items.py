"""The items of a mapped task: from a value, from the results of a task, or from a result in the archive.

Each item is created on access, since a task may have ten thousand. Pure.
"""

import json
from dataclasses import dataclass
from typing import Protocol

from torpor_crds.models.archive import StoredResult
from torpor_crds.models.argument import ArgumentSource
from torpor_crds.models.taskrun import TaskRun
from torpor_expressions.value import JSON
from torpor_wire import canonical, json_types


@dataclass(frozen=True, slots=True, kw_only=True)
class MapItem:
    """One item: its key, its JSON text if the operator has it, and the source from which a worker can read it.

    `value` is the text of `mapping.value`; for an entry of an object it is the value alone, and the item `[key,
    value]`.
    """

    key: JSON
    text: str | None = None
    value: str | None = None
    source: ArgumentSource | None = None


class MapItems(Protocol):
    """The items of one entry of `expand`, in a stable order."""

    def __len__(self) -> int:
        """The number of items."""

    def __getitem__(self, position: int, /) -> MapItem:
        """The item at a position, from 0."""


@dataclass(frozen=True, slots=True)
class ListItems:
    """A list whose values the operator has; `source` is the result that the list is, if it is one."""

    values: list[JSON]
    source: ArgumentSource | None = None

    def __len__(self) -> int:
        """The number of items."""
        return len(self.values)

    def __getitem__(self, position: int, /) -> MapItem:
        """The item is the value."""
        text = canonical.plain(self.values[position])
        return MapItem(key=position, text=text, value=text, source=_item(self.source, position))


@dataclass(frozen=True, slots=True)
class ObjectItems:
    """An object whose values the operator has, as a list of its entries."""

    entries: tuple[tuple[str, JSON], ...]
    source: ArgumentSource | None = None

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.entries)

    def __getitem__(self, position: int, /) -> MapItem:
        """The item is `[key, value]`."""
        key, value = self.entries[position]
        source = _item(self.source, position)
        return MapItem(key=key, text=canonical.plain([key, value]), value=canonical.plain(value), source=source)


@dataclass(frozen=True, slots=True)
class ArchivedItems:
    """A list or object in the archive: the operator has only its length and keys (AIP-42's TaskMapping)."""

    length: int
    keys: tuple[str, ...] | None
    source: ArgumentSource

    def __len__(self) -> int:
        """The number of items."""
        return self.length

    def __getitem__(self, position: int, /) -> MapItem:
        """The item is read by the worker."""
        return MapItem(key=position if self.keys is None else self.keys[position], source=_item(self.source, position))


@dataclass(frozen=True, slots=True)
class ResultItems:
    """The results of a mapped task by index, without instances that have none."""

    runs: tuple[TaskRun, ...]

    def __len__(self) -> int:
        """The number of items."""
        return len(self.runs)

    def __getitem__(self, position: int, /) -> MapItem:
        """The result of one instance."""
        run = self.runs[position]
        text = run.status.result
        spec = run.spec
        source = ArgumentSource(task=spec.task, field="result", index=spec.map_index, group_indexes=spec.group_indexes)
        return MapItem(key=position, text=text, value=text, source=source)


def items_of_value(value: JSON, source: ArgumentSource | None) -> MapItems | str:
    """The items of a list or object; the type of any other value."""
    match value:
        case list():
            return ListItems(value, source)
        case dict():
            return ObjectItems(tuple(value.items()), source)
        case _:
            return json_types.described(value)


def items_of_archived(stored: StoredResult, source: ArgumentSource) -> MapItems | str:
    """The items of a result in the archive; its type if it has none, or if its keys are unknown."""
    match stored.type:
        case "list":
            return ArchivedItems(stored.length or 0, None, source)
        case "object" if stored.keys is not None:
            names = _keys(stored.keys, stored.length)
            return "an object whose keys are unreadable" if names is None else ArchivedItems(len(names), names, source)
        case "object":
            return f"an object with {stored.length} keys, too many to expand"
        case other:
            return f"of type {other}"


def _keys(text: str, count: int | None) -> tuple[str, ...] | None:
    """The keys of an object; None if the text is not a list of them: the pod's account can write any text there."""
    try:
        keys: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(keys, list) or len(keys) != count:
        return None
    names = tuple(name for name in keys if isinstance(name, str))
    return names if len(names) == count else None


def _item(source: ArgumentSource | None, position: int) -> ArgumentSource | None:
    return None if source is None else source.model_copy(update={"item": position})
