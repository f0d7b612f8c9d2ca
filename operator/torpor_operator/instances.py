"""The instances of a task whose turn has come: how many there are, and what each is given.

The answers it needs (expression values) may be missing; then it says which, and the plan is made again with them.
"""

from dataclasses import dataclass
from typing import TypeAlias

from torpor_api.taskrun import Argument, ArgumentSource, TriggerCall
from torpor_api.workflow import Task, TaskState
from torpor_cel import errors, references
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON
from torpor_wire import canonical, keys
from torpor_wire.reason import Reason

from torpor_operator import calls, inputs
from torpor_operator.outcome import Outcome, decided
from torpor_operator.scope import Scope, Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Instances:
    """The width of a task and the arguments of each instance."""

    total: int
    constants: tuple[Argument, ...] = ()
    item_name: str = ""
    items: tuple[str, ...] = ()  # JSON text of each item, for a mapped task
    calls: tuple[TriggerCall, ...] = ()  # one for each instance, or one for all; none for a task that does not wait

    def arguments(self, index: int) -> tuple[Argument, ...]:
        """What the instance at this index is called with."""
        if index == keys.UNMAPPED:
            return self.constants
        if not self.item_name:
            return self.constants
        return (*self.constants, Argument(name=self.item_name, value=self.items[index]))

    def trigger(self, index: int) -> TriggerCall | None:
        """What the instance at this index waits for first."""
        if not self.calls:
            return None
        return self.calls[0] if len(self.calls) == 1 else self.calls[index]


Resolved: TypeAlias = "Instances | Outcome | Unknown"


def resolve(task: Task, scope: Scope, max_map_size: int) -> Resolved:
    """The task's instances; or its outcome where it has none (skipped, failed); or what must be answered first."""
    if (closed := _when(task, scope)) is not None:
        return closed
    items = _items(task, scope, max_map_size)
    if isinstance(items, Outcome | Unknown):
        return items
    found = calls.resolve(task, task.trigger, items, scope) if task.trigger else ()
    if isinstance(found, Outcome | Unknown):
        return found
    constants = _constants(task, scope)
    if isinstance(constants, Outcome | Unknown):
        return constants
    if items is None:
        return Instances(total=1, constants=constants, calls=found)
    name = task.expand[0].name if task.trigger is None or task.python is not None else ""
    return Instances(total=len(items), constants=constants, item_name=name, items=items, calls=found)


def _when(task: Task, scope: Scope) -> Outcome | Unknown | None:
    if task.when is None:
        return None
    answer = scope.evaluate(inputs.bare(task.when))
    if isinstance(answer, Unknown):
        return answer
    if isinstance(answer, ExpressionError):
        return _failed(task, answer.reason, f"when: {answer.message}")
    if answer.json is True:
        return None
    if answer.json is False:
        return decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"when: {task.when} is false")
    return _failed(task, Reason.EXPRESSION_FAILED, f"when: yields {_kind(answer.json)}; it must yield true or false")


def _items(task: Task, scope: Scope, max_map_size: int) -> tuple[str, ...] | Outcome | Unknown | None:
    if not task.expand:
        return None
    entry = task.expand[0]
    over = inputs.resolve(entry.over, scope)
    if isinstance(over, Unknown):
        return over
    if isinstance(over, ExpressionError):
        return _failed(task, over.reason, f"expand {entry.name}: {over.message}")
    if not isinstance(over.json, list):
        return _failed(
            task,
            Reason.EXPAND_INVALID,
            f"expand {entry.name}: over {_kind(over.json)}; it takes a list{_hint(entry.over)}",
        )
    if not over.json:
        return decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"expand {entry.name}: the list is empty")
    if len(over.json) > max_map_size:
        message = f"expand {entry.name}: over {len(over.json)} items; at most {max_map_size} are allowed"
        return _failed(task, Reason.EXPAND_INVALID, message)
    return _texts(task, over.json)


def _texts(task: Task, items: list[JSON]) -> tuple[str, ...] | Outcome:
    """The items as they stand on TaskRuns, or the failure of a task with one that does not fit there."""
    texts = tuple(canonical.plain(item) for item in items)
    for index, text in enumerate(texts):
        if (size := len(text.encode())) > keys.RESULT_MAX:
            message = f"expand {task.expand[0].name}: item {index} is {size} bytes; {keys.RESULT_MAX} fit"
            return _failed(task, Reason.EXPAND_INVALID, message)
    return texts


def _constants(task: Task, scope: Scope) -> tuple[Argument, ...] | Outcome | Unknown:
    """The arguments that are the same for every instance."""
    if task.trigger is not None and task.python is None:
        return calls.variables(task, dict(scope.workflow.spec.params))
    arguments: list[Argument] = []
    needs: list[Unknown] = []
    for name in task.args:
        match _argument(task, name, scope):
            case Argument() as argument:
                arguments.append(argument)
            case Unknown() as unknown:
                needs.append(unknown)
            case error:
                return _failed(task, error.reason, f"args: {name}: {error.message}")
    if needs:
        return Unknown(tuple(need for unknown in needs for need in unknown.needs))
    return tuple(arguments)


def _argument(task: Task, name: str, scope: Scope) -> Argument | ExpressionError | Unknown:
    value = task.args[name]
    resolved = inputs.resolve(value, scope)
    if isinstance(resolved, ExpressionError) and resolved.reason is errors.Reason.TOO_EXPENSIVE:
        source = _source(task, value, scope)
        return resolved if source is None else Argument(name=name, source=source)
    if isinstance(resolved, Unknown | ExpressionError):
        return resolved
    text = canonical.plain(resolved.json)
    size = len(text.encode())
    if size <= keys.ARGUMENT_INLINE_MAX:
        return Argument(name=name, value=text)
    if (source := _source(task, value, scope)) is not None:
        return Argument(name=name, source=source)
    if size > keys.RESULT_MAX:
        return errors.failed(
            f"its value is {size} bytes; {keys.RESULT_MAX} fit; a python task can take a whole `${{tasks.x.result}}`",
        )
    return Argument(name=name, value=text)


def _source(task: Task, value: JSON, scope: Scope) -> ArgumentSource | None:
    """A large value that is one task's whole result is read by the worker, where there is one, and not copied."""
    expression = inputs.single(value) if task.python is not None else None
    plain = references.is_plain(expression) if expression is not None else None
    match plain:
        case ("tasks", name, "result"):
            return ArgumentSource(task=name, field="result")
        case ("tasks", name, "results"):
            return ArgumentSource(task=name, field="results", count=scope.outcomes[name].created)
        case _:
            return None


def _failed(task: Task, reason: str, message: str) -> Outcome:
    return decided(task.name, TaskState.FAILED, reason, message)


def _hint(over: JSON) -> str:
    written = isinstance(over, str) and inputs.single(over) is None
    return f"; an expression is written ${{{over}}}" if written else ""


def _kind(value: JSON) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")
