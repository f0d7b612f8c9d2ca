"""What a mapped task is mapped over: how many instances there are, and the items of each (AIP-42's expand).

Several entries form a product in row-major order: the last entry changes fastest. That order is part of the API.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from torpor_crds.models.argument import ArgumentSource, MappedGroup
from torpor_crds.models.task import Task
from torpor_expressions import references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import constants, json_types
from torpor_wire.reason import Reason
from torpor_wire.state import TASK_BROKEN, TaskState

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.model import map_items
from torpor_operator.model.map_items import MapItem, MapItems
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs, without_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedList:
    """One list. `name` is the argument; it is empty for expandKwargs, whose items name their own arguments."""

    name: str
    items: MapItems
    map: str | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """The instances of a mapped task. A task that is not mapped has one instance and no entry."""

    entries: tuple[ExpandedList, ...] = ()

    @property
    def total(self) -> int:
        """How many instances there are."""
        return math.prod(len(entry.items) for entry in self.entries)

    def items(self, index: int) -> list[tuple[ExpandedList, MapItem]]:
        """The items of the instance at this index, in the order of the entries."""
        items: list[tuple[ExpandedList, MapItem]] = []
        for entry in reversed(self.entries):
            index, position = divmod(index, len(entry.items))
            items.append((entry, entry.items[position]))
        return items[::-1]

    def mapping(self, index: int) -> dict[str, JSON]:
        """What expressions of an instance see as `mapping`; with several entries, keys and values by name.

        It does not contain a value that is in the archive.
        """
        items = self.items(index)
        if not items:
            return {"index": constants.UNMAPPED}
        values: dict[str, JSON] = {
            entry.name: json.loads(item.value) for entry, item in items if item.value is not None
        }
        if len(items) > 1:
            return {"index": index, "key": {entry.name: item.key for entry, item in items}, "value": values}
        ((entry, item),) = items
        return {"index": index, "key": item.key} | ({"value": values[entry.name]} if values else {})


class Allowed(NamedTuple):
    """How many instances a task may have here and over all indexes of its groups, and how many indexes those are."""

    here: int
    everywhere: int
    indexes: int = 1


Resolved: TypeAlias = "Product | TaskOutcome | Pending"


def resolve_product(task: Task | MappedGroup, scope: Scope, allowed: Allowed) -> Resolved:
    """What a task or group is mapped over; its outcome where that is empty or invalid; or what must be known first."""
    if _awaits_producer(task, scope):
        return Pending(())
    entries = [_entry(task, spec, scope) for spec in _specs(task)]
    outcomes = {outcome.state: outcome for outcome in reversed(entries) if isinstance(outcome, TaskOutcome)}
    # A failed producer counts before a skipped one, in any order of the lists.
    if TaskState.UPSTREAM_FAILED in outcomes:
        return outcomes[TaskState.UPSTREAM_FAILED]
    pending = [entry for entry in entries if isinstance(entry, Pending)]
    if pending:
        return Pending(tuple(need for entry in pending for need in entry.needs))
    if outcomes:
        return outcomes.get(TaskState.FAILED) or outcomes[TaskState.SKIPPED]
    product = Product(tuple(entry for entry in entries if isinstance(entry, ExpandedList)))
    return _rejected(task, product, allowed) or product


class _EntrySpec(NamedTuple):
    """An entry as in the spec: its field, name, list and `map` function."""

    field: str
    name: str
    over: JSON
    map: str | None = None


def _entry(task: Task | MappedGroup, spec: _EntrySpec, scope: Scope) -> ExpandedList | TaskOutcome | Pending:
    """One entry with its items, or why it has none."""
    field, name, over, mapper = spec
    items = _items(over, scope)
    if isinstance(items, Pending):
        return items
    empty = isinstance(items, str | ExpressionError) or not len(items)
    if empty and (missing := _outcome_without_list(task, field, over, scope)) is not None:
        return missing
    if isinstance(items, ExpressionError):
        return failed_without_runs(task.name, items.reason, f"{field}: {items.message}")
    if not name:
        items = _require_objects(items)
    if isinstance(items, str):
        message = f"{field}: the value is {items}; it must be {_REQUIRED[bool(name)]}{_hint(over)}"
        return failed_without_runs(task.name, Reason.EXPAND_INVALID, message)
    return ExpandedList(name=name, items=items, map=mapper)


_REQUIRED = {True: "a list or an object", False: "a list of objects"}


def _specs(task: Task | MappedGroup) -> Iterator[_EntrySpec]:
    """All entries, in their order."""
    for entry in task.expand:
        yield _EntrySpec(f"expand {entry.name}", entry.name, entry.over, entry.map)
    if task.expand_kwargs is not None:
        yield _EntrySpec("expandKwargs", "", task.expand_kwargs)


def _awaits_producer(task: Task | MappedGroup, scope: Scope) -> bool:
    """Whether a task that produces one of the lists has not ended. The width needs it with any trigger rule."""
    return any(not scope.outcomes[producer.name].ended for spec in _specs(task) for producer in _producers(spec.over))


def _outcome_without_list(task: Task | MappedGroup, field: str, over: JSON, scope: Scope) -> TaskOutcome | None:
    """The outcome of a task whose list is missing since its producer did not succeed.

    A failed producer counts before a skipped one.
    """
    skipped: TaskOutcome | None = None
    for name, result_field in _producers(over):
        outcome = scope.outcomes[name]
        if result_field == "results" and (outcome.started or outcome.state not in TASK_BROKEN):
            continue
        if result_field in {"result", "results"} and outcome.state in TASK_BROKEN:
            message = f"{field}: task {name}, which produces the list: {outcome.reason or outcome.state}"
            return without_runs(task.name, TaskState.UPSTREAM_FAILED, Reason.UPSTREAM_FAILED, message)
        if result_field == "result" and outcome.state is TaskState.SKIPPED:
            message = f"{field}: task {name}, which produces the list, was skipped"
            skipped = skipped or without_runs(task.name, TaskState.SKIPPED, Reason.SKIPPED, message)
    return skipped


def _producers(over: JSON) -> Iterator[references.TaskField]:
    for expression in resolve.embedded(over):
        refs = references.find(expression, roots=resolve.LIST_ROOTS)
        if not isinstance(refs, ExpressionError):
            yield from sorted(refs.fields, key=str)


def _items(over: JSON, scope: Scope) -> MapItems | str | ExpressionError | Pending:
    expression = resolve.sole_expression(over)
    plain = references.is_plain(expression) if expression is not None else None
    outcome = scope.outcomes.get(plain.name) if plain is not None else None
    if plain is None or outcome is None:
        return _computed(over, scope, None)
    if plain.field == "results" and outcome.mapped:
        return map_items.ResultItems(tuple(outcome.runs_with_result()))
    source = ArgumentSource(task=plain.name, field="result", group_indexes=outcome.group_path or None)
    run = outcome.runs.get(constants.UNMAPPED)
    if plain.field == "result" and run is not None and run.status.stored is not None:
        return map_items.items_of_archived(run.status.stored, source)
    return _computed(over, scope, source if plain.field == "result" else None)


def _computed(over: JSON, scope: Scope, source: ArgumentSource | None) -> MapItems | str | ExpressionError | Pending:
    resolved = resolve.resolve_value(over, scope)
    return map_items.items_of_value(resolved.json, source) if isinstance(resolved, Value) else resolved


def _require_objects(items: MapItems | str) -> MapItems | str:
    """The items of expandKwargs, each an object of arguments; otherwise what they are instead."""
    if isinstance(items, map_items.ObjectItems):
        return "an object"
    if isinstance(items, map_items.ListItems):
        wrong = next((position for position, item in enumerate(items.values) if not isinstance(item, dict)), None)
        if wrong is not None:
            return f"a list whose item {wrong} is {json_types.described(items.values[wrong])}"
    return items


def _rejected(task: Task | MappedGroup, product: Product, allowed: Allowed) -> TaskOutcome | None:
    """The outcome of a task with an empty list or too many instances."""
    entries, total = product.entries, product.total
    if not total:
        empty = next(entry for entry in entries if not len(entry.items))
        message = f"{_field(empty)}: the list is empty"
        return without_runs(task.name, TaskState.SKIPPED, Reason.SKIPPED, message)
    if total <= allowed.here or not entries:
        return None
    factors = " x ".join(str(len(entry.items)) for entry in entries)
    counted = f"{factors} = {total} instances" if len(entries) > 1 else f"{total} items"
    field = _field(entries[0]) if len(entries) == 1 else "expand"
    message = f"{field}: {counted}; at most {allowed.here} are allowed"
    if allowed.here < allowed.everywhere:
        message += f", since the indexes of the group share maxMapSize ({allowed.everywhere})"
    return failed_without_runs(task.name, Reason.EXPAND_INVALID, message)


def _field(entry: ExpandedList) -> str:
    return f"expand {entry.name}" if entry.name else "expandKwargs"


def _hint(over: JSON) -> str:
    if not isinstance(over, str) or resolve.sole_expression(over) is not None:
        return ""
    if resolve.embedded(over):
        return "; write one expression ${...} without other text or spaces around it"
    return f"; write an expression as ${{{over}}}"
