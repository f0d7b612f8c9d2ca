"""Deferring: how a task says that it waits, gives its pod back, and where it goes on.

Three spellings, one value (`Deferral`): `return defer(trigger, then=function, **state)` in a function, and
`raise TaskDeferred(...)` or `self.defer(...)` in a class with `execute`, from anywhere in the call stack, with
Airflow's names (AIP-40). Beyond Airflow's, `on_timeout` says where to go on when the wait itself took too long; the end
of the task's own time fails it. Nothing is written here: the runtime checks the value and stores it.
"""

import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Protocol, TypeAlias

Timeout: TypeAlias = timedelta | float | str | None
"""A timedelta, seconds, or a duration as in YAML (`6h`); None waits without end, within the task's own timeout."""


class Trigger(Protocol):
    """Anything that can be written down: a trigger of Torpor's, of Airflow's, or one's own."""

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """The registered name (or class path) of the trigger, and its keyword arguments."""


class DeferralError(ValueError):
    """A deferral that cannot be stored or resumed; the message says what to change."""


class Deferral(NamedTuple):
    """A wait and what follows it: `then` is `module:function`, or the name of a method of the task's class.

    `on_timeout` is the like: where to go on instead, without an event, when the trigger has not fired in time. An empty
    `then` is the task from its beginning.
    """

    trigger: Trigger
    then: str
    state: Mapping[str, Any]
    timeout: Timeout
    on_timeout: str | None = None
    timeout_is_final: bool = False
    """Whether no other attempt follows where the trigger has not fired in time and there is no `on_timeout`."""


class TaskDeferred(BaseException):
    """Suspends the task until the trigger fires; raised from anywhere below `execute`.

    Not an Exception, so that no `except Exception` on the way swallows it.
    """

    def __init__(  # noqa: PLR0913 - by name alone, Airflow's and ours
        self,
        *,
        trigger: Trigger,
        method_name: str,
        kwargs: Mapping[str, Any] | None = None,
        timeout: Timeout = None,
        on_timeout: str | None = None,
        timeout_is_final: bool = False,
    ) -> None:
        super().__init__()
        self.trigger = trigger
        self.method_name = method_name
        self.kwargs = kwargs
        self.timeout = timeout
        self.on_timeout = on_timeout
        self.timeout_is_final = timeout_is_final

    def __str__(self) -> str:
        return f"deferred until {type(self.trigger).__name__} fires, then {self.method_name}"


class _Process:
    """Whether `defer` was called since the task was entered."""

    called = False


def defer(
    trigger: Trigger,
    /,
    *,
    then: Callable[..., Any],
    timeout: Timeout = None,
    on_timeout: Callable[..., Any] | None = None,
    **state: Any,
) -> Deferral:
    """What a function returns in order to wait: `then(event=..., **state)` runs in a new pod after the trigger fired.

    If it has not fired within `timeout`, `on_timeout(**state)` runs instead, or the task fails where there is none.
    Both are functions of a module; `state` is JSON of 4 kB at most. Raises DeferralError where a function cannot be
    imported by name.
    """
    _Process.called = True
    late = None if on_timeout is None else reference(on_timeout, "on_timeout")
    return Deferral(trigger, reference(then), state, timeout, late)


def defer_called(*, reset: bool = False) -> bool:
    """Whether `defer` was called since the last reset: a task that forgets `return` would succeed unawares."""
    called = _Process.called
    _Process.called = called and not reset
    return called


def reference(function: object, said: str = "then") -> str:
    """`module:qualified.name` of a function that another process can import by it; `said` is the argument's name."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not callable(function) or isinstance(function, type) or not isinstance(module, str) or not isinstance(name, str):
        raise DeferralError(f"{said}= takes a function, not an object of type {type(function).__name__}")
    if "<" in name:
        raise DeferralError(f"{said}={name} is a lambda or stands inside a function: move it to the top of its module")
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not function:
        hint = "for a method, raise TaskDeferred or call self.defer" if hasattr(function, "__self__") else "rename it"
        raise DeferralError(f"{said}={module}:{name} does not lead to the given function: {hint}")
    return f"{module}:{name}"


def of_exception(error: BaseException) -> TaskDeferred | None:
    """The deferral that an exception means: ours, or Airflow's own where an image carries Airflow.

    A TaskGroup wraps what is raised within it, so a group of one deferral and nothing else is that deferral.
    """
    if isinstance(error, BaseExceptionGroup):
        return of_exception(error.exceptions[0]) if len(error.exceptions) == 1 else None
    if isinstance(error, TaskDeferred):
        return error
    said = vars(error)
    named = any(parent.__name__ == "TaskDeferred" for parent in type(error).__mro__)
    if not named or not {"trigger", "method_name", "kwargs", "timeout"} <= said.keys():
        return None
    return TaskDeferred(
        trigger=said["trigger"], method_name=said["method_name"], kwargs=said["kwargs"], timeout=said["timeout"]
    )
