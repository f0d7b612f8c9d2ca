"""Checks before a deferral that the method or function that resumes exists and accepts its arguments.

A deferral may last for days, so a misspelled method must fail at once.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from torpor import decorators, deferral
from torpor.context import Context
from torpor.deferral import Deferral, DeferralError, TaskDeferred
from torpor.runtime import exceptions
from torpor.runtime.taskrun import ResumePoint


def from_exception(deferred: TaskDeferred, operator: object, function: object) -> Deferral:
    """Return the deferral that a method of `operator`, or without it `function`, raised."""
    kwargs = {} if deferred.kwargs is None else deferred.kwargs
    if not isinstance(kwargs, Mapping):
        raise DeferralError(f"kwargs= must be a dict, not an object of type {type(kwargs).__name__}")
    never = _ends_from_trigger(deferred.trigger) and isinstance(deferred.method_name, str)
    then = deferred.method_name if never else _named(deferred.method_name, "method_name", operator, function)
    late = deferred.on_timeout
    on_timeout = None if late is None else _named(late, "on_timeout", operator, function)
    final = deferred.timeout_is_final or exceptions.is_sensor(operator)
    return Deferral(deferred.trigger, then, kwargs, deferred.timeout, on_timeout, final)


def from_the_beginning(moment: datetime, after: ResumePoint | None) -> Deferral:
    """Return a deferral that restarts the task at a time, with the event of its `trigger:`, if it has one."""
    from torpor.triggers.time import Time  # noqa: PLC0415 - only rescheduled tasks pay for the import

    state = {"event": after.event} if after is not None and not after.method else {}
    return Deferral(Time(moment if moment.tzinfo else moment.replace(tzinfo=UTC)), "", state, None)


def checked(given: Deferral, operator: object, context: Context) -> Deferral:
    """Return the deferral. Raises DeferralError if what follows it cannot be called."""
    if not _ends_from_trigger(given.trigger):
        _call(given.then, {**given.state, "event": None}, operator, context)
    if given.on_timeout is not None:
        late = _resume_function(given.on_timeout, operator)
        event = {"event": None} if takes(late, "event") else {}
        _call(given.on_timeout, {**given.state, **event}, operator, context)
    return given


def _ends_from_trigger(trigger: object) -> bool:
    """Whether a trigger of Airflow ends the task, so that no method resumes. `WaitSensor` names one that is missing."""
    return getattr(trigger, "end_from_trigger", False) is True


def _named(name: object, argument: str, operator: object, function: object) -> str:
    """Return the value for `status.next`: a method, or `module:function` if the task is a function."""
    if not isinstance(name, str):
        raise DeferralError(f"{argument}= must be a name, not an object of type {type(name).__name__}")
    if operator is not None:
        if not callable(getattr(operator, name, None)):
            raise DeferralError(f"{type(operator).__name__} has no method {name!r} to resume in")
        return name
    module = str(getattr(function, "__module__", None))
    target = vars(importlib.import_module(module)).get(name)
    if target is None:
        raise DeferralError(f"module {module} has no function {name!r} to resume in")
    return deferral.reference(target, argument)


def _call(name: str, keywords: Mapping[str, Any], operator: object, context: Context) -> None:
    function = _resume_function(name, operator)
    problem = misfit(function, () if ":" in name else (context,), keywords)
    if problem is not None:
        raise DeferralError(f"the task could not resume in {name}: {problem}")


def _resume_function(name: str, operator: object) -> Callable[..., Any]:
    module, colon, path = name.partition(":")
    target: Any = sys.modules.get(module) if colon else operator
    for part in (path or module).split("."):
        target = getattr(target, part, None)
    if not callable(target):
        raise DeferralError(f"there is no {name} to resume in; defer with defer(...) or self.defer(...)")
    function: Callable[..., Any] = decorators.unmarked(target)
    return function


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a parameter has this name. `**kwargs` does not count."""
    import inspect  # noqa: PLC0415 - 7 ms, only for tasks that defer or are called wrongly

    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def misfit(function: Callable[..., Any], positional: tuple[object, ...], keywords: Mapping[str, Any]) -> str | None:
    """Return why the call does not fit; None if it does, or if only the call itself can tell.

    The signature of a decorator's wrapper counts, because it may add arguments.
    """
    import inspect  # noqa: PLC0415 - 7 ms, only for tasks that defer or are called wrongly

    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        return described(function, keywords, error)
    return None


def described(function: Callable[..., Any], keywords: Iterable[str], error: TypeError) -> str:
    """Return a call that does not fit, next to the signature."""
    import inspect  # noqa: PLC0415 - 7 ms, only for tasks that defer or are called wrongly

    name = getattr(function, "__qualname__", "the task")
    try:
        name += str(inspect.signature(function))
    except (TypeError, ValueError):
        name += "(...)"
    return f"{error}; {name} is given {', '.join(keywords) or 'no arguments'}"
