"""Imports `package.module:name`, binds the arguments and calls it, with a clear message for each failure.

A function is called with the arguments. A class with `execute` is created with the arguments, then `execute(context)`
is called. On a resume, a new instance is created and the named method called, so only kwargs and event survive a
deferral. Before a deferral, the method that resumes is looked up and its signature checked.
"""

import importlib
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torpor_wire.reason import Reason

from torpor import decorators, deferral
from torpor.context import Context
from torpor.deferral import Deferral, DeferralError
from torpor.errors import RejectedError
from torpor.runtime import call_checks, exceptions
from torpor.runtime.taskrun import ResumePoint, WorkerTaskRun


class PreparedCall(NamedTuple):
    """A prepared call. `operator` is the instance of a class task, None for a function."""

    operator: object
    function: Callable[..., object]
    positional: tuple[object, ...]
    keywords: Mapping[str, Any]


def load(reference: str, image: str) -> Any:
    """Return the function or class that `package.module:name` names."""
    module_name, _, path = reference.partition(":")
    module = _module(module_name, image)
    target: Any = module
    for part in path.split("."):
        try:
            target = getattr(target, part)
        except AttributeError as error:
            raise RejectedError(Reason.FUNCTION_NOT_FOUND, _no_function(module, path)) from error
    if not callable(target):
        message = f"{reference} is of type {type(target).__name__}, not a function or a class"
        raise RejectedError(Reason.FUNCTION_NOT_FOUND, message)
    if isinstance(target, type) and not hasattr(target, "execute"):
        message = f"the class {reference} has no execute(context) method"
        raise RejectedError(Reason.FUNCTION_NOT_FOUND, message)
    return target


def find(run: WorkerTaskRun) -> Any:
    """Return what a segment calls: the task, or the function that resumes."""
    goes_on = run.resume.method if run.resume is not None and ":" in run.resume.method else run.python
    return load(goes_on, run.image)


def mapped(values: Mapping[str, Any], run: WorkerTaskRun) -> dict[str, Any]:
    """Return the values with the `map` functions of the image applied.

    Raises RejectedError if one is missing or raises.
    """
    functions = {argument.name: argument.mapped_by for argument in run.arguments}
    return {name: _mapped(name, functions.get(name), value, run.image) for name, value in values.items()}


def _mapped(name: str, reference: str | None, value: Any, image: str) -> Any:
    if reference is None:
        return value
    function = load(reference, image)
    try:
        result = function(value)
    except Exception as error:
        message = f"argument {name!r}: {reference} cannot map its value: {exceptions.describe(error)}"
        raise RejectedError(Reason.ARGUMENTS_INVALID, message) from error
    if isinstance(result, types.CoroutineType):
        result.close()
        message = f"argument {name!r}: {reference} is async; it must be a plain function"
        raise RejectedError(Reason.ARGUMENTS_INVALID, message)
    return result


def _is_not_stopped() -> bool:
    return False


def enter(
    target: Any,
    arguments: Mapping[str, Any],
    context: Context,
    after: ResumePoint | None,
    *,
    is_stopped: Callable[[], bool] = _is_not_stopped,
) -> object:
    """Call the task, from its beginning or to resume. Return its result, or a Deferral however it deferred.

    The event of a `trigger:` that precedes the first pod is passed as `event`. A method that resumes after a timeout
    gets no event, or None if it has that parameter. Exceptions of user code propagate; RejectedError and DeferralError
    come from this module. If the pod is stopped meanwhile (`is_stopped`), `on_kill` of the operator runs once its code
    has ended.
    """
    operator = _invoked(target, (), arguments) if isinstance(target, type) else None
    positional = () if operator is None else (context,)
    function = decorators.unmarked(target) if operator is None else _entered(operator, after)
    first = arguments if operator is None else {}
    match after:
        case None:
            keywords = first
        case ResumePoint(method=""):
            keywords = {**first, "event": after.event}
        case ResumePoint(late=True) if not call_checks.takes(function, "event"):
            keywords = after.state
        case ResumePoint():
            keywords = {**after.state, "event": after.event}
    call = _through_operator(PreparedCall(operator, function, positional, keywords), context, after)
    try:
        return _performed(call, context)
    except BaseException as error:
        if is_stopped():
            _kill(operator)
            raise
        moment = exceptions.rescheduled_to(error)
        if moment is None:
            raise
        return call_checks.from_the_beginning(moment, after)


def _through_operator(call: PreparedCall, context: Context, after: ResumePoint | None) -> PreparedCall:
    """A resume through `resume_execution`, if the operator has it: sensors of Airflow apply `soft_fail` there."""
    resume = getattr(call.operator, "resume_execution", None)
    if after is None or not after.method or not callable(resume):
        return call
    keywords = {"next_method": after.method, "next_kwargs": dict(call.keywords), "context": context}
    return call._replace(function=resume, positional=(), keywords=keywords)


def _entered(operator: object, after: ResumePoint | None) -> Callable[..., object]:
    name = "execute" if after is None else after.method or "execute"
    method = getattr(operator, name, None)
    if not callable(method):
        message = f"{type(operator).__qualname__} has no method {name!r} to resume in: did the image change meanwhile?"
        raise RejectedError(Reason.FUNCTION_NOT_FOUND, message)
    entry: Callable[..., object] = method
    return entry


def _performed(call: PreparedCall, context: Context) -> object:
    deferral.defer_called(reset=True)
    try:
        _hook(call.operator, "pre_execute", context)
        returned = _completed(_invoked(call.function, call.positional, call.keywords))
        if not isinstance(returned, Deferral):
            _hook(call.operator, "post_execute", context, returned)
    except BaseException as error:
        deferred = deferral.deferral_from(error)
        if deferred is None:
            raise
        returned = call_checks.from_exception(deferred, call.operator, call.function)
    if isinstance(returned, Deferral):
        return call_checks.checked(returned, call.operator, context)
    if deferral.defer_called():
        raise DeferralError("defer(...) was called but not returned; write `return defer(...)`")
    return returned


def _completed(returned: object) -> object:
    """The result of a call, also if it is async."""
    if not isinstance(returned, types.CoroutineType):
        return returned
    import asyncio  # noqa: PLC0415 - 25 ms, only for async tasks

    return asyncio.run(returned)


def _hook(operator: object, name: str, *values: object) -> None:
    """Call a hook of an operator, as Airflow does in each segment."""
    hook = getattr(operator, name, None)
    if callable(hook):
        _completed(hook(*values))


def _kill(operator: object) -> None:
    """Let the operator stop what it has started elsewhere. The kubelet ends the process after its grace period."""
    try:
        _hook(operator, "on_kill")
    except BaseException as error:  # noqa: BLE001 - user code; the pod ends in any case
        exceptions.print_failure(error)


def _invoked(function: Callable[..., Any], positional: tuple[object, ...], keywords: Mapping[str, Any]) -> Any:
    try:
        return function(*positional, **keywords)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        raise RejectedError(Reason.ARGUMENTS_INVALID, call_checks.described(function, keywords, error)) from error


def _module(name: str, image: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            message = f"no module {error.name!r} in {image}: install its package or add it to PYTHONPATH"
        else:
            message = f"module {name} imports a missing module: {error} (install it in {image})"
        raise RejectedError(Reason.MODULE_NOT_FOUND, message) from error


def _no_function(module: types.ModuleType, path: str) -> str:
    import difflib  # noqa: PLC0415 - only a failing lookup pays for the import

    first = path.partition(".")[0]
    near = difflib.get_close_matches(first, [name for name in vars(module) if not name.startswith("_")])
    known = near or decorators.marked(module)
    return f"module {module.__name__} has no {path!r}" + (f"; it has {', '.join(known)}" if known else "")
