"""The plan of a run that has ended: delete its last pods, remove the finalizer, archive it, apply the TTL. Pure.

After each end follows one upload, and the condition `Archived` with its outcome. A run that is cleared loses the
condition, because a status in progress does not have it. So the condition holds for the present completion only, and a
run that ends again is archived again. A TTL deletes a run only after the archive has stored it, where there is one.
"""

from dataclasses import replace
from typing import assert_never

from torpor_crds.models.workflow import WorkflowStatus
from torpor_wire import constants, times
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.model import volume_claims
from torpor_operator.model.actions import Action, ArchiveRun, ConfirmArchived, DeleteWorkflow, PostEvent, SetFinalizers
from torpor_operator.model.snapshot import Presence, RunArchived, RunNotArchived, Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.state import conditions
from torpor_operator.state.conditions import ARCHIVED
from torpor_operator.taskrun import termination
from torpor_operator.taskrun.step import earliest
from torpor_operator.workflows.plan import dispatch, events, pod_retention
from torpor_operator.workflows.plan.run_context import RunContext

_EVENT_SECONDS = 300.0
"""A leader may end between the last status and its Events. The next one posts the missing ones of the runs that ended
within this time. On a busy machine, it leads minutes later.
"""


def clean_up(run: RunContext) -> WorkflowPlan | None:
    """Clean up after a run whose status has a completionTime."""
    workflow, snapshot = run.workflow, run.snapshot
    completed = workflow.status.completion_time
    if completed is None:
        return None
    # TaskRuns that were created after the end (a write in flight, or one the cache did not show) are cancelled too.
    steps = [termination.cancel(dispatch.view_of(snapshot, name), "the run has ended") for name in snapshot.taskruns]
    actions: list[Action] = [action for step in steps for action in step.actions]
    if constants.FINALIZER in workflow.metadata.finalizers:
        others = tuple(name for name in workflow.metadata.finalizers if name != constants.FINALIZER)
        deleted = volume_claims.deleted_at_end(workflow)
        actions.append(SetFinalizers(finalizers=others, deleted_claims=deleted))
    plan = WorkflowPlan(
        actions=tuple(actions), events=_events(run, completed), again_at=earliest(step.again_at for step in steps)
    )
    plan = pod_retention.delete_expired(snapshot, plan)
    if workflow.metadata.deletion_timestamp is not None:
        return plan
    return pod_retention.hold_workflow(snapshot, apply_ttl(snapshot, archive(snapshot, plan), completed))


def _events(run: RunContext, completed: str) -> tuple[PostEvent, ...]:
    """The Events of failed TaskRuns and of the end. Each leader posts them once; the API server refuses known ones."""
    if run.snapshot.now > times.epoch(completed) + _EVENT_SECONDS:
        return ()
    return (*events.failures(run.snapshot.taskruns.values()), *events.ended(run.workflow))


def archive(snapshot: Snapshot, plan: WorkflowPlan) -> WorkflowPlan:
    """The plan of a finished run with its upload, or with the outcome of the upload."""
    if snapshot.archive is None or conditions.is_archived(snapshot.workflow) or not _is_settled(snapshot):
        return plan
    match snapshot.archival:
        case None:
            return _upload(plan)
        case RunArchived():
            return replace(plan, status=_with_condition(snapshot, "True", Reason.ARCHIVED, ""))
        case RunNotArchived(message, retry_at):
            failed = _not_archived(snapshot, plan, message)
            if snapshot.now >= retry_at:
                return _upload(failed)
            return replace(failed, again_at=earliest([failed.again_at, retry_at]))
        case _:
            assert_never(snapshot.archival)


def _upload(plan: WorkflowPlan) -> WorkflowPlan:
    return replace(plan, actions=(*plan.actions, ArchiveRun()))


def _is_settled(snapshot: Snapshot) -> bool:
    """Whether what is uploaded does not change any more: all TaskRuns have ended, and the finalizer is removed."""
    if constants.FINALIZER in snapshot.workflow.metadata.finalizers:
        return False
    return all(run.status.state in TERMINAL for run in snapshot.taskruns.values())


def _not_archived(snapshot: Snapshot, plan: WorkflowPlan, message: str) -> WorkflowPlan:
    """The plan with the condition that the archive does not have the run."""
    return replace(plan, status=_with_condition(snapshot, "False", Reason.ARCHIVE_UNAVAILABLE, message))


def _with_condition(snapshot: Snapshot, value: str, reason: Reason, message: str) -> WorkflowStatus:
    status = snapshot.workflow.status
    wanted = ((ARCHIVED, value, reason, message),)
    updated = conditions.updated(status.conditions, wanted, snapshot.now, constants.MESSAGE_MAX)
    others = (condition for condition in status.conditions if condition.type != ARCHIVED)
    return status.model_copy(update={"conditions": (*others, *updated)})


def apply_ttl(snapshot: Snapshot, plan: WorkflowPlan, completed: str) -> WorkflowPlan:
    """The plan of a finished run with its deletion, once the TTL has expired."""
    workflow, ttl = snapshot.workflow, snapshot.workflow.spec.ttl_after_finished
    if not ttl or snapshot.awaited:
        return plan
    due = times.epoch(completed) + times.seconds(ttl)
    if snapshot.now < due:
        return replace(plan, again_at=earliest([plan.again_at, due]))
    if snapshot.archive is None:
        return _delete_run(plan)
    return _confirm_and_delete(snapshot, plan, completed) if conditions.is_archived(workflow) else plan


def _confirm_and_delete(snapshot: Snapshot, plan: WorkflowPlan, completed: str) -> WorkflowPlan:
    """Delete a run that the archive still has; otherwise withdraw its condition, so that it is archived again."""
    metadata = snapshot.workflow.metadata
    need = ConfirmArchived(metadata.namespace, metadata.uid, completed)
    match snapshot.known.get(need):
        case None:
            return replace(plan, needs=(*plan.needs, need))
        case Presence.PRESENT:
            return _delete_run(plan)
        case RunNotArchived(message):
            again_at = earliest([plan.again_at, snapshot.now + snapshot.settings.archive_grace])
            return replace(_not_archived(snapshot, plan, message), again_at=again_at)
        case _:
            return _not_archived(snapshot, plan, "the archive no longer has the run")


def _delete_run(plan: WorkflowPlan) -> WorkflowPlan:
    return replace(plan, actions=(*plan.actions, DeleteWorkflow()))
