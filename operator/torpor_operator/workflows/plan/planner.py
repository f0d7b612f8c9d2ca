"""Decides what one Workflow needs now: `plan(Snapshot) -> Plan`.

Level-based: a plan is computed from the spec, the TaskRuns and their pods, never from a diff or an earlier plan.
"""

from collections.abc import Callable
from typing import TypeAlias

from torpor_operator.model.actions import WorkflowPlan
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.workflows.plan import (
    active_run,
    clear_request,
    finished_run,
    invalid_run,
    mark_request,
    namespace_readiness,
    template_copy,
)
from torpor_operator.workflows.plan.run_context import BuildGraph, RunContext, build_graph

Decision: TypeAlias = Callable[[RunContext], WorkflowPlan | None]

DECISIONS: tuple[Decision, ...] = (
    invalid_run.fail_invalid_status,  # the status holds values that Torpor never writes
    active_run.hold_queued,  # a queued run of a Schedule: it does not begin, not even by a clear
    clear_request.accept_or_refuse,  # the clear annotation asks to run instances again
    mark_request.accept_or_refuse,  # the mark annotation asks to end instances without running them
    finished_run.clean_up,  # status.completionTime is set: pods, finalizer, archive, TTL
    template_copy.copy_or_wait,  # the run has a template and no tasks yet: copy its spec, with the finalizer
    active_run.add_finalizer,  # the finalizer is missing: add it before anything is created
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
    made = next(made for decide in DECISIONS if (made := decide(run)) is not None)
    return namespace_readiness.hold(snapshot, made) if snapshot.not_ready else made
