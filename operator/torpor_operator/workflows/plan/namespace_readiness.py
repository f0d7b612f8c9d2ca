"""The plan of a Workflow in a namespace that is not set up: it changes nothing and reports what is missing. Pure.

The controller's `namespaces` module finds out whether a namespace is set up.
"""

from dataclasses import replace

from torpor_crds.models.base import Condition
from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import Action, ArchiveRun, ReadVariables, SetFinalizers, WorkflowPlan
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.state import conditions

_ALWAYS_ALLOWED = SetFinalizers | ArchiveRun
"""Actions that every namespace allows (ADR 0051)."""


def hold(snapshot: Snapshot, made: WorkflowPlan) -> WorkflowPlan:
    """The plan without actions and Events that would be forbidden; the status reports what is missing."""
    kept = tuple(action for action in made.actions if isinstance(action, _ALWAYS_ALLOWED))
    made = replace(made, needs=tuple(need for need in made.needs if not isinstance(need, ReadVariables)))
    if made.status is None or made.status.completion_time is not None:
        return replace(made, actions=kept, events=())
    status = _stalled(snapshot.workflow, made.status, snapshot.not_ready, snapshot.now)
    return replace(made, actions=kept, status=status, events=())


def _stalled(workflow: Workflow, status: WorkflowStatus, message: str, now: float) -> WorkflowStatus:
    updated = tuple(_not_ready(workflow, condition, message, now) for condition in status.conditions)
    return status.model_copy(update={"conditions": updated})


def _not_ready(workflow: Workflow, condition: Condition, message: str, now: float) -> Condition:
    if condition.type not in {"Succeeded", "Stalled"}:
        return condition
    explained = condition.model_copy(update={"reason": Reason.NAMESPACE_NOT_READY, "message": message})
    if condition.type == "Succeeded" or condition.status == "True":
        return explained
    former = conditions.find(workflow.status.conditions, "Stalled")
    since = former.last_transition_time if former and former.status == "True" else times.rfc3339(now)
    return explained.model_copy(update={"status": "True", "last_transition_time": since})


def requires_role(action: Action) -> bool:
    """Whether the action requires the role torpor-operator-namespace in the namespace of the Workflow."""
    return not isinstance(action, _ALWAYS_ALLOWED)
