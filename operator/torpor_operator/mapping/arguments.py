"""The keyword arguments of instances: constants, items of what the task is mapped over, and where a worker reads them.

A value that is small stands on the TaskRun. A large one that is a task's whole result, or an item of one, is read by
the worker where it stands and not copied.
"""

import json
import re
from collections.abc import Iterable, Sequence

from torpor_api.models.base import IDENTIFIER
from torpor_api.models.task import Task
from torpor_api.models.taskrun import Argument, ArgumentSource
from torpor_cel import errors, references
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON
from torpor_wire import canonical, instance_paths
from torpor_wire import constants as keys
from torpor_wire.index_ranges import Indexes
from torpor_wire.reason import Reason
from torpor_wire.text import printable_line

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import trigger_kwargs
from torpor_operator.mapping.expand import Entry
from torpor_operator.model.map_items import Item, kind
from torpor_operator.state.group_state import GroupState
from torpor_operator.state.task_state import Outcome, failed

DISPLAY_MAX = 253


def constants(task: Task, scope: Scope) -> tuple[Argument, ...] | Outcome | Pending:
    """The arguments that are the same for every instance."""
    if task.trigger is not None and task.python is None:
        return trigger_kwargs.variables(task, dict(scope.workflow.spec.params))
    return _written(task, (name for name in task.args if not _differs(task, name)), scope)


def of_instance(
    task: Task, items: Sequence[tuple[Entry, Item]], scope: Scope
) -> tuple[Argument, ...] | Outcome | Pending:
    """The arguments that are one instance's own; `scope` has its `mapping`."""
    if task.trigger is not None and task.python is None:
        return ()
    own = _written(task, (name for name in task.args if _differs(task, name)), scope)
    if isinstance(own, Outcome | Pending):
        return own
    taken = list(own)
    for entry, item in items:
        found = [_named(task, entry, item)] if entry.name else _spread(task, item)
        for argument in found:
            if isinstance(argument, ExpressionError):
                return failed(task.name, Reason.EXPAND_INVALID, argument.message)
            taken.append(argument)
    return tuple(taken)


def display_name(task: Task, scope: Scope) -> str | Outcome | Pending | None:
    """What people call the instance."""
    if task.display_name is None:
        return None
    found = resolve.resolve(task.display_name, scope)
    if isinstance(found, Pending):
        return found
    if isinstance(found, ExpressionError):
        return failed(task.name, found.reason, f"displayName: {found.message}")
    text = found.json if isinstance(found.json, str) else canonical.plain(found.json)
    return errors.shorten(printable_line(text), DISPLAY_MAX)


def for_task(task: Task, error: ExpressionError) -> str:
    """Why a value cannot be had, as far as it concerns this task: only python tasks take what is in the archive."""
    if task.container is None or error.reason is not errors.Reason.TOO_EXPENSIVE:
        return error.message
    said = error.message.partition(": pass it whole")[0]
    return f"{said}; a container task cannot read it: pass on where the data is, or let a python task write it there"


def _differs(task: Task, name: str) -> bool:
    return resolve.of_instance(task.args[name])


def _written(task: Task, names: Iterable[str], scope: Scope) -> tuple[Argument, ...] | Outcome | Pending:
    arguments: list[Argument] = []
    needs: list[Pending] = []
    for name in names:
        match _argument(task, name, scope):
            case Argument() as argument:
                arguments.append(argument)
            case Pending() as unknown:
                needs.append(unknown)
            case error:
                return failed(task.name, error.reason, f"args: {name}: {for_task(task, error)}")
    if needs:
        return Pending(tuple(need for unknown in needs for need in unknown.needs))
    return tuple(arguments)


def _argument(task: Task, name: str, scope: Scope) -> Argument | ExpressionError | Pending:
    value = task.args[name]
    source = _source(task, value, scope)
    if source is not None and source.field == "results":
        # Small ones too: what a task reduces must not change its type with its size, and knows what is missing.
        return Argument(name=name, source=source)
    resolved = resolve.resolve(value, scope)
    if isinstance(resolved, ExpressionError) and resolved.reason is errors.Reason.TOO_EXPENSIVE and source is not None:
        return Argument(name=name, source=source)
    if isinstance(resolved, Pending | ExpressionError):
        return resolved
    text = canonical.plain(resolved.json)
    size = len(text.encode())
    if size > keys.ARGUMENT_INLINE_MAX and source is not None:
        return Argument(name=name, source=source)
    if size > keys.RESULT_MAX:
        return errors.failed(
            f"its value is {size} bytes; {keys.RESULT_MAX} fit; a python task can take a whole `${{tasks.x.result}}`",
        )
    return Argument(name=name, value=text)


def _source(task: Task, value: JSON, scope: Scope) -> ArgumentSource | None:
    """A large value that is one task's whole result is read by the worker, where there is one, and not copied."""
    expression = resolve.single(value) if task.python is not None else None
    match references.path(expression, roots=resolve.OF_LIST) if expression is not None else None:
        case ("tasks", name, "result"):
            return ArgumentSource(task=name, field="result", group_indexes=scope.outcomes[name].frame or None)
        case ("tasks", name, "results") if scope.outcomes[name].mapped:
            return _results(scope.outcomes[name])
        case ("groups", name, "value", *entry):
            return _item_of_group(scope, name, entry)
        case _:
            return None


def _item_of_group(scope: Scope, name: str, entry: list[str]) -> ArgumentSource | None:
    """The item of a list that a group is mapped over; that of an object stands there with its key.

    Of several lists each item has the name of its entry; of one, a name after `value` is a field within the item.
    """
    items = {named: item for (group, named), item in scope.items.items() if group == name}
    found = items.get(entry[0]) if len(items) > 1 and len(entry) == 1 else None
    if len(items) == 1 and not entry:
        (found,) = items.values()
    return found.source if found is not None and isinstance(found.key, int) else None


def _results(outcome: Outcome) -> ArgumentSource:
    """All results of a mapped task; where they are told in little space, which are missing."""
    if isinstance(outcome, GroupState):
        return _results_by_path(outcome)
    total = outcome.marks.total
    there = Indexes.of(run.spec.map_index for run in outcome.finished())
    missing = there.missing(total).text()
    told = missing if len(missing) <= keys.MISSING_MAX else None
    return ArgumentSource(
        task=outcome.task, field="results", count=total, missing=told, group_indexes=outcome.frame or None
    )


def _results_by_path(outcome: GroupState) -> ArgumentSource:
    """All results of a task in several frames."""
    there = outcome.there()
    missing = instance_paths.text(there.difference(outcome.indexes()))
    return ArgumentSource(
        task=outcome.task,
        field="results",
        group_indexes=outcome.frame or None,
        paths=instance_paths.text(there),
        mapped=outcome.itself,
        missing=missing if len(missing) <= keys.MISSING_MAX else None,
    )


def _named(task: Task, entry: Entry, item: Item) -> Argument | ExpressionError:
    """The item as an argument: by its value where that is small, else by where it is, which a function alone reads."""
    size = len(item.text.encode()) if item.text is not None else None
    source = item.source if task.python is not None else None
    if size is not None and (size <= keys.ARGUMENT_INLINE_MAX or (source is None and size <= keys.RESULT_MAX)):
        return Argument(name=entry.name, value=item.text, map=entry.map)
    if size is None and source is None:
        return errors.failed(f"expand {entry.name}: item {_at(item)} is in the archive, which only python tasks read")
    if source is None:
        return errors.failed(f"expand {entry.name}: item {_at(item)} is {size} bytes; {keys.RESULT_MAX} fit")
    return Argument(name=entry.name, source=source, map=entry.map)


def _spread(task: Task, item: Item) -> list[Argument | ExpressionError]:
    """An object of arguments."""
    where = f"expandKwargs: item {_at(item)}"
    if item.text is None:
        return [errors.failed(f"{where} is in the archive; map over it by `expand`, which passes it whole")]
    given = json.loads(item.text)
    if not isinstance(given, dict):
        return [errors.failed(f"{where} is {kind(given)}; each is an object of arguments")]
    return [_of_object(task, where, name, value) for name, value in given.items()]


def _of_object(task: Task, where: str, name: str, value: JSON) -> Argument | ExpressionError:
    if not re.fullmatch(IDENTIFIER, name):
        return errors.failed(f"{where}: {name!r} is no identifier, and so cannot be an argument")
    if name in task.args:
        return errors.failed(f"{where}: gives {name}, which is a constant of args too; remove one")
    text = canonical.plain(value)
    if (size := len(text.encode())) > keys.RESULT_MAX:
        return errors.failed(f"{where}: {name} is {size} bytes; {keys.RESULT_MAX} fit")
    return Argument(name=name, value=text)


def _at(item: Item) -> str:
    return str(item.key)
