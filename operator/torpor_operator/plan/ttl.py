"""Deletes a finished run when its TTL expires, after the archive has stored it, where there is one. Pure."""

from dataclasses import replace

from torpor_api.models.base import Condition
from torpor_api.models.workflow import WorkflowStatus
from torpor_wire import constants, times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import ArchiveRun, DeleteWorkflow, Plan
from torpor_operator.model.snapshot import NotArchived, Snapshot
from torpor_operator.taskrun.step import earliest

ARCHIVED = "Archived"


def apply(snapshot: Snapshot, made: Plan) -> Plan:
    """The plan of a finished run with its archival and deletion, once the TTL has expired."""
    workflow = snapshot.workflow
    completed, ttl = workflow.status.completion_time, workflow.spec.ttl_after_finished
    if not completed or not ttl:
        return made
    due = times.epoch(completed) + times.seconds(ttl)
    if snapshot.now < due:
        return replace(made, again_at=earliest([made.again_at, due]))
    return _archive_first(snapshot, made) if snapshot.archive is not None else _delete(made)


def _archive_first(snapshot: Snapshot, made: Plan) -> Plan:
    metadata = snapshot.workflow.metadata
    archival = ArchiveRun(metadata.namespace, metadata.name, metadata.uid)
    match snapshot.known.get(archival):
        case None:
            return replace(made, needs=(*made.needs, archival))
        case NotArchived(message):
            again_at = earliest([made.again_at, snapshot.now + snapshot.settings.archive_grace])
            return replace(made, status=_not_archived(snapshot, message), again_at=again_at)
        case _:
            return _delete(made)


def _delete(made: Plan) -> Plan:
    return replace(made, actions=(*made.actions, DeleteWorkflow()))


def _not_archived(snapshot: Snapshot, message: str) -> WorkflowStatus:
    """The status of a run that outlives its TTL since the archive did not store it."""
    status = snapshot.workflow.status
    former = next((one for one in status.conditions if one.type == ARCHIVED), None)
    since = former.last_transition_time if former else times.rfc3339(snapshot.now)
    condition = Condition(
        type=ARCHIVED,
        status="False",
        reason=Reason.ARCHIVE_UNAVAILABLE,
        message=message[: constants.MESSAGE_MAX],
        last_transition_time=since,
    )
    others = (one for one in status.conditions if one.type != ARCHIVED)
    return status.model_copy(update={"conditions": (*others, condition)})
