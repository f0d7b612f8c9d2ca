"""The plan of a Schedule that is being deleted: delete its queued runs, or by `deletionPolicy: Delete` all of them."""

from torpor_wire import constants
from torpor_wire.enums import DeletionPolicy

from torpor_operator.model.actions import SetFinalizers
from torpor_operator.schedules.plan import concurrency
from torpor_operator.schedules.plan.actions import Action, DeleteRun, SchedulePlan
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot


def clean_up(snapshot: ScheduleSnapshot) -> SchedulePlan | None:
    """Delete the runs that go with the Schedule, then remove its finalizer."""
    metadata, spec = snapshot.schedule.metadata, snapshot.schedule.spec
    if metadata.deletion_timestamp is None:
        return None
    if constants.FINALIZER not in metadata.finalizers:
        return SchedulePlan()
    goes_all = spec.deletion_policy is DeletionPolicy.DELETE
    going = [
        run for run in snapshot.runs if goes_all or (concurrency.is_queued(run) and not concurrency.has_ended(run))
    ]
    deletions: list[Action] = [DeleteRun(run=run) for run in going if run.metadata.deletion_timestamp is None]
    if deletions:
        return SchedulePlan(actions=tuple(deletions))
    others = tuple(name for name in metadata.finalizers if name != constants.FINALIZER)
    return SchedulePlan(actions=(SetFinalizers(finalizers=others),))
