"""The plan of a Workflow, and how its actions differ for the executor. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_crds.models.workflow import WorkflowStatus
from torpor_wire.reason import Reason

from torpor_operator.model.actions import (
    Action,
    ArchiveRun,
    CopyTemplate,
    CreatePod,
    CreateTaskRun,
    Need,
    PostEvent,
    SetFinalizers,
)
from torpor_operator.model.child_run_actions import CreateChildRun


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowPlan:
    """Actions may complete in any order; they are started in the order given.

    While `needs` is not empty, the plan is computed again with the answers, and may have further needs.
    """

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    status: WorkflowStatus | None = None
    events: tuple[PostEvent, ...] = ()
    again_at: float | None = None
    waiting: Mapping[str, Reason] = field(default_factory=dict)  # tasks with instances without a slot, and why


def requires_role(action: Action) -> bool:
    """Whether the action requires the role torpor-operator-namespace in the namespace of the Workflow (ADR 0051)."""
    return not isinstance(action, SetFinalizers | ArchiveRun)


def is_urgent(action: Action) -> bool:
    """Whether the write precedes others of its namespace: it ends, frees or resumes something."""
    match action:
        case CreatePod(taskrun=taskrun):
            return taskrun.status.segment > 0
        case CreateTaskRun() | CreateChildRun() | CopyTemplate() | PostEvent() | ArchiveRun():
            return False
        case _:
            return True
