"""The keyword arguments of instances: constants, items of the lists they are mapped over, and where workers read them.

A small value is stored in the TaskRun. A large value that is a whole result of a task, or an item of one, is read by
the worker from where it is, and not copied.
"""

import json
import re
from collections.abc import Iterable, Sequence

from torpor_crds.models.argument import Argument, ArgumentSource
from torpor_crds.models.base import IDENTIFIER
from torpor_crds.models.task import Task
from torpor_expressions import errors, references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import canonical, constants, instance_paths, json_types
from torpor_wire.index_ranges import Indexes
from torpor_wire.reason import Reason
from torpor_wire.text import printable_line

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import reserved_names, trigger_kwargs
from torpor_operator.mapping.expand import ExpandedList
from torpor_operator.model.map_items import MapItem
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs

DISPLAY_MAX = 253


def constant_arguments(task: Task, scope: Scope) -> tuple[Argument, ...] | TaskOutcome | Pending:
    """The arguments that are equal for all instances."""
    if not task.has_pod:
        return trigger_kwargs.event_arguments(task, scope)
    return _from_spec(task, (name for name in task.args if not _differs(task, name)), scope)


def instance_arguments(
    task: Task, items: Sequence[tuple[ExpandedList, MapItem]], scope: Scope
) -> tuple[Argument, ...] | TaskOutcome | Pending:
    """The arguments of one instance that differ between instances; `scope` has its `mapping`."""
    if not task.has_pod:
        return ()
    own = _from_spec(task, (name for name in task.args if _differs(task, name)), scope)
    if isinstance(own, TaskOutcome | Pending):
        return own
    arguments = list(own)
    for entry, item in items:
        for argument in [_from_item(task, entry, item)] if entry.name else _from_object(task, item):
            if isinstance(argument, ExpressionError):
                return failed_without_runs(task.name, Reason.EXPAND_INVALID, argument.message)
            arguments.append(argument)
    return tuple(arguments)


def display_name(task: Task, scope: Scope) -> str | TaskOutcome | Pending | None:
    """The display name of the instance."""
    if task.display_name is None:
        return None
    name = resolve.resolve_value(task.display_name, scope)
    if isinstance(name, Pending):
        return name
    if isinstance(name, ExpressionError):
        return failed_without_runs(task.name, name.reason, f"displayName: {name.message}")
    text = name.json if isinstance(name.json, str) else canonical.plain(name.json)
    return errors.shorten(printable_line(text), DISPLAY_MAX)


def message_for_task(task: Task, error: ExpressionError) -> str:
    """The message of the error, for this kind of task: only python tasks can read the archive."""
    if task.container is None or error.reason is not errors.ExpressionReason.TOO_EXPENSIVE:
        return error.message
    message = error.message.partition(": pass it whole")[0]
    return f"{message}; container tasks cannot read it either: pass the location of the data instead"


def _differs(task: Task, name: str) -> bool:
    return resolve.differs_per_instance(task.args[name])


def _from_spec(task: Task, names: Iterable[str], scope: Scope) -> tuple[Argument, ...] | TaskOutcome | Pending:
    arguments: list[Argument] = []
    needs: list[Pending] = []
    for name in names:
        match _argument(task, name, scope):
            case Argument() as argument:
                arguments.append(argument)
            case Pending() as pending:
                needs.append(pending)
            case error:
                return failed_without_runs(task.name, error.reason, f"args: {name}: {message_for_task(task, error)}")
    if needs:
        return Pending(tuple(need for pending in needs for need in pending.needs))
    return tuple(arguments)


def _argument(task: Task, name: str, scope: Scope) -> Argument | ExpressionError | Pending:
    if (problem := reserved_names.argument_problem(task, name)) is not None:
        return errors.invalid(problem)
    value = task.args[name]
    source = _source(task, value, scope)
    if source is not None and source.field == "results":
        # Small results too: their type must not depend on their size, and the worker needs the missing indexes.
        return Argument(name=name, source=source)
    resolved = resolve.resolve_value(value, scope)
    if (
        isinstance(resolved, ExpressionError)
        and resolved.reason is errors.ExpressionReason.TOO_EXPENSIVE
        and source is not None
    ):
        return Argument(name=name, source=source)
    if isinstance(resolved, Pending | ExpressionError):
        return resolved
    text = canonical.plain(resolved.json)
    size = len(text.encode())
    if size > constants.ARGUMENT_INLINE_MAX and source is not None:
        return Argument(name=name, source=source)
    if size > constants.RESULT_MAX:
        return errors.failed(
            f"the value has {size} bytes; the limit is {constants.RESULT_MAX}; "
            "a python task can take a whole result `${tasks.x.result}`",
        )
    return Argument(name=name, value=text)


def _source(task: Task, value: JSON, scope: Scope) -> ArgumentSource | None:
    """Where the worker reads a value that is the whole result of a task or an item of a group; None otherwise."""
    expression = resolve.sole_expression(value) if task.python is not None else None
    match references.path(expression, roots=resolve.LIST_ROOTS) if expression is not None else None:
        case ("tasks", name, "result"):
            return ArgumentSource(task=name, field="result", group_indexes=scope.outcomes[name].group_path or None)
        case ("tasks", name, "results") if scope.outcomes[name].mapped:
            return _results(scope.outcomes[name])
        case ("groups", name, "value", *entry):
            return _item_of_group(scope, name, entry)
        case _:
            return None


def _item_of_group(scope: Scope, name: str, entry: list[str]) -> ArgumentSource | None:
    """The item of a list that a group is mapped over; an item of an object has no source, since it includes its key.

    With several lists each item has the name of its entry; with one list, a name after `value` is a field of the item.
    """
    items = {named: item for (group, named), item in scope.items.items() if group == name}
    item = items.get(entry[0]) if len(items) > 1 and len(entry) == 1 else None
    if len(items) == 1 and not entry:
        (item,) = items.values()
    return item.source if item is not None and isinstance(item.key, int) else None


def _results(outcome: TaskOutcome) -> ArgumentSource:
    """All results of a mapped task, with the missing indexes if their text is short."""
    if isinstance(outcome, GroupState):
        return _results_by_path(outcome)
    total = outcome.indexes.total
    present = Indexes.from_numbers(run.spec.map_index for run in outcome.runs_with_result())
    text = present.missing(total).text()
    missing = text if len(text) <= constants.MISSING_MAX else None
    return ArgumentSource(
        task=outcome.task, field="results", count=total, missing=missing, group_indexes=outcome.group_path or None
    )


def _results_by_path(outcome: GroupState) -> ArgumentSource:
    """All results of a task in groups."""
    paths = outcome.all_paths()
    missing = instance_paths.text(paths.difference(outcome.result_paths()))
    return ArgumentSource(
        task=outcome.task,
        field="results",
        group_indexes=outcome.group_path or None,
        paths=instance_paths.text(paths),
        mapped=outcome.mapped_in_group,
        missing=missing if len(missing) <= constants.MISSING_MAX else None,
    )


def _from_item(task: Task, entry: ExpandedList, item: MapItem) -> Argument | ExpressionError:
    """The item as an argument: a small value itself, otherwise its source, which only a python task can read."""
    if (problem := reserved_names.argument_problem(task, entry.name)) is not None:
        return errors.failed(f"expand: {problem}")
    size = len(item.text.encode()) if item.text is not None else None
    source = item.source if task.python is not None else None
    if size is not None and (
        size <= constants.ARGUMENT_INLINE_MAX or (source is None and size <= constants.RESULT_MAX)
    ):
        return Argument(name=entry.name, value=item.text, map=entry.map)
    if size is None and source is None:
        return errors.failed(
            f"expand {entry.name}: item {item.key} is in the archive, which only python tasks can read"
        )
    if source is None:
        return errors.failed(
            f"expand {entry.name}: item {item.key} has {size} bytes; the limit is {constants.RESULT_MAX}"
        )
    return Argument(name=entry.name, source=source, map=entry.map)


def _from_object(task: Task, item: MapItem) -> list[Argument | ExpressionError]:
    """The arguments in an item of expandKwargs."""
    field = f"expandKwargs: item {item.key}"
    if item.text is None:
        return [errors.failed(f"{field} is in the archive; use `expand`, which passes the item whole")]
    keywords = json.loads(item.text)
    if not isinstance(keywords, dict):
        return [errors.failed(f"{field} is {json_types.described(keywords)}; it must be an object of arguments")]
    return [_keyword(task, field, name, value) for name, value in keywords.items()]


def _keyword(task: Task, field: str, name: str, value: JSON) -> Argument | ExpressionError:
    if (problem := reserved_names.item_problem(task, name)) is not None:
        return errors.failed(f"{field}: {problem}")
    if not re.fullmatch(IDENTIFIER, name):
        return errors.failed(f"{field}: {name!r} is not an identifier and cannot be an argument")
    text = canonical.plain(value)
    if (size := len(text.encode())) > constants.RESULT_MAX:
        return errors.failed(f"{field}: {name} has {size} bytes; the limit is {constants.RESULT_MAX}")
    return Argument(name=name, value=text)
