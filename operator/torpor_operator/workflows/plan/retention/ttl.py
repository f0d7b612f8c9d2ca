"""Deletes a finished run when its TTL expires, after the archive has stored it, where there is one. Pure."""

from dataclasses import replace

from torpor_wire import times

from torpor_operator.model.actions import ConfirmArchived, DeleteWorkflow, WorkflowPlan
from torpor_operator.model.snapshot import Presence, RunNotArchived, Snapshot
from torpor_operator.state import conditions
from torpor_operator.taskrun.step import earliest
from torpor_operator.workflows.plan.retention import archival


def apply(snapshot: Snapshot, made: WorkflowPlan) -> WorkflowPlan:
    """The plan of a finished run with its deletion, once the TTL has expired."""
    workflow = snapshot.workflow
    completed, ttl = workflow.status.completion_time, workflow.spec.ttl_after_finished
    if not completed or not ttl:
        return made
    due = times.epoch(completed) + times.seconds(ttl)
    if snapshot.now < due:
        return replace(made, again_at=earliest([made.again_at, due]))
    if snapshot.archive is None:
        return _delete(made)
    return _confirm_first(snapshot, made, completed) if conditions.is_archived(workflow) else made


def _confirm_first(snapshot: Snapshot, made: WorkflowPlan, completed: str) -> WorkflowPlan:
    """Delete a run that the archive still has; otherwise withdraw its condition, so that it is archived again."""
    metadata = snapshot.workflow.metadata
    need = ConfirmArchived(metadata.namespace, metadata.uid, completed)
    match snapshot.known.get(need):
        case None:
            return replace(made, needs=(*made.needs, need))
        case Presence.PRESENT:
            return _delete(made)
        case RunNotArchived(message):
            again_at = earliest([made.again_at, snapshot.now + snapshot.settings.archive_grace])
            return replace(archival.not_archived(snapshot, made, message), again_at=again_at)
        case _:
            return archival.not_archived(snapshot, made, "the archive no longer has the run")


def _delete(made: WorkflowPlan) -> WorkflowPlan:
    return replace(made, actions=(*made.actions, DeleteWorkflow()))
