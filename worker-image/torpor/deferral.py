"""Deferral: a task stores a trigger, releases its pod, and resumes in a new pod when the trigger fires.

A function returns `defer(trigger, then=function, **state)`. A class with `execute` calls `self.defer(...)` or raises
`TaskDeferred(...)` anywhere in the call stack, with the names of Airflow's deferrable operators (AIP-40). `on_timeout`
is an addition: where the task resumes if the deferral times out. This module only builds the value; the runtime
validates and stores it.
"""

import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeAlias, overload

P = ParamSpec("P")
Timeout: TypeAlias = timedelta | float | str | None
"""A timedelta, seconds, or a duration such as `6h`. None sets no limit besides the timeout of the task."""


class SerializableTrigger(Protocol):
    """Anything with `serialize()`: a trigger of Torpor, of Airflow, or your own."""

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the registered name or the class path of the trigger, and its keyword arguments."""


class ResumeFunction(Protocol[P]):
    """A function that resumes a task: its parameters are the event and the state."""

    def __call__(self, event: Any, *args: P.args, **state: P.kwargs) -> Any:
        """Resume the task."""


class DeferralError(ValueError):
    """A deferral that cannot be stored or resumed. The message says what to change."""


class Deferral(NamedTuple):
    """A deferral, as `defer` returns it.

    `then` and `on_timeout` are `module:function`, or the name of a method of the task's class. An empty `then` restarts
    the task from its beginning, with the event.
    """

    trigger: SerializableTrigger
    then: str
    state: Mapping[str, Any]
    timeout: Timeout
    on_timeout: str | None = None
    timeout_is_final: bool = False
    """Whether a timeout without `on_timeout` fails the task without another attempt."""


class TaskDeferred(BaseException):
    """Suspends the task until the trigger fires. Raise it anywhere below `execute`, as in Airflow.

    It is not an Exception, so `except Exception` does not catch it. The arguments are those of `BaseOperator.defer`.
    """

    def __init__(  # noqa: PLR0913 - keyword-only, as in Airflow
        self,
        *,
        trigger: SerializableTrigger,
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


class _DeferCalls:
    """Whether this process called `defer`."""

    called = False


@overload
def defer(
    trigger: SerializableTrigger,
    /,
    then: ResumeFunction[P],
    timeout: Timeout = None,
    on_timeout: Callable[..., Any] | None = None,
    *args: P.args,
    **state: P.kwargs,
) -> Deferral: ...
@overload
def defer(  # the event has a default, as in `def load(path, event=None)`
    trigger: SerializableTrigger,
    /,
    then: Callable[P, Any],
    timeout: Timeout = None,
    on_timeout: Callable[..., Any] | None = None,
    *args: P.args,
    **state: P.kwargs,
) -> Deferral: ...
def defer(
    trigger: SerializableTrigger,
    /,
    then: Callable[..., Any],
    timeout: Timeout = None,
    on_timeout: Callable[..., Any] | None = None,
    *args: Any,
    **state: Any,
) -> Deferral:
    """Return a deferral: a function that returns it releases its pod until the trigger fires.

        @task
        def submit(path: str):
            job = start_job(path)
            return defer(Http(f"https://jobs.example.org/{job}"), then=collect, timeout="6h", job=job)

        def collect(event, job: str) -> str:
            return event["json"]["output"]

    Args:
        trigger: What to wait for, such as `torpor.triggers.Http`.
        then: The function that resumes in a new pod: `then(event=..., **state)`. It must be defined at the top level of
            a module. Type checkers compare its parameters with the state; `event` comes first or has a default.
        timeout: A timedelta, seconds, or text such as `6h`. Without it, only the timeout of the task applies.
        on_timeout: The function that resumes instead if the trigger does not fire in time: `on_timeout(**state)`.
            Without it, the task fails with reason DeferralTimeout.
        *args: Nothing. Type checkers compare the state with `then` by a signature that needs it.
        **state: JSON values for the function that resumes, up to 4 kB.

    Raises:
        DeferralError: A function cannot be imported by its name.
        TypeError: A value of the state has no name.
    """
    if args:
        raise TypeError("defer() takes the state by name: defer(trigger, then=function, job=job)")
    _DeferCalls.called = True
    late = None if on_timeout is None else reference(on_timeout, "on_timeout")
    return Deferral(trigger, reference(then), state, timeout, late)


def defer_called(*, reset: bool = False) -> bool:
    """Return whether `defer` was called since the last reset: detects a task that forgot to return the deferral."""
    called = _DeferCalls.called
    _DeferCalls.called = called and not reset
    return called


def reference(function: object, argument: str = "then") -> str:
    """Return the `module:qualified.name` of a function, by which another process imports it.

    `argument` is its name in messages.

    Raises DeferralError if that name does not lead to the function.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not callable(function) or isinstance(function, type) or not isinstance(module, str) or not isinstance(name, str):
        raise DeferralError(f"{argument}= must be a function, not an object of type {type(function).__name__}")
    if "<" in name:
        raise DeferralError(
            f"{argument}={name} is a lambda or a nested function: move it to the top level of its module"
        )
    target: object = sys.modules.get(module)
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is not function:
        hint = "for a method, raise TaskDeferred or call self.defer" if hasattr(function, "__self__") else "rename it"
        raise DeferralError(f"{argument}={module}:{name} does not name the given function: {hint}")
    return f"{module}:{name}"


def deferral_from(error: BaseException) -> TaskDeferred | None:
    """Return the deferral of an exception: ours, or Airflow's if the image contains it.

    A TaskGroup wraps exceptions, so a group with a single deferral counts as that deferral.
    """
    if isinstance(error, BaseExceptionGroup):
        return deferral_from(error.exceptions[0]) if len(error.exceptions) == 1 else None
    if isinstance(error, TaskDeferred):
        return error
    fields = vars(error)
    named = any(parent.__name__ == "TaskDeferred" for parent in type(error).__mro__)
    if not named or not {"trigger", "method_name", "kwargs", "timeout"} <= fields.keys():
        return None
    return TaskDeferred(
        trigger=fields["trigger"], method_name=fields["method_name"], kwargs=fields["kwargs"], timeout=fields["timeout"]
    )
