"""Decides what one Workflow needs now: `plan(Snapshot) -> Plan`.

Level-based: a plan is computed from the spec, the TaskRuns and their pods, never from a diff or an earlier plan.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from torpor_crds.models.base import Condition
from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import ReadConfigMap, SetFinalizers
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan, requires_role
from torpor_operator.notifications.decide import add_notifications
from torpor_operator.state import conditions
from torpor_operator.workflows.plan import (
    active_run,
    child_runs,
    clear_request,
    finished_run,
    invalid_run,
    mark_request,
)
from torpor_operator.workflows.plan.run_context import BuildGraph, RunContext, build_graph
from torpor_operator.workflows.plan.start import run_start, template_copy

Decision: TypeAlias = Callable[[RunContext], WorkflowPlan | None]

DECISIONS: tuple[Decision, ...] = (
    invalid_run.fail_invalid_status,  # the status holds values that Torpor never writes
    active_run.hold_queued,  # a queued run of a Schedule: it does not begin, not even by a clear
    clear_request.accept_or_refuse,  # the clear annotation asks to run instances again
    mark_request.accept_or_refuse,  # the mark annotation asks to end instances without running them
    child_runs.wait_again,  # a failed run of a task was cleared by itself: its task waits for it again
    finished_run.clean_up,  # status.completionTime is set: pods, finalizer, archive, TTL
    template_copy.copy_or_wait,  # the run has a template and no tasks yet: copy its spec
    run_start.start,  # what the run needs is missing: add finalizer, defaults and bodies before anything is created
    active_run.end_at_once,  # the run is deleted or cancelled: before its graph, which no longer matters
    invalid_run.fail_invalid_graph,  # the tasks have no order: end what runs, then fail
    active_run.end_with_hooks,  # the run is stopped or timed out
    active_run.run_tasks,  # none of the above: start what is ready
)
"""The first that returns a plan decides; the last always does."""


def plan(snapshot: Snapshot, build_graph: BuildGraph = build_graph) -> WorkflowPlan:
    """The plan of one Workflow; in a namespace that is not set up it creates nothing.

    `build_graph` may return the graph of an earlier plan if the spec has not changed since.
    """
    run = RunContext(snapshot, build_graph)
    decided = next(decided for decide in DECISIONS if (decided := decide(run)) is not None)
    decided = _with_child_runs(snapshot, decided)
    notified = add_notifications(snapshot, decided)
    return _hold(snapshot, notified) if snapshot.not_ready else notified


def _with_child_runs(snapshot: Snapshot, decided: WorkflowPlan) -> WorkflowPlan:
    """The plan with what its runs get. A deleted Workflow stays until its runs without an owner are cancelled."""
    actions = decided.actions
    if snapshot.children and child_runs.holds_deletion(snapshot) and any(isinstance(a, SetFinalizers) for a in actions):
        actions = tuple(action for action in actions if not isinstance(action, SetFinalizers))
    return replace(decided, actions=(*actions, *child_runs.propagate(snapshot)))


def _hold(snapshot: Snapshot, decided: WorkflowPlan) -> WorkflowPlan:
    """The plan without actions and Events that would be forbidden; the status reports what is missing."""
    kept = tuple(action for action in decided.actions if not requires_role(action))
    needs = tuple(need for need in decided.needs if not isinstance(need, ReadConfigMap))
    held = replace(decided, needs=needs, actions=kept, events=())
    if held.status is None or held.status.completion_time is not None:
        return held
    return replace(held, status=_stalled(snapshot.workflow, held.status, snapshot.not_ready, snapshot.now))


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
