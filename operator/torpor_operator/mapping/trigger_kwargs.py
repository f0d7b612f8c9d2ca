"""The trigger of each instance of a task: its kwargs with their expressions evaluated.

The items of a mapped wait are further kwargs, under their names (as Airflow's `expand` gives them to an operator),
unless the kwargs say by `mapping` where they go. Beside a function the items are the function's.
"""

import json
from collections.abc import Sequence
from typing import TypeAlias

from torpor_api.models.task import Task
from torpor_api.models.taskrun import Argument, TriggerCall
from torpor_cel import references
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON
from torpor_wire import canonical, constants, trigger
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve as inputs
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import secret_refs
from torpor_operator.mapping.expand import Entry
from torpor_operator.model.map_items import Item, kind
from torpor_operator.state.task_state import Outcome, failed

Resolved: TypeAlias = "TriggerCall | Outcome | Pending | None"

_PARAMS = "params"


def resolve(task: Task, items: Sequence[tuple[Entry, Item]], scope: Scope) -> Resolved:
    """The call of one instance, whose `mapping` is in the scope; None for a task that does not wait."""
    asked = task.trigger
    if asked is None:
        return None
    kwargs = inputs.resolve(asked.kwargs, scope)
    if isinstance(kwargs, Pending):
        return kwargs
    if isinstance(kwargs, ExpressionError):
        return failed(task.name, kwargs.reason, f"trigger: {kwargs.message}")
    added: dict[str, JSON] | str = {}
    if task.python is None and not inputs.of_instance(asked.kwargs):
        added = _added(items)
    if isinstance(added, str):
        return failed(task.name, Reason.EXPAND_INVALID, added)
    try:
        given = _marked(asked.kwargs, kwargs.json, added)
    except trigger.TriggerError as error:
        return failed(task.name, Reason.TRIGGER_INVALID, f"trigger: {error}")
    text = canonical.plain(given)
    if len(text.encode()) > constants.KWARGS_MAX:
        message = f"trigger: its kwargs are {len(text.encode())} bytes; {constants.KWARGS_MAX} fit"
        return failed(task.name, Reason.TRIGGER_INVALID, message)
    return TriggerCall(class_name=asked.class_name, kwargs=text, timeout=asked.timeout)


def _marked(written: dict[str, JSON], resolved: JSON, added: dict[str, JSON]) -> dict[str, JSON]:
    """The kwargs, the author's references to Secrets marked. Raises TriggerError for a reference of another's."""
    given = secret_refs.marked(written, resolved)
    items = {name: secret_refs.data(value, f"kwargs.{name}") for name, value in added.items()}
    return (given if isinstance(given, dict) else {}) | items


def variables(task: Task, params: dict[str, JSON]) -> tuple[Argument, ...] | Outcome:
    """What `result` and `failWhen` of a task that is only a wait can see beside its event: the params they use."""
    used: set[str] = set()
    for expression in filter(None, (task.result, task.fail_when)):
        found = references.of(expression, roots=inputs.OF_EVENT)
        if isinstance(found, ExpressionError) or _PARAMS not in found.roots:
            continue
        used |= found.params or set(params)
    if not used:
        return ()
    text = canonical.plain({name: params[name] for name in sorted(used)})
    if (size := len(text.encode())) > constants.RESULT_MAX:
        message = f"the params that result and failWhen use are {size:,} bytes; {constants.RESULT_MAX:,} fit"
        return failed(task.name, Reason.ARGUMENTS_TOO_LARGE, message)
    return (Argument(name=_PARAMS, value=text),)


def _added(items: Sequence[tuple[Entry, Item]]) -> dict[str, JSON] | str:
    """The items as kwargs, or why they cannot be."""
    added: dict[str, JSON] = {}
    for entry, item in items:
        if item.text is None:
            return f"item {item.key} is in the archive, and a trigger takes what stands on its TaskRun"
        value = json.loads(item.text)
        if not entry.name and not isinstance(value, dict):
            return f"expandKwargs: item {item.key} is {kind(value)}; each is an object of arguments"
        added |= {entry.name: value} if entry.name else value
    return added
