"""What a mapped task is mapped over: how many instances there are, and which items each is given (AIP-42's expand).

Several entries are a product in row-major order: the last entry changes fastest, and that order is part of the API.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from torpor_api.models.task import Group, Task
from torpor_api.models.taskrun import ArgumentSource
from torpor_api.models.workflow import TaskState
from torpor_cel import references
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON, Value
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve as inputs
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.model import map_items
from torpor_operator.model.map_items import Item, Items
from torpor_operator.state.task_state import BROKEN, Outcome, decided, failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One list that is mapped over. `name` is the argument; of expandKwargs it is empty: each item has its own."""

    name: str
    items: Items
    map: str | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """The instances of a mapped task, or the one of a task that is not: then there is no entry."""

    entries: tuple[Entry, ...] = ()

    @property
    def total(self) -> int:
        """How many instances there are."""
        return math.prod(len(entry.items) for entry in self.entries)

    def items(self, index: int) -> list[tuple[Entry, Item]]:
        """What the instance at this index is given, in the order of the entries."""
        taken: list[tuple[Entry, Item]] = []
        for entry in reversed(self.entries):
            index, place = divmod(index, len(entry.items))
            taken.append((entry, entry.items[place]))
        return taken[::-1]

    def mapping(self, index: int) -> dict[str, JSON]:
        """What expressions of an instance see as `mapping`; of several entries, keys and values by their names.

        A value that stands in the archive is not among it.
        """
        items = self.items(index)
        if not items:
            return {"index": constants.UNMAPPED}
        seen: dict[str, JSON] = {entry.name: json.loads(item.value) for entry, item in items if item.value is not None}
        if len(items) > 1:
            return {"index": index, "key": {entry.name: item.key for entry, item in items}, "value": seen}
        ((entry, item),) = items
        return {"index": index, "key": item.key} | ({"value": seen[entry.name]} if seen else {})


class Allowed(NamedTuple):
    """How many instances there may be here, of how many over all indexes of the groups around, and those indexes."""

    here: int
    everywhere: int
    indexes: int = 1


Resolved: TypeAlias = "Product | Outcome | Pending"


def resolve(task: Task | Group, scope: Scope, allowed: Allowed) -> Resolved:
    """What the task is mapped over; or its outcome where that is nothing, or cannot be; or what must be known first.

    A group as well.
    """
    if _awaited(task, scope):
        return Pending(())
    found = [_entry(task, written, scope) for written in _written(task)]
    ended = {outcome.state: outcome for outcome in reversed(found) if isinstance(outcome, Outcome)}
    # Whichever list is written first: what failed before it comes before what was skipped.
    if TaskState.UPSTREAM_FAILED in ended:
        return ended[TaskState.UPSTREAM_FAILED]
    unknown = [entry for entry in found if isinstance(entry, Pending)]
    if unknown:
        return Pending(tuple(need for entry in unknown for need in entry.needs))
    if ended:
        return ended.get(TaskState.FAILED) or ended[TaskState.SKIPPED]
    product = Product(tuple(entry for entry in found if isinstance(entry, Entry)))
    return _refused(task, product, allowed) or product


class _Written(NamedTuple):
    """An entry as its author wrote it: where it stands, its name, what it is over, and its function."""

    where: str
    name: str
    over: JSON
    map: str | None = None


def _entry(task: Task | Group, written: _Written, scope: Scope) -> Entry | Outcome | Pending:
    """One entry's items, or why there are none."""
    where, name, over, mapper = written
    items = _items(over, scope)
    if isinstance(items, Pending):
        return items
    none = isinstance(items, str | ExpressionError) or not len(items)
    if none and (unmade := _unmade(task, where, over, scope)) is not None:
        return unmade
    if isinstance(items, ExpressionError):
        return failed(task.name, items.reason, f"{where}: {items.message}")
    if not name:
        items = _of_objects(items)
    if isinstance(items, str):
        message = f"{where}: over {items}; it takes {_TAKES[bool(name)]}{_hint(over)}"
        return failed(task.name, Reason.EXPAND_INVALID, message)
    return Entry(name=name, items=items, map=mapper)


_TAKES = {True: "a list or an object", False: "a list of objects"}


def _written(task: Task | Group) -> Iterator[_Written]:
    """All entries, in their order."""
    for entry in task.expand:
        yield _Written(f"expand {entry.name}", entry.name, entry.over, entry.map)
    if task.expand_kwargs is not None:
        yield _Written("expandKwargs", "", task.expand_kwargs)


def _awaited(task: Task | Group, scope: Scope) -> bool:
    """Whether a task that makes one of the lists has not ended: by whatever rule, the width waits for it."""
    return any(
        not scope.outcomes[producer.name].ended for written in _written(task) for producer in _producers(written.over)
    )


def _unmade(task: Task | Group, where: str, over: JSON, scope: Scope) -> Outcome | None:
    """The outcome of a task of which a list was not made, since the task that makes it did not succeed.

    Of several tasks that make it one that failed comes before one that was skipped.
    """
    skipped: Outcome | None = None
    for name, field in _producers(over):
        outcome = scope.outcomes[name]
        if field == "results" and (outcome.begun or outcome.state not in BROKEN):
            continue
        if field in {"result", "results"} and outcome.state in BROKEN:
            message = f"{where}: task {name}, which makes the list: {outcome.reason or outcome.state}"
            return decided(task.name, TaskState.UPSTREAM_FAILED, Reason.UPSTREAM_FAILED, message)
        if field == "result" and outcome.state is TaskState.SKIPPED:
            message = f"{where}: task {name}, which makes the list, was skipped"
            skipped = skipped or decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, message)
    return skipped


def _producers(over: JSON) -> Iterator[references.TaskField]:
    for expression in inputs.within(over):
        found = references.of(expression, roots=inputs.OF_LIST)
        if not isinstance(found, ExpressionError):
            yield from sorted(found.fields, key=str)


def _items(over: JSON, scope: Scope) -> Items | str | ExpressionError | Pending:
    expression = inputs.single(over)
    plain = references.is_plain(expression) if expression is not None else None
    outcome = scope.outcomes.get(plain.name) if plain is not None else None
    if plain is None or outcome is None:
        return _computed(over, scope, None)
    if plain.field == "results" and outcome.mapped:
        return map_items.Results(tuple(outcome.finished()))
    source = ArgumentSource(task=plain.name, field="result", group_indexes=outcome.frame or None)
    run = outcome.runs.get(constants.UNMAPPED)
    if plain.field == "result" and run is not None and run.status.stored is not None:
        return map_items.archived(run.status.stored, source)
    return _computed(over, scope, source if plain.field == "result" else None)


def _computed(over: JSON, scope: Scope, source: ArgumentSource | None) -> Items | str | ExpressionError | Pending:
    found = inputs.resolve(over, scope)
    return map_items.known(found.json, source) if isinstance(found, Value) else found


def _of_objects(items: Items | str) -> Items | str:
    """The items of expandKwargs, each of which is an object of arguments; else what is wrong with them."""
    if isinstance(items, map_items.Keyed):
        return "an object"
    if isinstance(items, map_items.Listed):
        wrong = next((place for place, item in enumerate(items.values) if not isinstance(item, dict)), None)
        if wrong is not None:
            return f"a list whose item {wrong} is {map_items.kind(items.values[wrong])}"
    return items


def _refused(task: Task | Group, product: Product, allowed: Allowed) -> Outcome | None:
    entries, total = product.entries, product.total
    if not total:
        empty = next(entry for entry in entries if not len(entry.items))
        message = f"{_called(empty)}: the list is empty"
        return decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, message)
    if total <= allowed.here or not entries:
        return None
    factors = " x ".join(str(len(entry.items)) for entry in entries)
    counted = f"{factors} = {total} instances" if len(entries) > 1 else f"over {total} items"
    where = _called(entries[0]) if len(entries) == 1 else "expand"
    message = f"{where}: {counted}; at most {allowed.here} are allowed"
    if allowed.here < allowed.everywhere:
        message += f", as the indexes of its group share the {allowed.everywhere} of maxMapSize"
    return failed(task.name, Reason.EXPAND_INVALID, message)


def _called(entry: Entry) -> str:
    return f"expand {entry.name}" if entry.name else "expandKwargs"


def _hint(over: JSON) -> str:
    if not isinstance(over, str) or inputs.single(over) is not None:
        return ""
    if inputs.within(over):
        return "; the text is to be one expression ${...} and nothing else, no space around it either"
    return f"; an expression is written ${{{over}}}"
