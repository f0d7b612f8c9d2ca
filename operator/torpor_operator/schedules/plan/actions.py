"""What the plan of a Schedule asks for, as data.

Every action may be repeated: names are derived, patches have preconditions, and NotFound on a delete is success.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from torpor_crds.models.schedule_status import ScheduleStatus
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow

from torpor_operator.model.actions import Need, Notice, PatchTaskRun, RemoveAnnotation, SetFinalizers


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSource:
    """Create the TaskRun of a source."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSource:
    """Delete the TaskRun of a source, unless it has changed: it may have fired."""

    taskrun: TaskRun


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRun:
    """Create the run of an event. A run of that name and that event is the same run."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartQueued:
    """Start a queued run."""

    run: Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun:
    """Cancel a run that another one replaces."""

    run: Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRun:
    """Delete a run."""

    run: Workflow


@dataclass(frozen=True, slots=True)
class Suspend:
    """Set spec.suspend of the Schedule."""


Action: TypeAlias = (
    CreateSource
    | DeleteSource
    | PatchTaskRun
    | CreateRun
    | StartQueued
    | CancelRun
    | DeleteRun
    | Suspend
    | SetFinalizers
    | RemoveAnnotation
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePlan:
    """The actions are done first. The status and the Events follow if those on which the status depends succeed.

    While `needs` is not empty, the plan is computed again with the answers.
    """

    actions: tuple[Action, ...] = ()
    after_status: tuple[Action, ...] = ()
    """Actions that need the status to be stored first."""
    needs: tuple[Need, ...] = ()
    status: ScheduleStatus | None = None
    notices: tuple[Notice, ...] = ()
    again_at: float | None = None
