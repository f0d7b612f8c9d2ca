"""A run that cannot start yet: it shows what it waits for, and looks again at a growing interval."""

from torpor_wire import times
from torpor_wire.reason import Reason
from torpor_wire.state import RunState

from torpor_operator.model.actions import PostEvent
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.workflows.plan import status
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.status import RunVerdict

_PACE_MIN, _PACE_MAX = 1.0, 10.0
_PACE_OF_AGE = 0.1
"""Pause between two looks, as a share of the age of the run."""


def wait_for(run: RunContext, reason: Reason, message: str) -> WorkflowPlan:
    """The plan of a run that waits until someone creates or corrects an object, with an Event."""
    metadata, now = run.workflow.metadata, run.snapshot.now
    verdict = RunVerdict(state=RunState.PENDING, succeeded="Unknown", reason=reason, message=message)
    event = PostEvent(regarding=None, reason=reason, message=message, warning=True, key=f"{metadata.uid}/{reason}")
    age = now - times.epoch(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0
    pace = min(max(age * _PACE_OF_AGE, _PACE_MIN), _PACE_MAX)
    return wait(run, verdict, event, again_at=now + pace)


def wait(run: RunContext, verdict: RunVerdict, *events: PostEvent, again_at: float | None = None) -> WorkflowPlan:
    """The plan of a run that has not started: neither its timeout nor its history begins."""
    former = run.workflow.status
    waiting = status.build(run.workflow, [], verdict, run.snapshot.now)
    unstarted = waiting.model_copy(update={"start_time": former.start_time, "history": former.history})
    return WorkflowPlan(status=unstarted, events=events, again_at=again_at)
