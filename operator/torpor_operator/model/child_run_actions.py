"""What a plan asks for on the runs that tasks have started, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_expressions.value import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateChildRun:
    """Create the Workflow that a TaskRun waits for."""

    taskrun: TaskRun
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeChildRun:
    """Set fields of the spec of a run that a task has started; `by_parent`: add or remove the mark of a suspension."""

    run: Workflow
    fields: Mapping[str, JSON]
    by_parent: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveChildRun:
    """Set fields of `spec.parent` and the owners of a run: its task is created again, and waits on for it."""

    run: Workflow
    parent: Mapping[str, JSON]
    owners: Sequence[JSON]
