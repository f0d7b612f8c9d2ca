"""Checks the trigger of a TaskRun, and makes it.

Nothing on the TaskRun is trusted: key and shard are computed again, the class must be registered, and the class itself
validates the kwargs. Making a trigger runs `__init__` and nothing else.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torpor.triggers.services import Services
from torpor_wire import trigger, typed_json
from torpor_wire.reason import Reason

from torpor_triggerer.model.deferred_taskrun import StoredTrigger, TriggerWait
from torpor_triggerer.model.outcome import Failed, error_text, traceback_text
from torpor_triggerer.usercode import attribution
from torpor_triggerer.usercode.attribution import Attribution
from torpor_triggerer.usercode.registry import Registry, TriggerClass, Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerInvocation:
    """The class and the kwargs of a trigger."""

    class_name: str
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionResult:
    """A trigger, or why there is none. A trigger that was made and failed to bind still needs `cleanup`."""

    trigger: Any = None
    problem: Failed | None = None


def read(wait: TriggerWait) -> TriggerInvocation | Failed:
    """Return the trigger call of a wait, as stored on the TaskRun."""
    if wait.trigger is None:
        return _invalid("the TaskRun is Deferred and names no trigger")
    name = wait.trigger.class_name[:100]
    try:
        kwargs = json.loads(wait.trigger.kwargs)
    except (ValueError, RecursionError) as error:
        return _invalid(f"the kwargs of trigger {name} are not JSON: {error}")
    if not isinstance(kwargs, dict):
        return _invalid(f"the kwargs of trigger {name} are no JSON object")
    return _check_key(wait, wait.trigger, kwargs) or TriggerInvocation(
        class_name=wait.trigger.class_name, kwargs=kwargs
    )


def admit(wait: TriggerWait, call: TriggerInvocation, registry: Registry, services: Services) -> AdmissionResult:
    """Make the trigger of a wait from resolved kwargs."""
    try:
        class_name, absolute = trigger.absolute(call.class_name, call.kwargs, wait.deferred_at)
    except trigger.TriggerError as error:
        return AdmissionResult(problem=_invalid(str(error)))
    trigger_class = registry.find(class_name)
    if isinstance(trigger_class, Unknown):
        message = f"pool {wait.pool}: {trigger_class.message}"
        return AdmissionResult(problem=Failed(reason=Reason.TRIGGER_UNKNOWN, message=message, log=trigger_class.log))
    mark = Attribution(class_name=class_name, subject=wait)
    return attribution.call(
        mark, lambda: make(class_name, trigger_class, lambda: trigger_class(**typed_json.decode(absolute)), services)
    )


def make(
    class_name: str, trigger_class: TriggerClass, construct: Callable[[], Any], services: Services
) -> AdmissionResult:
    """Make and bind a trigger of this class. Its code may raise anything."""
    made_trigger = None
    try:
        made_trigger = construct()
        if hasattr(made_trigger, "bind"):
            made_trigger.bind(services)
        return AdmissionResult(trigger=made_trigger)
    except BaseException as error:  # noqa: BLE001 - a stranger's class, given a stranger's kwargs; it may call sys.exit
        message = f"trigger {class_name} refuses its kwargs: {type(error).__name__}: {error_text(error)}"
        problem = _invalid(message + (_accepted_arguments(trigger_class) if isinstance(error, TypeError) else ""))
        return AdmissionResult(trigger=made_trigger, problem=replace(problem, log=traceback_text(error)))


def _check_key(wait: TriggerWait, stored: StoredTrigger, kwargs: dict[str, Any]) -> Failed | None:
    """Reject a wrong key: shards and shared triggers follow from it."""
    try:
        key = trigger.key(
            stored.class_name,
            kwargs,
            namespace=wait.namespace,
            pool=wait.pool,
            account=wait.account,
            taskrun=wait.name,
        )
        answered_by = trigger.answered_by(stored.class_name, kwargs)
    except trigger.TriggerError as error:
        return _invalid(str(error))
    except ValueError as error:
        return _invalid(f"the kwargs of trigger {stored.class_name[:100]} are not JSON: {error}")
    if stored.approvers != answered_by:
        return _invalid("the approvers on the TaskRun, which a policy holds, are not those of its trigger's kwargs")
    if (stored.key, stored.shard) == (key, trigger.shard(key)):
        return None
    return _invalid(
        f"the key {stored.key} and shard {stored.shard} on the TaskRun do not follow from its class and kwargs; "
        f"they would be {key} and {trigger.shard(key)}"
    )


def _accepted_arguments(trigger_class: TriggerClass) -> str:
    """The arguments that the class takes."""
    try:
        return f"; it takes {', '.join(inspect.signature(trigger_class).parameters) or 'none'}"
    except (TypeError, ValueError):
        return ""


def _invalid(message: str) -> Failed:
    return Failed(reason=Reason.TRIGGER_INVALID, message=message)
