"""Where the expressions of a task are, and the values of its fields once their expressions are known."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from torpor_crds.models.argument import MappedGroup
from torpor_crds.models.program import ContainerProgram
from torpor_crds.models.task import Task
from torpor_crds.models.workflow import WorkflowSpec
from torpor_expressions import errors, references, template
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value

from torpor_operator.expressions import file_texts, images, pod_texts
from torpor_operator.expressions.context import GROUPS, MAPPING, PARAMS, ROOTS, RUN, VARIABLES, Pending
from torpor_operator.model.actions import Need

LIST_ROOTS = ROOTS | {GROUPS}
INSTANCE_ROOTS = LIST_ROOTS | {MAPPING}
AUTHOR_ROOTS = frozenset({PARAMS, VARIABLES})
"""What the author of a run wrote. Results and events come from programs and servers."""
CONTAINER, ENV = "container", "pod.env"
_WORD = re.compile(r"\w+")
_AUTHOR_HINT = "; only params, variables, and lists that the Workflow contains may choose it"
_IMAGE_HINT = f"{_AUTHOR_HINT}; after a literal repository, as in app:${{...}}, any value may choose the tag"
_SCRIPT_HINT = (
    "; a variable of the shell is $NAME or $${NAME}. Only params and variables may be part of a script: pass other "
    "values in args or container.env"
)
EVENT_ROOTS = frozenset({"event", PARAMS, RUN})
OBJECT_ROOTS = frozenset({"object"})
RETRY_ROOTS = frozenset({"attempt", "exitCode", "httpStatus", "reason", "message", "exception"})


class Evaluates(Protocol):
    """What the expressions see, such as `Scope`."""

    def evaluate(self, expression: str) -> Value | ExpressionError | Pending:
        """The value of an expression."""


class LocatedExpression(NamedTuple):
    """An expression, the field it is in, and the names it may use; `expression` is an error if it does not parse."""

    field: str
    expression: str | ExpressionError
    roots: frozenset[str]
    hint: str = ""  # what to do where the expression is invalid


def task_expressions(
    task: Task, default_image: str | None = None, *, groups_of_author: bool = False
) -> Iterator[LocatedExpression]:
    """Every expression of the task, whose image may be `default_image`.

    `groups_of_author`: whether the author wrote the lists of all groups.
    """
    if task.when is not None:
        yield LocatedExpression("when", unwrap(task.when), INSTANCE_ROOTS)
    for name, value in task.args.items():
        yield from _located(f"args: {name}", value, INSTANCE_ROOTS)
    for entry in task.expand:
        yield from _located(f"expand {entry.name}", entry.over, LIST_ROOTS)
    yield from _located("expandKwargs", task.expand_kwargs, LIST_ROOTS)
    yield from _located("displayName", task.display_name, INSTANCE_ROOTS)
    yield from _of_program(task)
    yield from _of_pod(task, default_image, groups_of_author=groups_of_author)
    yield from _of_files(task, groups_of_author=groups_of_author)
    yield from _of_wait(task)
    for field, text in (("result", task.result), ("failWhen", task.fail_when)):
        if text is not None:
            yield LocatedExpression(field, text, EVENT_ROOTS)
    if task.retries.when is not None:
        yield LocatedExpression("retries.when", unwrap(task.retries.when), RETRY_ROOTS)


def _of_wait(task: Task) -> Iterator[LocatedExpression]:
    for name, value in task.trigger.kwargs.items() if task.trigger is not None else ():
        yield from _located(f"trigger: {name}", value, INSTANCE_ROOTS)
    for name, value in task.http.kwargs().items() if task.http is not None else ():
        yield from _located(f"http.{name}", value, INSTANCE_ROOTS)
    for name, value in task.run.params.items() if task.run is not None else ():
        yield from _located(f"run.params: {name}", value, INSTANCE_ROOTS)
    if (body := task.object_) is not None:
        yield from _located("object.manifest", body.manifest, INSTANCE_ROOTS)
        for field, text in (("until", body.until), ("failWhen", body.fail_when), ("result", body.result)):
            if text is not None:
                yield LocatedExpression(f"object.{field}", text, OBJECT_ROOTS)
    if task.run is not None:
        yield from _located("run.name", task.run.name, INSTANCE_ROOTS)


def _of_program(task: Task) -> Iterator[LocatedExpression]:
    program = task.container
    for variable in task.pod.env if task.pod is not None else ():
        yield from _located(f"{ENV}: {variable.name}", variable.value, INSTANCE_ROOTS)
    if program is None:
        return
    yield from _program(CONTAINER, program)
    for index, step in enumerate(program.steps):
        yield from _program(f"{CONTAINER}.steps[{index}]", step)


def _program(field: str, program: ContainerProgram) -> Iterator[LocatedExpression]:
    """The expressions of a program, which is in this field."""
    for name, words in (("command", program.command), ("args", program.args)):
        yield from _located(f"{field}.{name}", list(words), INSTANCE_ROOTS)
    for variable in program.env:
        yield from _located(f"{field}.env: {variable.name}", variable.value, INSTANCE_ROOTS)
    yield from _located(f"{field}.script", program.script, AUTHOR_ROOTS, _SCRIPT_HINT)
    yield from _not_evaluated(f"{field}.interpreter", list(program.interpreter))
    yield from _not_evaluated(f"{field}.result", program.result_path)


def _of_files(task: Task, *, groups_of_author: bool) -> Iterator[LocatedExpression]:
    for entry in task.files.in_ if task.files is not None else ():
        for field, text, by_data in file_texts.texts(entry.source):
            where = f"files.in {entry.name}: {field}"
            if by_data:
                yield from _located(where, text, INSTANCE_ROOTS)
            else:
                author = author_roots(task, groups_of_author=groups_of_author)
                yield from _located(where, text, author, _AUTHOR_HINT)


def _of_pod(task: Task, default_image: str | None, *, groups_of_author: bool) -> Iterator[LocatedExpression]:
    """The expressions of image and pod fields. Some take values of the author only (ADR 0059)."""
    image = task.image or default_image if task.has_pod else None
    texts = pod_texts.texts(task.pod)
    steps = task.container.steps if task.container is not None else ()
    named = [
        ("image", image),
        *((f"{CONTAINER}.steps[{number}].image", step.image) for number, step in enumerate(steps)),
    ]
    evaluated = [(field, each) for field, each in named if each is not None and template.OPENING in each]
    if not evaluated and not texts:
        return
    author = author_roots(task, groups_of_author=groups_of_author)
    for field, each in evaluated:
        yield from _of_image(field, each, author)
    for text in texts:
        if text.by_data is None:
            yield from _not_evaluated(text.field, text.text)
        elif text.by_data:
            yield from _located(text.field, text.text, INSTANCE_ROOTS)
        else:
            yield from _located(text.field, text.text, author, _AUTHOR_HINT)


def _of_image(field: str, image: str, author: frozenset[str]) -> Iterator[LocatedExpression]:
    if isinstance(parsed := template.expressions(image), ExpressionError):
        yield LocatedExpression(field, parsed, author)
    for expression, separator in images.expressions(image):
        yield LocatedExpression(
            field, expression, INSTANCE_ROOTS if separator else author, "" if separator else _IMAGE_HINT
        )


def author_roots(task: Task, *, groups_of_author: bool) -> frozenset[str]:
    """The names of values that the author wrote: also the items of a task or a group, if they do not come from data."""
    over: list[JSON] = [*(entry.over for entry in task.expand), task.expand_kwargs]
    by_groups = AUTHOR_ROOTS | {GROUPS} if groups_of_author else AUTHOR_ROOTS
    return by_groups | {MAPPING} if _uses_only(over, by_groups) else by_groups


def are_of_author(groups: Iterable[MappedGroup]) -> bool:
    """Whether the author wrote the lists of all groups."""
    return _uses_only([entry.over for group in groups for entry in group.expand], AUTHOR_ROOTS)


def _uses_only(values: list[JSON], roots: frozenset[str]) -> bool:
    """Whether no expression in the values contains another name of a root, even in a text: nothing is parsed here."""
    others = INSTANCE_ROOTS - roots
    return not any(others.intersection(_WORD.findall(expression)) for expression in embedded(values))


def _not_evaluated(field: str, value: JSON) -> Iterator[LocatedExpression]:
    if any(
        template.OPENING in text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
    ):
        problem = errors.invalid("${...} is not evaluated here: write a literal value")
        yield LocatedExpression(field, problem, AUTHOR_ROOTS)


def group_expressions(group: MappedGroup) -> Iterator[LocatedExpression]:
    """Every expression of a group; they see the groups around it."""
    for entry in group.expand:
        yield from _located(f"expand {entry.name}", entry.over, LIST_ROOTS)


def run_expressions(spec: WorkflowSpec) -> Iterator[LocatedExpression]:
    """Every expression of the run that belongs to no task."""
    if spec.result is not None:
        yield LocatedExpression("result", unwrap(spec.result), ROOTS)


def differs_per_instance(value: JSON) -> bool:
    """Whether a value differs between instances, since its expressions use `mapping`."""
    return any(uses_mapping(expression) for expression in embedded(value))


def uses_mapping(expression: str) -> bool:
    """Whether an expression uses `mapping`."""
    parsed = references.find(expression, roots=INSTANCE_ROOTS)
    return not isinstance(parsed, ExpressionError) and MAPPING in parsed.roots


def embedded(value: JSON) -> tuple[str, ...]:
    """The expressions in the strings of a value; none if one does not parse."""
    parsed = template.expressions(value)
    return () if isinstance(parsed, ExpressionError) else parsed


def resolve_value(value: JSON, scope: Evaluates) -> Value | ExpressionError | Pending:
    """The value with every `${...}` in its strings replaced; results of expressions are not parsed again."""
    results = evaluate_embedded(value, scope)
    if not isinstance(results, dict):
        return results
    rendered = template.substitute(value, results)
    return rendered if isinstance(rendered, ExpressionError) else Value(json=rendered)


def evaluate_embedded(value: JSON, scope: Evaluates) -> dict[str, JSON] | ExpressionError | Pending:
    """The result of each `${...}` in the strings of a value, by its expression."""
    parsed = template.expressions(value)
    if isinstance(parsed, ExpressionError):
        return parsed
    results: dict[str, JSON] = {}
    needs: list[Need] = []
    for expression in parsed:
        match scope.evaluate(expression):
            case Value(json=json):
                results[expression] = json
            case Pending(more):
                needs += more
            case error:
                return error
    return Pending(tuple(needs)) if needs else results


def unwrap(expression: str) -> str:
    """The expression of a `when`, which is CEL already; `${...}` around it is allowed."""
    return sole_expression(expression) or expression


def sole_expression(value: JSON) -> str | None:
    """The expression of a string that is one `${...}` and nothing else."""
    parsed = template.parse(value) if isinstance(value, str) else None
    return parsed.single if isinstance(parsed, template.StringTemplate) else None


def _located(field: str, value: JSON, roots: frozenset[str], hint: str = "") -> Iterator[LocatedExpression]:
    parsed = template.expressions(value)
    if isinstance(parsed, ExpressionError):
        yield LocatedExpression(field, parsed, roots, hint)
        return
    for expression in parsed:
        yield LocatedExpression(field, expression, roots, hint)
