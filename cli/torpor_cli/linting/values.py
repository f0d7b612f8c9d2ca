"""Checks values of the spec that fail only when a task starts: constant lists and images. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from torpor_crds.models import workflow as models
from torpor_crds.models.argument import MappedGroup
from torpor_crds.models.task import Task
from torpor_expressions import template
from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import Scope
from torpor_operator.mapping import expand
from torpor_operator.state.task_state import TaskOutcome
from torpor_wire import constants
from torpor_wire.state import TaskState

from torpor_cli.linting.finding import LintProblem, LintRule, Path, Severity, dotted

SIZE_MAX = 1536 * 1024
"""Bytes of a request to etcd."""
_IMAGE_NAME = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::\d+)?"
_IMAGE = re.compile(
    rf"(?:{_HOST}/)?{_IMAGE_NAME}(?:/{_IMAGE_NAME})*(?::[\w][\w.-]{{0,127}})?(?:@[A-Za-z][\w.+-]*:[0-9a-fA-F]{{32,}})?"
)


def problems(document: Mapping[str, Any]) -> Iterator[LintProblem]:
    """Yield the problems of a Workflow that its schema admits."""
    spec: Mapping[str, Any] = document["spec"]
    size = len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
    if size > SIZE_MAX:
        message = f"the Workflow has {size:,} bytes; etcd takes at most {SIZE_MAX:,}: pass large data by a ConfigMap"
        yield LintProblem(path=("spec",), rule=LintRule.SIZE, message=message)
    yield from _image(spec, ("spec",))
    for index, task in enumerate(spec.get("tasks", ())):
        path: Path = ("spec", "tasks", index)
        yield from _image(task, path)
        for number, step in enumerate((task.get("container") or {}).get("steps", ())):
            yield from _image(step, (*path, "container", "steps", number))
        yield from _containers(task.get("pod") or {}, (*path, "pod"))
    with suppress(ValidationError):  # the schema has reported why
        yield from _lists(models.WorkflowSpec.model_validate(spec))


def _image(owner: Mapping[str, Any], path: Path) -> Iterator[LintProblem]:
    image = owner.get("image")
    if image is not None and template.OPENING not in image and not _IMAGE.fullmatch(image):
        hint = "write name, name:tag or name@sha256:digest, in lower case"
        message = f'"{image}" is not an image reference; {hint}'
        at = (*path, "image")
        yield LintProblem(path=at, rule=LintRule.IMAGE, message=f"{dotted(at)}: {message}")


def _containers(pod: Mapping[str, Any], path: Path) -> Iterator[LintProblem]:
    for field in ("initContainers", "sidecars"):
        for index, container in enumerate(pod.get(field, ())):
            yield from _image(container, (*path, field, index))


def _lists(spec: models.WorkflowSpec) -> Iterator[LintProblem]:
    limit = spec.max_map_size or constants.MAP_MAX
    allowed = expand.Allowed(limit, limit)
    workflow = models.Workflow.model_validate({"metadata": {"name": "x"}, "spec": spec})
    scope = Scope(workflow=workflow, outcomes={}, known={})
    parts: tuple[tuple[str, tuple[Task | MappedGroup, ...]], ...] = (("tasks", spec.tasks), ("groups", spec.groups))
    for kind, owners in parts:
        for index, owner in enumerate(owners):
            if _is_constant(owner) and isinstance(
                outcome := expand.resolve_product(owner, scope, allowed), TaskOutcome
            ):
                yield _outcome(outcome, owner, ("spec", kind, index))


def _is_constant(owner: Task | MappedGroup) -> bool:
    """Whether all lists are written out, so that their items are known."""
    lists = [*(entry.over for entry in owner.expand), *([] if owner.expand_kwargs is None else [owner.expand_kwargs])]
    return bool(lists) and not any(resolve.embedded(over) for over in lists)


def _outcome(outcome: TaskOutcome, owner: Task | MappedGroup, path: Path) -> LintProblem:
    severity = Severity.WARNING if outcome.state is TaskState.SKIPPED else Severity.ERROR
    field = "expand" if owner.expand else "expandKwargs"
    kind = "group" if isinstance(owner, MappedGroup) else "task"
    message = f"{kind} {owner.name}: {outcome.message}"
    return LintProblem(path=(*path, field), rule=LintRule.EXPAND, severity=severity, message=message)
