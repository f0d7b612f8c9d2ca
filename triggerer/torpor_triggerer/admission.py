"""Whether what stands on a TaskRun is a trigger that may run here, and that trigger, made.

Nothing that was written is believed: key and shard are computed again, the class must be registered, the class itself
judges the kwargs. Constructing runs the class's `__init__` and nothing else.
"""

import inspect
import json
from dataclasses import dataclass
from typing import Any

from torpor.triggers.services import Services
from torpor_wire import trigger
from torpor_wire.reason import Reason

from torpor_triggerer.outcome import Failed, said
from torpor_triggerer.registry import Registry, TriggerClass, Unknown
from torpor_triggerer.wait import Asked, Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A trigger ready to run."""

    trigger: Any


def admit(wait: Wait, registry: Registry, services: Services) -> Admitted | Failed:
    """The trigger of a wait, or why there is none."""
    asked = wait.asked
    if asked is None:
        return _invalid("the TaskRun is Deferred and names no trigger")
    try:
        kwargs = json.loads(asked.kwargs)
    except (ValueError, RecursionError) as error:
        return _invalid(f"the kwargs of trigger {asked.class_name[:100]} are not JSON: {error}")
    if not isinstance(kwargs, dict):
        return _invalid(f"the kwargs of trigger {asked.class_name[:100]} are no JSON object")
    return _lie(wait, asked, kwargs) or _made(wait, asked.class_name, kwargs, registry, services)


def _lie(wait: Wait, asked: Asked, kwargs: dict[str, Any]) -> Failed | None:
    """Shards and shared pokes follow from the key, so a wrong one would take part in what is another's."""
    try:
        key = trigger.key(asked.class_name, kwargs, namespace=wait.namespace, pool=wait.pool, taskrun=wait.name)
    except ValueError as error:
        return _invalid(f"the kwargs of trigger {asked.class_name[:100]} are not JSON: {error}")
    if (asked.key, asked.shard) == (key, trigger.shard(key)):
        return None
    return _invalid(
        f"the key {asked.key} and shard {asked.shard} on the TaskRun do not follow from its class and kwargs; "
        f"they would be {key} and {trigger.shard(key)}"
    )


def _made(
    wait: Wait, class_name: str, kwargs: dict[str, Any], registry: Registry, services: Services
) -> Admitted | Failed:
    try:
        class_name, absolute = trigger.absolute(class_name, kwargs, wait.deferred_at)
    except trigger.TriggerError as error:
        return _invalid(str(error))
    found = registry.find(class_name)
    if isinstance(found, Unknown):
        return Failed(reason=Reason.TRIGGER_UNKNOWN, message=f"pool {wait.pool}: {found.message}")
    try:
        made = found(**absolute)
        if hasattr(made, "bind"):
            made.bind(services)
        return Admitted(trigger=made)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a stranger's class, given a stranger's kwargs; it may call sys.exit
        message = f"trigger {class_name} refuses its kwargs: {type(error).__name__}: {said(error)}"
        return _invalid(message + (_taken(found) if isinstance(error, TypeError) else ""))


def _taken(found: TriggerClass) -> str:
    """What the class does take."""
    try:
        return f"; it takes {', '.join(inspect.signature(found).parameters) or 'none'}"
    except (TypeError, ValueError):
        return ""


def _invalid(message: str) -> Failed:
    return Failed(reason=Reason.TRIGGER_INVALID, message=message)
