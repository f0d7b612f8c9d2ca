"""The program of an instance, its image, and the texts of its pod, with their expressions evaluated.

Kubernetes expands `$(NAME)` in a command and in variables, and keeps doing so for what the Workflow contains. There,
each `$` in the value of an expression is doubled, which Kubernetes reads as one `$`: a value is data and names no
variable.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from torpor_crds.models.pod_fields import EnvValue, EnvVar, PodValue
from torpor_crds.models.program import SCRIPT_MAX, Command, ContainerProgram, ContainerStep
from torpor_crds.models.task import Task
from torpor_expressions import errors, template
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import canonical

from torpor_operator.expressions import images, pod_texts, resolve
from torpor_operator.expressions.context import Pending, Scope
from torpor_operator.expressions.pod_texts import PodText
from torpor_operator.mapping import arguments
from torpor_operator.model.actions import Need
from torpor_operator.state.task_state import TaskOutcome, failed_without_runs

WORD_MAX = 4096
"""Characters of one word of a command, or of one environment variable."""
WORDS_MAX = 256
"""Words of a command or of its arguments, once lists are inserted."""
_AS_FILE = ": let an upstream task store it as a file (files.out), and read that (files.in)"

T = TypeVar("T")
P = TypeVar("P", bound=ContainerProgram)
Resolved: TypeAlias = T | TaskOutcome | Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerCommand:
    """The program of an instance, and the values of what contains expressions: its image, variables and pod fields."""

    container: Command | None
    env: tuple[EnvValue, ...]
    image: str | None = None
    pod_values: tuple[PodValue, ...] = ()


def resolve_program(task: Task, scope: Scope, texts: Iterable[PodText]) -> Resolved[ContainerCommand]:
    """The program of one instance, whose `mapping` is in the scope. `texts` are those of the pod of the task."""
    program = _container(task, scope) if task.container is not None else None
    env = _variables(task, resolve.ENV, task.pod.env if task.pod else (), scope)
    image, pod_values = _image(task, scope), _pod_values(task, scope, texts)
    if (unresolved := _unresolved(program, env, image, pod_values)) is not None:
        return unresolved
    if isinstance(program, Command) and program.steps:  # the last step is the container of the task
        default = image or task.image or scope.workflow.spec.image
        steps = tuple(step.model_copy(update={"image": step.image or default}) for step in program.steps)
        program, image = program.model_copy(update={"steps": steps}), steps[-1].image
    return ContainerCommand(container=program, env=env, image=image, pod_values=pod_values)  # type: ignore[arg-type]


def _container(task: Task, scope: Scope) -> Resolved[Command | None]:
    container = task.container
    if container is None:
        return None
    own = _program(task, "container", container, scope)
    steps = [_step(task, f"container.steps[{number}]", step, scope) for number, step in enumerate(container.steps)]
    if (unresolved := _unresolved(own, *steps)) is not None:
        return unresolved
    return own.model_copy(update={"steps": tuple(steps)})  # type: ignore[union-attr]


def _step(task: Task, field: str, step: ContainerStep, scope: Scope) -> Resolved[ContainerStep]:
    image = _evaluated_image(task, f"{field}.image", step.image, scope)
    program = _program(task, field, step, scope)
    if (unresolved := _unresolved(image, program)) is not None:
        return unresolved
    return program.model_copy(update={"image": image or step.image})  # type: ignore[union-attr]


def _program(task: Task, field: str, program: P, scope: Scope) -> Resolved[P]:
    """A program with the values of its expressions."""
    command = _words(task, f"{field}.command", program.command, scope)
    args = _words(task, f"{field}.args", program.args, scope)
    env = _variables(task, f"{field}.env", program.env, scope)
    script = _script(task, f"{field}.script", program.script, scope)
    if (unresolved := _unresolved(command, args, env, script)) is not None:
        return unresolved
    values = {each.name: each.value for each in env}  # type: ignore[union-attr]
    variables = tuple(
        EnvVar(name=each.name, value=values[each.name]) if each.name in values else each for each in program.env
    )
    return program.model_copy(update={"command": command, "args": args, "env": variables, "script": script})


def _unresolved(*parts: object) -> TaskOutcome | Pending | None:
    """The first failure of the parts, else all that they need; None if each has its value."""
    failed = next((part for part in parts if isinstance(part, TaskOutcome)), None)
    pending = [part for part in parts if isinstance(part, Pending)]
    return failed or (Pending(tuple(need for part in pending for need in part.needs)) if pending else None)


def _has_expression(text: str | None) -> bool:
    """Whether a text contains an expression, or an escaped `${`."""
    return text is not None and template.OPENING in text


def _failed(task: Task, field: str, error: ExpressionError) -> TaskOutcome:
    return failed_without_runs(task.name, error.reason, f"{field}: {arguments.message_for_task(task, error)}")


def _words(task: Task, field: str, words: Sequence[str], scope: Scope) -> Resolved[tuple[str, ...]]:
    """The words. A word that is one expression with a list as its value becomes the items of the list."""
    resolved: list[str] = []
    needs: list[Need] = []
    for number, word in enumerate(words):
        match _word(word, scope) if _has_expression(word) else (word,):
            case tuple() as texts:
                resolved += texts
            case Pending(more):
                needs += more
                texts = ()
            case error:
                return _failed(task, f"{field}[{number}]", error)
        longest = max(map(len, texts), default=0)
        if longest > WORD_MAX or len(resolved) > WORDS_MAX:
            problem = f"{longest} characters; the limit is {WORD_MAX}{_AS_FILE}"
            if len(resolved) > WORDS_MAX:
                problem = f"too many items; a command has at most {WORDS_MAX} words{_AS_FILE}"
            return _failed(task, f"{field}[{number}]", errors.failed(f"the value has {problem}"))
    return Pending(tuple(needs)) if needs else tuple(resolved)


def _word(word: str, scope: Scope) -> tuple[str, ...] | ExpressionError | Pending:
    results = resolve.evaluate_embedded(word, scope)
    if not isinstance(results, dict):
        return results
    expression = resolve.sole_expression(word)
    if expression is not None and isinstance(items := results[expression], list):
        return tuple(map(_as_word, items))
    rendered = template.substitute(word, {expression: _as_word(value) for expression, value in results.items()})
    return rendered if isinstance(rendered, ExpressionError) else (str(rendered),)


def _variables(task: Task, field: str, variables: Sequence[EnvVar], scope: Scope) -> Resolved[tuple[EnvValue, ...]]:
    """The variables whose values contain expressions."""
    resolved: list[EnvValue] = []
    needs: list[Need] = []
    for number, variable in enumerate(variables):
        if not _has_expression(variable.value):
            continue
        match _text(variable.value or "", scope):
            case str() as text if len(text) <= WORD_MAX:
                resolved.append(EnvValue(name=variable.name, value=text))
            case str() as text:
                problem = errors.failed(f"the value has {len(text)} characters; the limit is {WORD_MAX}{_AS_FILE}")
                return _failed(task, f"{field}[{number}]", problem)
            case Pending(more):
                needs += more
            case error:
                return _failed(task, f"{field}[{number}]", error)
    return Pending(tuple(needs)) if needs else tuple(resolved)


def _text(text: str, scope: Scope) -> str | ExpressionError | Pending:
    """The text of a variable, where Kubernetes expands what the author wrote and nothing of a value."""
    results = resolve.evaluate_embedded(text, scope)
    if not isinstance(results, dict):
        return results
    rendered = template.substitute(text, {expression: _as_word(value) for expression, value in results.items()})
    return rendered if isinstance(rendered, ExpressionError) else str(rendered)


def _script(task: Task, field: str, script: str | None, scope: Scope) -> Resolved[str | None]:
    if script is None or not _has_expression(script):
        return script
    match resolve.resolve_value(script, scope):
        case Pending() as pending:
            return pending
        case ExpressionError() as error:
            return _failed(task, field, error)
        case value:
            text = _as_text(value.json)
            if len(text) <= SCRIPT_MAX:
                return text
            message = f"the script has {len(text):,} characters; the limit is {SCRIPT_MAX:,}: mount it from a ConfigMap"
            problem = errors.failed(message)
            return _failed(task, field, problem)


def _image(task: Task, scope: Scope) -> Resolved[str | None]:
    """The image of the task, if it contains an expression."""
    if not task.has_pod:
        return None
    return _evaluated_image(task, "image", task.image or scope.workflow.spec.image, scope)


def _evaluated_image(task: Task, field: str, image: str | None, scope: Scope) -> Resolved[str | None]:
    """The image with the values of its expressions; None if it has none."""
    if image is None or not _has_expression(image):
        return None
    results = resolve.evaluate_embedded(image, scope)
    if isinstance(results, Pending):
        return results
    rendered = results if isinstance(results, ExpressionError) else images.rendered(image, results)
    return _failed(task, field, rendered) if isinstance(rendered, ExpressionError) else rendered


def _pod_values(task: Task, scope: Scope, texts: Iterable[PodText]) -> Resolved[tuple[PodValue, ...]]:
    values: list[PodValue] = []
    needs: list[Need] = []
    for text in texts:
        match _pod_value(text, scope):
            case str() as value:
                values.append(PodValue(path=pod_texts.pointer(text.path), value=value))
            case Pending(more):
                needs += more
            case error:
                return _failed(task, text.field, error)
    if needs or task.pod is None or not values:
        return Pending(tuple(needs)) if needs else ()
    if isinstance(problem := pod_texts.applied(task.pod, values), ExpressionError):
        return _failed(task, "pod", problem)
    return tuple(values)


def _pod_value(text: PodText, scope: Scope) -> str | ExpressionError | Pending:
    """The text of a pod field: strings, numbers and booleans, never a list or an object."""
    results = resolve.evaluate_embedded(text.text, scope)
    if not isinstance(results, dict):
        return results
    for expression, value in results.items():
        if value is None or isinstance(value, list | dict):
            return errors.failed(f"{canonical.plain(value)[:80]} is not a text or a number").with_expression(expression)
    insert = _as_word if text.is_expanded else _as_text
    rendered = template.substitute(text.text, {expression: insert(value) for expression, value in results.items()})
    if isinstance(rendered, ExpressionError):
        return rendered
    problem = images.problem(str(rendered)) if text.is_image else pod_texts.quantity_problem(text, str(rendered))
    return problem or str(rendered)


def _as_text(value: JSON) -> str:
    """A string unchanged, another value as JSON."""
    return value if isinstance(value, str) else canonical.plain(value)


def _as_word(value: JSON) -> str:
    return _as_text(value).replace("$", "$$")
