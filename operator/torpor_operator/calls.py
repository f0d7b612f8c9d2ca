"""The trigger of each instance of a task: its kwargs with their expressions evaluated.

The item of a mapped wait is one more kwarg, under its name (as Airflow's `expand` gives it to an operator), unless the
kwargs say by `mapping.value` or `mapping.index` where it goes. Beside a function the item is the function's.
"""

import json
from collections.abc import Sequence
from typing import TypeAlias

from torpor_api.taskrun import Argument, TriggerCall
from torpor_api.workflow import Task, TriggerTask
from torpor_cel import references
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON
from torpor_wire import canonical, keys
from torpor_wire.reason import Reason

from torpor_operator import inputs
from torpor_operator.actions import Need
from torpor_operator.outcome import Outcome, failed
from torpor_operator.scope import MAPPING, Scope, Unknown

Resolved: TypeAlias = "tuple[TriggerCall, ...] | Outcome | Unknown"

_PARAMS = "params"


def resolve(task: Task, asked: TriggerTask, items: Sequence[str] | None, scope: Scope) -> Resolved:
    """The calls in the order of the instances; one for all of them where they do not differ."""
    if items is None:
        return _several(task, asked, [{}], [scope])
    if _uses_mapping(asked):
        scopes = [
            scope.within(MAPPING, {"value": json.loads(item), "index": index}) for index, item in enumerate(items)
        ]
        return _several(task, asked, [{}] * len(items), scopes)
    if task.python is not None:
        return _several(task, asked, [{}], [scope])
    added = [{task.expand[0].name: json.loads(item)} for item in items]
    return _several(task, asked, added, [scope] * len(items))


def variables(task: Task, params: dict[str, JSON]) -> tuple[Argument, ...]:
    """What `result` and `failWhen` of a task that is only a wait can see beside its event: the params they use."""
    used: set[str] = set()
    for expression in filter(None, (task.result, task.fail_when)):
        found = references.of(expression, roots=inputs.OF_EVENT)
        if isinstance(found, ExpressionError) or _PARAMS not in found.roots:
            continue
        used |= found.params or set(params)
    if not used:
        return ()
    return (Argument(name=_PARAMS, value=canonical.plain({name: params[name] for name in sorted(used)})),)


def _several(task: Task, asked: TriggerTask, added: Sequence[dict[str, JSON]], scopes: Sequence[Scope]) -> Resolved:
    calls: list[TriggerCall] = []
    needs: list[Need] = []
    for more, scope in zip(added, scopes, strict=True):
        match _one(task, asked, more, scope):
            case TriggerCall() as call:
                calls.append(call)
            case Unknown(wanted):
                needs += wanted
            case Outcome() as outcome:
                return outcome
    return Unknown(tuple(dict.fromkeys(needs))) if needs else tuple(calls)


def _one(task: Task, asked: TriggerTask, more: dict[str, JSON], scope: Scope) -> TriggerCall | Outcome | Unknown:
    kwargs = inputs.resolve(asked.kwargs, scope)
    if isinstance(kwargs, Unknown):
        return kwargs
    if isinstance(kwargs, ExpressionError):
        return failed(task.name, kwargs.reason, f"trigger: {kwargs.message}")
    given = kwargs.json if isinstance(kwargs.json, dict) else {}
    text = canonical.plain(given | more)
    if len(text.encode()) > keys.KWARGS_MAX:
        message = f"trigger: its kwargs are {len(text.encode())} bytes; {keys.KWARGS_MAX} fit"
        return failed(task.name, Reason.TRIGGER_INVALID, message)
    return TriggerCall(class_name=asked.class_name, kwargs=text, timeout=asked.timeout)


def _uses_mapping(asked: TriggerTask) -> bool:
    found = [references.of(one, roots=inputs.OF_INSTANCE) for one in inputs.within(asked.kwargs)]
    return any(not isinstance(one, ExpressionError) and MAPPING in one.roots for one in found)
