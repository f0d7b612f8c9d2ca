"""Archives a finished run: one upload after each end, and the condition `RunArchived` with its outcome. Pure.

A run that is cleared loses the condition, because a status in progress does not have it. So the condition holds for the
present completion only, and a run that ends again is archived again.
"""

from dataclasses import replace
from typing import assert_never

from torpor_crds.models.workflow import WorkflowStatus
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.model.actions import ArchiveRun, WorkflowPlan
from torpor_operator.model.snapshot import RunArchived, RunNotArchived, Snapshot
from torpor_operator.state import conditions
from torpor_operator.state.conditions import ARCHIVED
from torpor_operator.taskrun.step import earliest


def apply(snapshot: Snapshot, made: WorkflowPlan) -> WorkflowPlan:
    """The plan of a finished run with its upload, or with the outcome of the upload."""
    if snapshot.archive is None or conditions.is_archived(snapshot.workflow) or not _is_settled(snapshot):
        return made
    match snapshot.archival:
        case None:
            return _upload(made)
        case RunArchived():
            return replace(made, status=_with_condition(snapshot, "True", Reason.ARCHIVED, ""))
        case RunNotArchived(message, retry_at):
            failed = not_archived(snapshot, made, message)
            if snapshot.now >= retry_at:
                return _upload(failed)
            return replace(failed, again_at=earliest([failed.again_at, retry_at]))
        case _:
            assert_never(snapshot.archival)


def not_archived(snapshot: Snapshot, made: WorkflowPlan, message: str) -> WorkflowPlan:
    """The plan with the condition that the archive does not have the run."""
    return replace(made, status=_with_condition(snapshot, "False", Reason.ARCHIVE_UNAVAILABLE, message))


def _upload(made: WorkflowPlan) -> WorkflowPlan:
    return replace(made, actions=(*made.actions, ArchiveRun()))


def _is_settled(snapshot: Snapshot) -> bool:
    """Whether what is uploaded does not change any more: all TaskRuns have ended, and the finalizer is removed."""
    if constants.FINALIZER in snapshot.workflow.metadata.finalizers:
        return False
    return all(run.status.state in TERMINAL for run in snapshot.taskruns.values())


def _with_condition(snapshot: Snapshot, value: str, reason: Reason, message: str) -> WorkflowStatus:
    status = snapshot.workflow.status
    wanted = ((ARCHIVED, value, reason, message),)
    updated = conditions.updated(status.conditions, wanted, snapshot.now, constants.MESSAGE_MAX)
    others = (condition for condition in status.conditions if condition.type != ARCHIVED)
    return status.model_copy(update={"conditions": (*others, *updated)})
