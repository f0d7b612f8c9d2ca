"""When a finished run has been kept for its time: it is archived, where there is an archive, and only then removed."""

from dataclasses import replace

from torpor_api.models.base import Condition
from torpor_api.models.workflow import WorkflowStatus
from torpor_wire import constants, times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import ArchiveRun, DeleteWorkflow, Plan
from torpor_operator.model.snapshot import NotArchived, Snapshot
from torpor_operator.taskrun.step import soonest

ARCHIVED = "Archived"


def of(snapshot: Snapshot, made: Plan) -> Plan:
    """What a finished run's plan asks for besides, now or when its time is over."""
    workflow = snapshot.workflow
    completed, ttl = workflow.status.completion_time, workflow.spec.ttl_after_finished
    if not completed or not ttl:
        return made
    due = times.epoch(completed) + times.seconds(ttl)
    if snapshot.now < due:
        return replace(made, again_at=soonest([made.again_at, due]))
    return _archived(snapshot, made) if snapshot.archive is not None else _removed(made)


def _archived(snapshot: Snapshot, made: Plan) -> Plan:
    metadata = snapshot.workflow.metadata
    asked = ArchiveRun(metadata.namespace, metadata.name, metadata.uid)
    match snapshot.known.get(asked):
        case None:
            return replace(made, needs=(*made.needs, asked))
        case NotArchived(message):
            again_at = soonest([made.again_at, snapshot.now + snapshot.settings.archive_grace])
            return replace(made, status=_kept(snapshot, message), again_at=again_at)
        case _:
            return _removed(made)


def _removed(made: Plan) -> Plan:
    return replace(made, actions=(*made.actions, DeleteWorkflow()))


def _kept(snapshot: Snapshot, message: str) -> WorkflowStatus:
    """The status of a run that outlives its time since the archive does not take it."""
    status = snapshot.workflow.status
    former = next((one for one in status.conditions if one.type == ARCHIVED), None)
    since = former.last_transition_time if former else times.rfc3339(snapshot.now)
    said = Condition(
        type=ARCHIVED,
        status="False",
        reason=Reason.ARCHIVE_UNAVAILABLE,
        message=message[: constants.MESSAGE_MAX],
        last_transition_time=since,
    )
    others = (one for one in status.conditions if one.type != ARCHIVED)
    return status.model_copy(update={"conditions": (*others, said)})
