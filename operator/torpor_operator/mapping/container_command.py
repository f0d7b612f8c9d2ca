"""The command of an instance's container and the environment of its pod, with their expressions evaluated.

Kubernetes expands `$(NAME)` in both, and keeps doing so for what the Workflow contains. In a value of an expression
each `$` is doubled, which Kubernetes reads as one `$`: a value is data and names no variable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torpor_crds.models.pod_fields import EnvValue
from torpor_crds.models.program import Command
from torpor_crds.models.task import Task
from torpor_expressions import template
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import canonical
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.mapping import arguments
from torpor_operator.model.actions import Need
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs

WORD_MAX = 4096
"""Characters of one word of a command, or of one environment variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerCommand:
    """The command of an instance, and the variables of its pod whose values contain expressions."""

    container: Command | None
    env: tuple[EnvValue, ...]


def resolve_program(task: Task, scope: Scope) -> ContainerCommand | TaskOutcome | Pending:
    """The program of one instance, whose `mapping` is in the scope."""
    container = task.container
    command = _words(task, "container.command", container.command if container else (), scope)
    args = _words(task, "container.args", container.args if container else (), scope)
    templates = [
        (variable.name, variable.value)
        for variable in (task.pod.env if task.pod else ())
        if variable.value and _has_expression(variable.value)
    ]
    values = _words(task, "pod.env", [value for _, value in templates], scope)
    match command, args, values:
        case list(), list(), list():
            env = tuple(EnvValue(name=name, value=value) for (name, _), value in zip(templates, values, strict=True))
            program = container and container.model_copy(update={"command": tuple(command), "args": tuple(args)})
            return ContainerCommand(container=program, env=env)
        case _:
            parts = (command, args, values)
            failed = next((part for part in parts if isinstance(part, TaskOutcome)), None)
            needs = tuple(need for part in parts if isinstance(part, Pending) for need in part.needs)
            return failed or Pending(needs)


def _has_expression(text: str) -> bool:
    """Whether a text contains an expression, or an escaped `${`."""
    return template.OPENING in text


def _words(task: Task, field: str, words: Sequence[str], scope: Scope) -> list[str] | TaskOutcome | Pending:
    resolved: list[str] = []
    needs: list[Need] = []
    for number, word in enumerate(words):
        match _word(word, scope) if _has_expression(word) else word:
            case str() as text:
                resolved.append(text)
            case Pending(more):
                needs += more
            case ExpressionError() as error:
                return failed_without_runs(
                    task.name, error.reason, f"{field}[{number}]: {arguments.message_for_task(task, error)}"
                )
        if resolved and len(resolved[-1]) > WORD_MAX:
            message = f"{field}[{number}]: the value has {len(resolved[-1])} characters; the limit is {WORD_MAX}"
            return failed_without_runs(task.name, Reason.EXPRESSION_FAILED, message)
    return Pending(tuple(needs)) if needs else resolved


def _word(word: str, scope: Scope) -> str | ExpressionError | Pending:
    results = resolve.evaluate_embedded(word, scope)
    if not isinstance(results, dict):
        return results
    rendered = template.substitute(word, {expression: _as_text(value) for expression, value in results.items()})
    return rendered if isinstance(rendered, ExpressionError) else str(rendered)


def _as_text(value: JSON) -> str:
    """A string unchanged, another value as JSON."""
    text = value if isinstance(value, str) else canonical.plain(value)
    return text.replace("$", "$$")
