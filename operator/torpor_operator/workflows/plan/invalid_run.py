"""Plans of a run that cannot go on: its status or its graph is invalid."""

from torpor_crds.models.workflow import TaskStatus
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.state import instance_indexes, task_state
from torpor_operator.taskrun import termination
from torpor_operator.workflows.plan import clear, dispatch, events, status
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.status import RunVerdict


def fail_invalid_status(run: RunContext) -> WorkflowPlan | None:
    """Fail a run whose status holds values that Torpor never writes: nothing is computed from them."""
    problem = instance_indexes.problem(run.workflow) or clear.problem(run.workflow)
    return None if problem is None else fail(run, RunVerdict.failed(Reason.STATUS_INVALID, problem))


def fail_invalid_graph(run: RunContext) -> WorkflowPlan | None:
    """Fail a run whose tasks have no order. If a change of the spec caused that, end its TaskRuns first."""
    problem = run.graph_problem
    if problem is None:
        return None
    return end(run, RunVerdict.failed(problem.reason, problem.message))


def end(run: RunContext, verdict: RunVerdict) -> WorkflowPlan:
    """The plan that ends a run without a graph: first its TaskRuns, then the run."""
    live = [name for name, taskrun in run.snapshot.taskruns.items() if taskrun.status.state not in TERMINAL]
    if live:
        steps = [termination.cancel(dispatch.view_of(run.snapshot, name), verdict.message) for name in live]
        return dispatch.prepend_steps(WorkflowPlan(), steps)
    return fail(run, verdict, tuple(map(task_state.cancelled_status, run.workflow.status.tasks)))


def fail(run: RunContext, verdict: RunVerdict, tasks: tuple[TaskStatus, ...] = ()) -> WorkflowPlan:
    """The plan that ends a run without TaskRuns in progress; `tasks` is their last status."""
    failed = status.build(run.workflow, [], verdict, run.snapshot.now)
    return WorkflowPlan(
        status=failed.model_copy(update={"tasks": tasks}),
        events=events.verdict(run.workflow, verdict),
    )
