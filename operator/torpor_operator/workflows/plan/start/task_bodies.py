"""The bodies of the tasks of a run that starts: what each task gets of the body that it uses (ADR 0074).

The operator adds the fields to the tasks in the same write as the finalizer. So the admission policies check complete
tasks, all other code reads tasks as without bodies, and a later change elsewhere does not change the run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from torpor_crds.models.defaults import BodyAddition, add_fields, body_additions
from torpor_crds.models.run_of import parse_body_ref
from torpor_crds.models.workflow import WorkflowSpec
from torpor_expressions.value import JSON
from torpor_wire import constants

TaskAddition: TypeAlias = tuple[int, BodyAddition]
"""The index of a task, and what it gets."""


@dataclass(frozen=True, slots=True)
class BodyProblem:
    """Why the tasks cannot get their bodies, as a sentence."""

    message: str


def written_tasks(spec: WorkflowSpec) -> list[Mapping[str, Any]]:
    """The tasks as their author wrote them, as JSON."""
    return [task.model_dump(mode="json", by_alias=True, exclude_unset=True) for task in spec.written_tasks]


def resolve(tasks: Sequence[Mapping[str, Any]], bodies: Mapping[str, Any]) -> tuple[TaskAddition, ...] | BodyProblem:
    """What the tasks get of the bodies of their spec; nothing for tasks that have it already."""
    additions, size = [], 0
    for index, task in enumerate(tasks):
        if not task.get("use"):
            continue
        name = str(parse_body_ref(task["use"]).get("body"))
        if name not in bodies:
            listed = ", ".join(sorted(bodies)) or "none"
            return BodyProblem(f"task {task['name']}: `use` names {name}: no such body; bodies: {listed}")
        for path, value in body_additions(task, bodies[name]):
            size += len(json.dumps(value))
            if size > constants.BODY_TASKS_BYTES_MAX:
                return BodyProblem(
                    f"the tasks get more than {constants.BODY_TASKS_BYTES_MAX:,} bytes of their bodies: map one task "
                    "over a list instead of many tasks with `use`, or load large texts from a ConfigMap"
                )
            additions.append((index, (path, value)))
    return tuple(additions)


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
