"""The command of an instance's container and the environment of its pod, their expressions evaluated.

Kubernetes replaces `$(NAME)` in both. The author's own `$(NAME)` stays; a `$` in a value that an expression yields is
doubled, which Kubernetes takes for one `$`: a value is data, and names no variable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torpor_api.models.pod_fields import EnvValue
from torpor_api.models.task import Task
from torpor_api.models.taskrun import Command
from torpor_cel import template
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON
from torpor_wire import canonical
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve as inputs
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import arguments
from torpor_operator.model.actions import Need
from torpor_operator.state.task_state import Outcome, failed

WORD_MAX = 4096
"""Characters of one word of a command, or one value of the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What an instance runs, and those variables of its pod whose values hold expressions."""

    container: Command | None
    env: tuple[EnvValue, ...]


def resolve(task: Task, scope: Scope) -> Program | Outcome | Pending:
    """The program of one instance, whose `mapping` is in the scope."""
    container = task.container
    command = _words(task, "container.command", container.command if container else (), scope)
    args = _words(task, "container.args", container.args if container else (), scope)
    written = [(one.name, one.value) for one in (task.pod.env if task.pod else ()) if one.value and _holds(one.value)]
    values = _words(task, "pod.env", [value for _, value in written], scope)
    match command, args, values:
        case list(), list(), list():
            env = tuple(EnvValue(name=name, value=value) for (name, _), value in zip(written, values, strict=True))
            program = None if container is None else Command(command=tuple(command), args=tuple(args))
            return Program(container=program, env=env)
        case _:
            found = (command, args, values)
            wrong = next((one for one in found if isinstance(one, Outcome)), None)
            needs = tuple(need for one in found if isinstance(one, Pending) for need in one.needs)
            return wrong or Pending(needs)


def _holds(text: str) -> bool:
    """Whether a text holds an expression, or an escaped `${`."""
    return template.OPENING in text


def _words(task: Task, where: str, words: Sequence[str], scope: Scope) -> list[str] | Outcome | Pending:
    made: list[str] = []
    needs: list[Need] = []
    for number, word in enumerate(words):
        match _word(word, scope) if _holds(word) else word:
            case str() as text:
                made.append(text)
            case Pending(wanted):
                needs += wanted
            case ExpressionError() as error:
                return failed(task.name, error.reason, f"{where}[{number}]: {arguments.for_task(task, error)}")
        if made and len(made[-1]) > WORD_MAX:
            message = f"{where}[{number}]: its value is {len(made[-1])} characters; {WORD_MAX} fit"
            return failed(task.name, Reason.EXPRESSION_FAILED, message)
    return Pending(tuple(needs)) if needs else made


def _word(word: str, scope: Scope) -> str | ExpressionError | Pending:
    results = inputs.evaluated(word, scope)
    if not isinstance(results, dict):
        return results
    rendered = template.substitute(word, {expression: _shown(value) for expression, value in results.items()})
    return rendered if isinstance(rendered, ExpressionError) else str(rendered)


def _shown(value: JSON) -> str:
    """A string as it is, another value as JSON."""
    text = value if isinstance(value, str) else canonical.plain(value)
    return text.replace("$", "$$")
