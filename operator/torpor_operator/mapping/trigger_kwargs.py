"""The trigger of each instance: its kwargs with their expressions evaluated.

In a mapped task that is only a trigger, the items are further kwargs by name, as in Airflow's `expand` of an operator,
unless the kwargs use `mapping`. If the task also has a function, the items are arguments of the function.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from torpor_crds.models.argument import Argument
from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TriggerCall
from torpor_expressions import references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import canonical, constants, json_types, trigger
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import PARAMS, RUN, Pending, Scope
from torpor_operator.mapping import reserved_names, secret_refs
from torpor_operator.mapping.expand import ExpandedList
from torpor_operator.model.map_items import MapItem
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs

Resolved: TypeAlias = "TriggerCall | TaskOutcome | Pending | None"


def resolve_trigger(task: Task, items: Sequence[tuple[ExpandedList, MapItem]], scope: Scope) -> Resolved:
    """The trigger of one instance, whose `mapping` is in the scope; None for a task without a trigger."""
    call = task.wait
    if call is None:
        return None
    where = "trigger" if task.http is None else "http"
    kwargs = resolve.resolve_value(call.kwargs, scope)
    if isinstance(kwargs, Pending):
        return kwargs
    if isinstance(kwargs, ExpressionError):
        return failed_without_runs(task.name, kwargs.reason, f"{where}: {kwargs.message}")
    added: dict[str, JSON] | str = {}
    if task.trigger is not None and task.python is None and not resolve.differs_per_instance(call.kwargs):
        added = items_by_name(
            items, partial(reserved_names.kwarg_problem, call.kwargs), stored="the kwargs of a trigger"
        )
    if isinstance(added, str):
        return failed_without_runs(task.name, Reason.EXPAND_INVALID, added)
    try:
        final = _mark_secret_refs(call.kwargs, kwargs.json, added)
    except trigger.TriggerError as error:
        return failed_without_runs(task.name, Reason.TRIGGER_INVALID, f"{where}: {error}")
    text = canonical.plain(final)
    if len(text.encode()) > constants.KWARGS_MAX:
        message = f"{where}: the kwargs have {len(text.encode())} bytes; the limit is {constants.KWARGS_MAX}"
        return failed_without_runs(task.name, Reason.TRIGGER_INVALID, message)
    return TriggerCall(class_name=call.class_name, kwargs=text, timeout=call.timeout)


def _mark_secret_refs(written: dict[str, JSON], resolved: JSON, added: dict[str, JSON]) -> dict[str, JSON]:
    """The kwargs with the Secret references of the Workflow marked. Raises TriggerError for any other reference."""
    kwargs = secret_refs.mark(written, resolved)
    for name, value in added.items():
        secret_refs.require_data(value, f"kwargs.{name}")
    secret_refs.require_data(added, "kwargs")
    return (kwargs if isinstance(kwargs, dict) else {}) | added


def event_arguments(task: Task, scope: Scope) -> tuple[Argument, ...] | TaskOutcome:
    """The arguments of a trigger task: the params and the fields of `run` that its `result` and `failWhen` use."""
    arguments: list[Argument] = []
    for root, described in ((PARAMS, "the params"), (RUN, "the fields of run")):
        uses = _uses(task, root)
        values = _values(root, scope) if uses else {}
        if isinstance(values, ExpressionError):
            return failed_without_runs(task.name, values.reason, values.message)
        names = frozenset[str]().union(*uses) if all(uses) else values.keys()
        if not names:
            continue
        text = canonical.plain({name: values[name] for name in sorted(names)})
        if (size := len(text.encode())) > constants.RESULT_MAX:
            message = (
                f"{described} that result and failWhen use have {size:,} bytes; the limit is {constants.RESULT_MAX:,}"
            )
            return failed_without_runs(task.name, Reason.ARGUMENTS_TOO_LARGE, message)
        arguments.append(Argument(name=root, value=text))
    return tuple(arguments)


def _uses(task: Task, root: str) -> list[frozenset[str]]:
    """The names below a root, for each of `result` and `failWhen` that uses it; empty for the root as a whole."""
    parsed = [references.find(each, roots=resolve.EVENT_ROOTS) for each in (task.result, task.fail_when) if each]
    return [
        frozenset(name for used, name, _ in refs.parts if used == root)
        for refs in parsed
        if not isinstance(refs, ExpressionError) and root in refs.roots
    ]


def _values(root: str, scope: Scope) -> dict[str, JSON] | ExpressionError:
    if root == PARAMS:
        return dict(scope.workflow.spec.params)
    run = scope.run()
    if isinstance(run, ExpressionError):
        return run
    return run[0] if isinstance(run[0], dict) else {}


def items_by_name(
    items: Sequence[tuple[ExpandedList, MapItem]], problem: Callable[[str], str | None], *, stored: str
) -> dict[str, JSON] | str:
    """The items by name, or why one cannot be used.

    `problem` says why a name is not allowed. `stored` names what is stored in the TaskRun, for messages.
    """
    added: dict[str, JSON] = {}
    for entry, item in items:
        if item.text is None:
            return f"item {item.key} is in the archive, and {stored} are stored in the TaskRun"
        value = json.loads(item.text)
        if not entry.name and not isinstance(value, dict):
            return f"expandKwargs: item {item.key} is {json_types.described(value)}; it must be an object of arguments"
        own = {entry.name: value} if entry.name else value
        where = f"expand {entry.name}" if entry.name else f"expandKwargs: item {item.key}"
        if (found := next(filter(None, map(problem, own)), None)) is not None:
            return f"{where}: {found}"
        added |= own
    return added
