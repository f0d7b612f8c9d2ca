"""The plan of a run that has ended: delete its last pods, remove the finalizer, archive it, apply the TTL."""

from torpor_wire import constants, times

from torpor_operator.model.actions import Action, PostEvent, SetFinalizers, WorkflowPlan
from torpor_operator.taskrun import termination
from torpor_operator.taskrun.step import earliest
from torpor_operator.workflows.plan import dispatch, events
from torpor_operator.workflows.plan.retention import archival, logs, pods, ttl
from torpor_operator.workflows.plan.run_context import RunContext

_EVENT_SECONDS = 300.0
"""A leader may end between the last status and its Events. The next one posts the missing ones of the runs that ended
within this time. On a busy machine, it leads minutes later.
"""


def clean_up(run: RunContext) -> WorkflowPlan | None:
    """Clean up after a run whose status has a completionTime."""
    workflow, snapshot = run.workflow, run.snapshot
    if workflow.status.completion_time is None:
        return None
    # TaskRuns that were created after the end (a write in flight, or one the cache did not show) are cancelled too.
    steps = [termination.cancel(dispatch.view_of(snapshot, name), "the run has ended") for name in snapshot.taskruns]
    actions: list[Action] = [action for step in steps for action in step.actions]
    if constants.FINALIZER in workflow.metadata.finalizers:
        others = tuple(name for name in workflow.metadata.finalizers if name != constants.FINALIZER)
        actions.append(SetFinalizers(finalizers=others))
    made = WorkflowPlan(actions=tuple(actions), events=_events(run), again_at=earliest(step.again_at for step in steps))
    made = pods.delete_expired(snapshot, made)
    if workflow.metadata.deletion_timestamp is not None:
        return made
    return logs.hold_workflow(snapshot, ttl.apply(snapshot, archival.apply(snapshot, made)))


def _events(run: RunContext) -> tuple[PostEvent, ...]:
    """The Events of failed TaskRuns and of the end. Each leader posts them once; the API server refuses known ones."""
    status, snapshot = run.workflow.status, run.snapshot
    if status.completion_time is None or snapshot.now > times.epoch(status.completion_time) + _EVENT_SECONDS:
        return ()
    return (*events.failures(snapshot.taskruns.values()), *events.ended(run.workflow))
