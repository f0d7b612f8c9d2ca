"""What follows a wait, judged before it: that the method or function is there, and can be called with what it will get.

A wait may last for days, so a misspelt method must not be found at its end.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from torpor import deferral
from torpor.context import Context
from torpor.deferral import Deferral, DeferralError, TaskDeferred
from torpor.runtime import foreign_exceptions, signatures
from torpor.runtime.taskrun import Resume


def of_exception(deferred: TaskDeferred, operator: object, function: object) -> Deferral:
    """The deferral that was raised below a method of `operator`, or, where that is None, below `function`."""
    kwargs = {} if deferred.kwargs is None else deferred.kwargs
    if not isinstance(kwargs, Mapping):
        raise DeferralError(f"kwargs= takes a dict, not an object of type {type(kwargs).__name__}")
    then = _named(deferred.method_name, "method_name", operator, function)
    late = deferred.on_timeout
    on_timeout = None if late is None else _named(late, "on_timeout", operator, function)
    final = deferred.timeout_is_final or foreign_exceptions.is_sensor(operator)
    return Deferral(deferred.trigger, then, kwargs, deferred.timeout, on_timeout, final)


def from_the_beginning(moment: datetime, after: Resume | None) -> Deferral:
    """The task again at a moment, with its arguments and the event of a wait that came before its first pod."""
    from torpor.triggers.time import Time  # noqa: PLC0415 - only who asks for it pays

    state = {"event": after.event} if after is not None and not after.method else {}
    return Deferral(Time(moment if moment.tzinfo else moment.replace(tzinfo=UTC)), "", state, None)


def checked(given: Deferral, operator: object, context: Context) -> Deferral:
    """The deferral. Raises DeferralError where what follows it could not be called."""
    _call(given.then, {**given.state, "event": None}, operator, context)
    if given.on_timeout is not None:
        late = _found(given.on_timeout, operator)
        event = {"event": None} if signatures.takes(late, "event") else {}
        _call(given.on_timeout, {**given.state, **event}, operator, context)
    return given


def _named(name: object, said: str, operator: object, function: object) -> str:
    """What `status.next` says: a method's name, or for a task that is a function `module:function`."""
    if not isinstance(name, str):
        raise DeferralError(f"{said}= takes a name, not an object of type {type(name).__name__}")
    if operator is not None:
        if not callable(getattr(operator, name, None)):
            raise DeferralError(f"{type(operator).__name__} has no method {name!r} to come back to")
        return name
    module = str(getattr(function, "__module__", None))
    found = vars(importlib.import_module(module)).get(name)
    if found is None:
        raise DeferralError(f"module {module} has no function {name!r} to come back to")
    return deferral.reference(found, said)


def _call(name: str, keywords: Mapping[str, Any], operator: object, context: Context) -> None:
    function = _found(name, operator)
    misfit = signatures.misfit(function, () if ":" in name else (context,), keywords)
    if misfit is not None:
        raise DeferralError(f"the task could not go on in {name}: {misfit}")


def _found(name: str, operator: object) -> Callable[..., Any]:
    module, colon, path = name.partition(":")
    found: Any = sys.modules.get(module) if colon else operator
    for part in (path or module).split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise DeferralError(f"there is no {name} to go on in; a deferral is made by defer(...) or self.defer(...)")
    function: Callable[..., Any] = found
    return function
