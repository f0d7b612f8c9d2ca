"""The bodies of the tasks of a run that starts: what each task gets of the body that it uses (ADR 0074).

The operator adds the fields to the tasks in the same write as the finalizer. So the admission policies check complete
tasks, all other code reads tasks as without bodies, and a later change elsewhere does not change the run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeAlias

from torpor_crds.models.defaults import BodyAddition, add_fields, body_additions
from torpor_crds.models.run_of import BodyRef, parse_body_ref
from torpor_crds.models.workflow import WorkflowSpec
from torpor_expressions.value import JSON
from torpor_wire import constants

from torpor_operator.expressions.context import Pending
from torpor_operator.model.snapshot import TemplateSource
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.start import template_source
from torpor_operator.workflows.plan.start.template_source import TemplateKey

TaskAddition: TypeAlias = tuple[int, BodyAddition]
"""The index of a task, and what it gets."""


@dataclass(frozen=True, slots=True)
class BodyProblem:
    """Why the tasks cannot get their bodies, as a sentence."""

    message: str


def written_tasks(spec: WorkflowSpec) -> list[Mapping[str, Any]]:
    """The tasks as their author wrote them, as JSON."""
    return [task.model_dump(mode="json", by_alias=True, exclude_unset=True) for task in spec.written_tasks]


def additions_of(
    run: RunContext, tasks: Sequence[Mapping[str, Any]], bodies: Mapping[str, Any]
) -> tuple[TaskAddition, ...] | BodyProblem | Pending | WorkflowPlan:
    """What the tasks get; what to read first; or why they get nothing."""
    keys = templates_of(tasks)
    if len(keys) > constants.BODY_TEMPLATES_MAX:
        return BodyProblem(
            f"the tasks use bodies of {len(keys)} templates; the limit is {constants.BODY_TEMPLATES_MAX}"
        )
    match template_source.read_all(run, keys):
        case dict() as sources:
            return resolve(tasks, bodies, sources)
        case other:
            return other


def templates_of(tasks: Iterable[Mapping[str, Any]]) -> list[TemplateKey]:
    """The templates whose bodies the tasks use, without duplicates."""
    references = [reference_of(task) for task in tasks if task.get("use")]
    return list(dict.fromkeys(key for reference in references if (key := _key(reference)) is not None))


def reference_of(task: Mapping[str, Any]) -> BodyRef:
    """The body that a task uses."""
    return BodyRef.model_validate(parse_body_ref(task["use"]))


def _key(reference: BodyRef) -> TemplateKey | None:
    if reference.cluster_template is not None:
        return TemplateKey(name=reference.cluster_template, of_cluster=True)
    return None if reference.template is None else TemplateKey(name=reference.template)


def resolve(
    tasks: Sequence[Mapping[str, Any]],
    bodies: Mapping[str, Any],
    sources: Mapping[TemplateKey, TemplateSource] = MappingProxyType({}),
) -> tuple[TaskAddition, ...] | BodyProblem:
    """What the tasks get of their bodies, and which version of a template it is of."""
    additions, size = list[TaskAddition](), 0
    for index, task in enumerate(tasks):
        if not task.get("use"):
            continue
        reference = reference_of(task)
        source = None if (key := _key(reference)) is None else sources[key]
        body = _own_body(reference, bodies) if source is None else body_of_template(reference, source)
        if isinstance(body, BodyProblem):
            return BodyProblem(f"task {task['name']}: {body.message}")
        for path, value in chain(body_additions(task, body), () if source is None else _version(source)):
            size += len(json.dumps(value))
            if size > constants.BODY_TASKS_BYTES_MAX:
                return BodyProblem(
                    f"the tasks get more than {constants.BODY_TASKS_BYTES_MAX:,} bytes of their bodies: map one task "
                    "over a list instead of many tasks with `use`, or load large texts from a ConfigMap"
                )
            additions.append((index, (path, value)))
    return tuple(additions)


def _own_body(reference: BodyRef, bodies: Mapping[str, Any]) -> Mapping[str, Any] | BodyProblem:
    if (body := bodies.get(str(reference.body))) is not None:
        found: Mapping[str, Any] = body
        return found
    return BodyProblem(f"`use` names {reference.body}: no such body; bodies: {', '.join(sorted(bodies)) or 'none'}")


def body_of_template(reference: BodyRef, source: TemplateSource) -> Mapping[str, Any] | BodyProblem:
    """A body of a template, or the fields of one of its tasks, with the defaults that they have there."""
    name, bodies = source.template.metadata.name, _bodies_of(source)
    if reference.task is None:
        body = bodies.get(str(reference.body))
        listed = ", ".join(sorted(bodies)) or "none"
        return (
            BodyProblem(f"template {name} has no body {reference.body}; bodies: {listed}")
            if body is None
            else _with_defaults(body, source)
        )
    tasks = {task["name"]: task for task in _tasks_of(source)}
    if (task := tasks.get(reference.task)) is None:
        return BodyProblem(f"template {name} has no task {reference.task}; tasks: {', '.join(tasks) or 'none'}")
    if task.get("use"):
        own = reference_of(task)
        if _key(own) is not None:
            return BodyProblem(
                f"task {reference.task} of template {name} uses a body of another template: use that one"
            )
        body = _own_body(own, bodies)
        if isinstance(body, BodyProblem):
            return BodyProblem(f"template {name}: task {reference.task}: {body.message}")
        task = add_fields(task, body_additions(task, body))
    return _with_defaults(task, source)


def _with_defaults(body: Mapping[str, Any], source: TemplateSource) -> Mapping[str, Any]:
    """The body with what its template says of all tasks. A body without a program gets nothing of a pod."""
    defaults: Any = source.workflow.get("defaults") or {}
    fields = {name: defaults[name] for name in ("retries", "timeout") if name in defaults}
    if body.get("python") or body.get("container"):
        fields |= {"pod": defaults.get("pod"), "image": source.workflow.get("image") or defaults.get("image")}
    if body.get("python"):
        fields |= {name: source.workflow.get(name) for name in ("runtime", "source")}
    return add_fields(body, body_additions(body, {name: value for name, value in fields.items() if value}))


def _bodies_of(source: TemplateSource) -> Mapping[str, Any]:
    bodies: Any = source.workflow.get("bodies") or {}
    return bodies  # type: ignore[no-any-return]


def _tasks_of(source: TemplateSource) -> Sequence[Mapping[str, Any]]:
    tasks: Any = source.workflow.get("tasks") or ()
    return tasks  # type: ignore[no-any-return]


def _version(source: TemplateSource) -> Iterator[BodyAddition]:
    metadata = source.template.metadata
    yield ("use", "uid"), metadata.uid
    yield ("use", "generation"), metadata.generation


def completed(tasks: Sequence[Mapping[str, Any]], additions: Iterable[TaskAddition]) -> list[JSON]:
    """The tasks with what they get."""
    complete: list[JSON] = [dict(task) for task in tasks]
    for index, several in groupby(additions, key=itemgetter(0)):
        complete[index] = add_fields(tasks[index], (addition for _, addition in several))
    return complete


def by_pointer(additions: Iterable[TaskAddition]) -> Iterator[tuple[str, JSON]]:
    """Each value with its place in the object, as a JSON pointer."""
    for index, (path, value) in additions:
        names = (name.replace("~", "~0").replace("/", "~1") for name in path)
        yield f"/spec/tasks/{index}/{'/'.join(names)}", value
