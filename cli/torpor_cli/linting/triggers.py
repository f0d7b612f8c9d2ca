"""Checks class and arguments of each trigger as the triggerer does: it makes the trigger, and does not run it.

A class of a custom image is unknown here, unless it was imported.
"""

import inspect
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from torpor_expressions import template
from torpor_expressions.errors import ExpressionError
from torpor_operator.expressions import resolve
from torpor_operator.mapping import secret_refs
from torpor_triggerer.usercode.registry import BUILT_IN, is_rule
from torpor_wire import canonical, constants, secret_ref, trigger, typed_json

from torpor_cli.linting.finding import LintProblem, LintRule, Path, Severity
from torpor_cli.linting.schema import nearest

_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
_PLACEHOLDER = "x"

Classes = Mapping[str, Callable[..., Any]]


class UnusableTriggerError(ValueError):
    """Why a class that the user named cannot be imported."""


def entries(options: Sequence[str]) -> Mapping[str, str]:
    """Return name and `module:Class` of each `name=module:Class`. Raises UnusableTriggerError."""
    parsed: dict[str, str] = {}
    for option in options:
        name, _, target = option.partition("=")
        module, _, path = target.partition(":")
        if not (name and module and path):
            raise UnusableTriggerError(f"--trigger {option}: write NAME=MODULE:CLASS")
        parsed[name] = target
    return parsed


def classes(custom: Mapping[str, str]) -> Classes:
    """Import the built-in classes and `custom` (name to `module:Class`). Raises UnusableTriggerError."""
    known: dict[str, Callable[..., Any]] = {}
    for name, target in {**BUILT_IN, **custom}.items():
        imported = _imported(name, target)
        known |= _of_rule(name, imported) if is_rule(name) else {name: imported}
    return known


def _of_rule(rule: str, function: Callable[..., Any]) -> Classes:
    """Return the classes that a rule allows, but for those that cannot be imported."""
    try:
        return {name: each for name, each in function(rule).items() if not isinstance(each, BaseException)}
    except Exception as error:
        raise UnusableTriggerError(f"trigger {rule}: {type(error).__name__}: {error}") from error


def _imported(name: str, target: str) -> Callable[..., Any]:
    module, _, path = target.partition(":")
    try:
        imported: Any = import_module(module)
        for part in path.split("."):
            imported = getattr(imported, part)
    except Exception as error:
        raise UnusableTriggerError(f"trigger {name}: {target}: {type(error).__name__}: {error}") from error
    if not callable(imported):
        raise UnusableTriggerError(f"trigger {name}: {target} is not a class")
    return imported  # type: ignore[no-any-return]


def problems(spec: Mapping[str, Any], known: Classes) -> Iterator[LintProblem]:
    """Yield what is wrong with the triggers of the tasks."""
    for index, task in enumerate(spec.get("tasks", ())):
        match task.get("trigger"):
            case {"class": str()} as call:
                yield from call_problems(call, task, ("spec", "tasks", index, "trigger"), known)
            case _:
                continue


def call_problems(
    call: Mapping[str, Any], task: Mapping[str, Any], path: Path, known: Classes
) -> Iterator[LintProblem]:
    """Yield what is wrong with the trigger of a task, or of a source, which has the fields of a task."""
    kwargs = call.get("kwargs")
    yield from _task_trigger(_Call(call["class"], kwargs if isinstance(kwargs, Mapping) else {}, path), task, known)


@dataclass(frozen=True, slots=True)
class _Call:
    """A trigger as it is written, and where."""

    class_name: str
    kwargs: Mapping[str, Any]
    path: Path

    def problem(self, text: str, *, rule: LintRule = LintRule.TRIGGER, field: str = "") -> LintProblem:
        """Return a problem of the kwargs, or of one of them."""
        at = (*self.path, "kwargs", *([field] if field else [])) if self.kwargs else self.path
        return LintProblem(path=at, rule=rule, message=text)


def _task_trigger(call: _Call, task: Mapping[str, Any], known: Classes) -> Iterator[LintProblem]:
    try:
        secret_refs.mark(dict(call.kwargs), dict(call.kwargs))
    except trigger.TriggerError as error:
        field = re.match(r"kwargs\.(\w+)", str(error))
        yield call.problem(f"trigger: {error}", rule=LintRule.SECRET, field=field[1] if field else "")
        return
    size = len(canonical.plain(call.kwargs).encode())
    if size > constants.KWARGS_MAX:
        yield call.problem(f"trigger: the kwargs have {size} bytes; the limit is {constants.KWARGS_MAX}")
    added = _added(task)
    if added is not None:
        yield from _checked(call, {**dict.fromkeys(added, "${mapping}"), **call.kwargs}, known)


def _added(task: Mapping[str, Any]) -> list[str] | None:
    """Return the kwargs that the items of a mapped task add; None if they are known only at run time."""
    kwargs = (task.get("trigger") or {}).get("kwargs") or {}
    if "python" in task or resolve.differs_per_instance(kwargs):
        return []
    return None if "expandKwargs" in task else [entry.get("name", "") for entry in task.get("expand", ())]


def _checked(call: _Call, kwargs: Mapping[str, Any], known: Classes) -> Iterator[LintProblem]:
    trigger_class = known.get(call.class_name)
    if trigger_class is None:
        yield LintProblem(
            path=(*call.path, "class"),
            rule=LintRule.TRIGGER,
            severity=Severity.WARNING,
            message=f"no built-in trigger class is called {call.class_name}{nearest(call.class_name, list(known))}; "
            "the arguments of a custom class are checked with --trigger NAME=MODULE:CLASS",
        )
        return
    if call.class_name in trigger.SEVERAL and (parts := list(_parts(call, known))):
        yield from parts
        return
    message = _refusal(call.class_name, kwargs, known)
    if message is not None:
        field = _UNEXPECTED.search(message)
        yield call.problem(message, field=field[1] if field and field[1] in call.kwargs else "")


def _parts(call: _Call, known: Classes) -> Iterator[LintProblem]:
    parts = call.kwargs.get("triggers")
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        match part:
            case {"class": str() as name} if isinstance(part.get("kwargs", {}), dict):
                path = (*call.path, "kwargs", "triggers", index)
                yield from _checked(_Call(name, part.get("kwargs", {}), path), part.get("kwargs", {}), known)
            case _:
                continue  # the class that contains it reports this


def _refusal(name: str, kwargs: Mapping[str, Any], known: Classes) -> str | None:
    """Return why the class rejects its arguments, in the words of the triggerer."""
    static, trigger_class = _is_static(kwargs), known[name]
    try:
        name, values = trigger.absolute(name, kwargs, time.time()) if static else (name, kwargs)
        trigger_class = known[name]
        trigger_class(**(typed_json.decode(_rendered(values)) if static else dict.fromkeys(values, _PLACEHOLDER)))
    except ImportError:
        return None  # a class that needs a package of the triggerer's image
    except trigger.TriggerError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - any class of a user
        if static or _is_signature_error(error):
            message = f"trigger {name} refuses its kwargs: {type(error).__name__}: {error}"
            return message + (_accepted(trigger_class) if isinstance(error, TypeError) else "")
    return None


def _is_static(value: Any) -> bool:
    """Whether a value has no expressions and no Secrets, so that it is known."""
    parsed = template.expressions(value)
    return not isinstance(parsed, ExpressionError) and not parsed and not secret_ref.is_claimed(value)


def _rendered(value: Any) -> Any:
    """Return a static value with `$${` as `${`."""
    return template.substitute(value, {})


def _is_signature_error(error: Exception) -> bool:
    """Whether the call failed before the class's own code ran: its values are placeholders."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None


def _accepted(trigger_class: Callable[..., Any]) -> str:
    try:
        return f"; it takes {', '.join(inspect.signature(trigger_class).parameters) or 'none'}"
    except (TypeError, ValueError):
        return ""
