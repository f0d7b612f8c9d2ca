"""Why a run ends before its tasks have: deleted, cancelled, stopped or timed out. Pure.

The first two end it at once, without a graph: no spec, however invalid or expensive, keeps a deleted Workflow.
"""

from torpor_crds.models.workflow import Workflow
from torpor_wire import times
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.workflows.plan import task_order
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.status import RunVerdict


def end_at_once(workflow: Workflow) -> RunVerdict | None:
    """The verdict of a run that is deleted or cancelled, so that no hooks follow; None for any other run."""
    if workflow.metadata.deletion_timestamp is not None:
        return RunVerdict.failed(Reason.CANCELLED, "the Workflow was deleted")
    if workflow.spec.cancel:
        return RunVerdict.failed(Reason.CANCELLED, "spec.cancel was set")
    return None


def end_with_hooks(run: RunContext) -> RunVerdict | None:
    """The verdict of a run that is stopped or has timed out, unless only hooks are left to run."""
    return _stopped(run) or _timed_out(run)


def _stopped(run: RunContext) -> RunVerdict | None:
    if not run.workflow.spec.stop or _tasks_ended(run, before=None):
        return None
    return RunVerdict.failed(Reason.CANCELLED, "spec.stop was set")


def _timed_out(run: RunContext) -> RunVerdict | None:
    due = run.timeout_at
    if due is None or run.snapshot.now < due or _tasks_ended(run, before=due):
        return None
    return RunVerdict.failed(Reason.TIMEOUT, f"the run exceeded its timeout of {run.workflow.spec.timeout}")


def _tasks_ended(run: RunContext, *, before: float | None) -> bool:
    """Whether all tasks ended by themselves (before this moment), so that only hooks are left."""
    plans = task_order.plan_tasks(run.snapshot, run.graph)
    taskruns = [taskrun for planned in plans for taskrun in planned.runs]
    cancelled = any(taskrun.status.state is State.CANCELLED for taskrun in taskruns)  # the early end itself did that
    if cancelled or not all(planned.outcome.ended for planned in plans):
        return False
    if before is None:
        return True
    moments = (taskrun.status.completion_time or times.rfc3339(before) for taskrun in taskruns)
    return all(times.epoch(end) < before for end in moments)
