"""Plans of a run that has not ended: start what is ready, or end all of it early. Pure.

A deletion or a cancellation ends it at once, without a graph: no spec, however invalid or expensive, keeps a deleted
Workflow. A stop or a timeout ends it early, and its hooks follow.
"""

from collections.abc import Sequence
from dataclasses import replace

from torpor_crds.models.task import Task
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants, times
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.model import task_groups
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.state import marks
from torpor_operator.state.task_state import TaskOutcome
from torpor_operator.taskrun import termination
from torpor_operator.taskrun.step import Step, TaskRunView, earliest
from torpor_operator.workflows.plan import (
    child_runs,
    clear,
    dispatch,
    events,
    invalid_run,
    pod_retention,
    run_result,
    status,
    task_order,
)
from torpor_operator.workflows.plan.run_context import RunContext
from torpor_operator.workflows.plan.status import RunVerdict


def hold_queued(run: RunContext) -> WorkflowPlan | None:
    """Do nothing for a queued run of a Schedule, which starts it when a former run has ended."""
    workflow = run.workflow
    is_queued = workflow.spec.suspend and constants.LABEL_QUEUED in workflow.metadata.labels
    begun = workflow.status.start_time is not None
    ends = workflow.spec.cancel or workflow.spec.stop or workflow.metadata.deletion_timestamp is not None
    return None if begun or ends or not is_queued else WorkflowPlan()


def end_at_once(run: RunContext) -> WorkflowPlan | None:
    """End all TaskRuns of a run that is deleted or cancelled. Its graph is not built: it may be invalid or large."""
    ending = _immediate_end(run.workflow)
    if ending is None:
        return None
    try:
        chains = task_groups.chains(run.workflow.spec)
    except task_groups.GroupingError:
        return invalid_run.end(run, ending)
    outcomes = [
        task_order.outcome_of_stopped(run.snapshot, task, depth=len(chains[task.name]))
        for task in _in_order_of_status(run.workflow)
    ]
    verdict = status.verdict(run.workflow, outcomes, ending)
    return _with_status(run, outcomes, [], verdict, _cancel(run, outcomes, ending, WorkflowPlan()))


def end_with_hooks(run: RunContext) -> WorkflowPlan | None:
    """End all TaskRuns of a run that is stopped or has timed out; its hooks follow."""
    ending = _early_end(run)
    if ending is None:
        return None
    snapshot, graph = run.snapshot, run.graph
    outcomes = [
        task_order.outcome_of_stopped(snapshot, task, depth=len(graph.chains[task.name])) for task in graph.tasks
    ]
    verdict = status.verdict(run.workflow, outcomes, ending)
    hooks = task_order.plan_hooks(snapshot, graph, outcomes, verdict)
    plan = _cancel(run, outcomes, ending, dispatch.build_plan(snapshot, hooks))
    return _with_status(run, outcomes, [hook.outcome for hook in hooks], verdict, plan)


def _cancel(run: RunContext, outcomes: Sequence[TaskOutcome], ending: RunVerdict, plan: WorkflowPlan) -> WorkflowPlan:
    """The plan that first cancels the TaskRuns of these outcomes."""
    names = [taskrun.metadata.name for outcome in outcomes for taskrun in outcome.runs.values()]
    steps = _replacements(run.snapshot)
    steps += [termination.cancel(dispatch.view_of(run.snapshot, name), ending.message) for name in names]
    return dispatch.prepend_steps(plan, steps)


def _in_order_of_status(workflow: Workflow) -> list[Task]:
    """The tasks in the order of the stored status, which was that of the graph."""
    places = {entry.name: place for place, entry in enumerate(workflow.status.tasks)}
    return sorted(workflow.spec.tasks, key=lambda task: places.get(task.name, len(places)))


def run_tasks(run: RunContext) -> WorkflowPlan:
    """Start the tasks that are ready and advance the TaskRuns that exist."""
    snapshot = run.snapshot
    tasks = task_order.plan_tasks(snapshot, run.graph)
    outcomes = [task.outcome for task in tasks]
    result = run_result.resolve_result(snapshot, outcomes, status.verdict(run.workflow, outcomes, None))
    verdict = result.verdict
    hooks = task_order.plan_hooks(snapshot, run.graph, outcomes, verdict)
    plan = pod_retention.delete_expired(snapshot, dispatch.build_plan(snapshot, [*tasks, *hooks]))
    again_at = plan.again_at if verdict.final else earliest([plan.again_at, run.timeout_at])
    steps = _replacements(snapshot)
    plan = dispatch.prepend_steps(replace(plan, again_at=again_at, needs=(*plan.needs, *result.needs)), steps)
    planned = _with_status(run, outcomes, [hook.outcome for hook in hooks], verdict, plan)
    return planned if planned.status is None else replace(planned, status=result.on(planned.status))


def _replacements(snapshot: Snapshot) -> list[Step]:
    """The steps that remove what a clearing or a mark replaces."""
    return [_replacement(snapshot, view) for view in _replaced(snapshot)]


def _replacement(snapshot: Snapshot, view: TaskRunView) -> Step:
    if (before := child_runs.before_deletion(snapshot, view)).actions:
        return before
    if marks.of_instance(snapshot.workflow, view.taskrun.spec.task, view.taskrun.spec.path):
        return termination.replace_by_mark(view)
    return termination.delete_for_rerun(view)


def _replaced(snapshot: Snapshot) -> list[TaskRunView]:
    """The TaskRuns that a clearing replaces."""
    return [dispatch.view_of(snapshot, name) for name in clear.replaced_names(snapshot)]


def _with_status(
    run: RunContext,
    outcomes: Sequence[TaskOutcome],
    hooks: Sequence[TaskOutcome],
    verdict: RunVerdict,
    plan: WorkflowPlan,
) -> WorkflowPlan:
    """The plan with the status of the run and its Events."""
    workflow, snapshot, all_outcomes = run.workflow, run.snapshot, (*outcomes, *hooks)
    waiting = status.slot_waits(workflow.spec, plan.waiting)
    verdict = status.with_create_error(status.with_slot_waits(verdict, waiting), snapshot.uncreated)
    verdict = status.with_hooks(verdict, hooks)
    taskruns = [taskrun for outcome in all_outcomes for taskrun in outcome.runs.values()]
    posted = (
        *events.problems(workflow, outcomes, verdict),
        *events.failures(taskruns),
        *events.hooks(workflow, hooks),
        *events.verdict(workflow, verdict),
    )
    kept = next(filter(None, map(termination.blocked_by_node, _replaced(snapshot))), "")
    stored = status.build(
        workflow, all_outcomes, verdict, snapshot.now, cleared=clear.is_complete(snapshot), kept=kept, waiting=waiting
    )
    return replace(plan, status=stored, events=(*plan.events, *posted))


def _immediate_end(workflow: Workflow) -> RunVerdict | None:
    """The verdict of a run that is deleted or cancelled, so that no hooks follow; None for any other run."""
    if workflow.metadata.deletion_timestamp is not None:
        return RunVerdict.failed(Reason.CANCELLED, "the Workflow was deleted")
    if workflow.spec.cancel:
        return RunVerdict.failed(Reason.CANCELLED, "spec.cancel was set")
    return None


def _early_end(run: RunContext) -> RunVerdict | None:
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
