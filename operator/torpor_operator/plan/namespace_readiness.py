"""What becomes of a plan in a namespace that is not set up: nothing is created there, and the Workflow says why.

Pure. Whether a namespace is set up is found out by `namespaces`; here it is only put on the Workflow.
"""

from dataclasses import replace

from torpor_api.models.base import Condition
from torpor_api.models.workflow import Workflow, WorkflowStatus
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import (
    Action,
    CreatePod,
    CreateTaskRun,
    DeletePod,
    DeleteTaskRun,
    LiftGate,
    Plan,
    PostEvent,
    RemovePodFinalizer,
)
from torpor_operator.model.snapshot import Snapshot

_BOUND = CreateTaskRun | DeleteTaskRun | CreatePod | DeletePod | LiftGate | RemovePodFinalizer
"""What the operator may do only where it is bound to torpor-operator-namespace."""


def hold(snapshot: Snapshot, made: Plan) -> Plan:
    """The plan without what would be refused; the Workflow and an Event say what the namespace lacks."""
    workflow = snapshot.workflow
    kept = tuple(action for action in made.actions if not isinstance(action, _BOUND))
    if made.status is None or made.status.completion_time is not None:
        return replace(made, actions=kept)
    status = _stalled(workflow, made.status, snapshot.not_ready, snapshot.now)
    return replace(made, actions=kept, status=status, events=(*made.events, _event(workflow, snapshot.not_ready)))


def _stalled(workflow: Workflow, status: WorkflowStatus, message: str, now: float) -> WorkflowStatus:
    def said(one: Condition) -> Condition:
        if one.type not in {"Succeeded", "Stalled"}:
            return one
        told = one.model_copy(update={"reason": Reason.NAMESPACE_NOT_READY, "message": message})
        if one.type == "Succeeded" or one.status == "True":
            return told
        former = next((each for each in workflow.status.conditions if each.type == "Stalled"), None)
        stalled = former is not None and former.status == "True"
        since = former.last_transition_time if former and stalled else times.rfc3339(now)
        return told.model_copy(update={"status": "True", "last_transition_time": since})

    return status.model_copy(update={"conditions": tuple(map(said, status.conditions))})


def _event(workflow: Workflow, message: str) -> PostEvent:
    return PostEvent(
        regarding=None,
        reason=Reason.NAMESPACE_NOT_READY,
        message=message,
        warning=True,
        key=f"{workflow.metadata.uid}/{Reason.NAMESPACE_NOT_READY}",
    )


def refused(action: Action, message: str) -> bool:
    """Whether the API server refused this for want of a role in the namespace, rather than for what it is."""
    return isinstance(action, _BOUND) and "cannot " in message and " resource " in message
