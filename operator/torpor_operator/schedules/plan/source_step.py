"""What one source needs: its TaskRun, an outcome for its event, and the next trigger.

An event is handled in this order: create its run, store the outcome in the status of the Schedule, arm the TaskRun
again. Each step finds out from the objects whether the one before it was done, so any leader can go on.
"""

from torpor_crds.models.schedule import Schedule, ScheduleSource
from torpor_crds.models.taskrun import TaskRun
from torpor_wire import constants, times
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.model.actions import PatchTaskRun
from torpor_operator.schedules.plan import cron_source, start
from torpor_operator.schedules.plan import event as events
from torpor_operator.schedules.plan import source as sources
from torpor_operator.schedules.plan.actions import CreateSource, DeleteSource
from torpor_operator.schedules.plan.concurrency import ConcurrencyLimit
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.taskrun import transitions
from torpor_operator.taskrun.step import TaskRunView

RECREATE_AFTER = 300.0
"""Seconds after which the TaskRun of a source that has failed is created again."""
_NO_CURSOR = (
    "the event of a trigger that gets a cursor needs the field cursor, "
    f"a text of at most {constants.CURSOR_MAX} characters"
)
QUICK_EVENTS = 10
QUICK_PAUSE = 5.0
"""Seconds between the events of a source that has fired so often, each time within a second on average."""


def advance(draft: Draft, room: ConcurrencyLimit, source: ScheduleSource) -> None:
    """Advance one source. An invalid one is reported in the status, and does not affect the others."""
    draft.update_source(source.name, reason=None, message=None)
    try:
        if source.cron is not None:
            draft.update_source(source.name, next=cron_source.next_tick(draft, source))
        _advance(draft, room, source)
    except ValueError as error:
        _refuse(draft, source, f"source {source.name}: {error}")


def _refuse(draft: Draft, source: ScheduleSource, message: str) -> None:
    """Report a source that cannot wait: in the status, and once as an Event."""
    former = next((one for one in draft.snapshot.schedule.status.sources if one.name == source.name), None)
    if former is None or former.message != message:
        draft.notify(Reason.TRIGGER_INVALID, message, warning=True)
    draft.update_source(source.name, reason=Reason.TRIGGER_INVALID, message=message, next=None)


def is_open(draft: Draft, source: ScheduleSource) -> bool:
    """Whether the source waits for events.

    A tick up to `notAfter` fires later if it has jitter or the triggerers were down. It is run or counted as missed.
    """
    schedule, now = draft.snapshot.schedule, draft.snapshot.now
    spec = schedule.spec
    if spec.suspend or (spec.not_before is not None and now < times.epoch(spec.not_before)):
        return False
    return not is_over(schedule, now) or (source.cron is not None and cron_source.next_tick(draft, source) is not None)


def is_over(schedule: Schedule, now: float) -> bool:
    """Whether `notAfter` has passed."""
    return schedule.spec.not_after is not None and now > times.epoch(schedule.spec.not_after)


def _advance(draft: Draft, room: ConcurrencyLimit, source: ScheduleSource) -> None:
    snapshot = draft.snapshot
    schedule, taskrun = snapshot.schedule, snapshot.taskruns.get(source.name)
    if taskrun is None:
        if is_open(draft, source):
            draft.actions.append(CreateSource(body=sources.build(schedule, source)))
        return
    if taskrun.metadata.deletion_timestamp is not None:
        return
    match taskrun.status.state:
        case State.SCHEDULED if has_event(taskrun) and not draft.is_handled(source.name, taskrun):
            _handle(draft, room, source, taskrun)
        case _ if not sources.fits(schedule, source, taskrun):
            _replace(draft, source, taskrun)
        case State.SCHEDULED:
            _arm(draft, source, taskrun)
        case State.DEFERRED if not is_open(draft, source):
            draft.actions.append(DeleteSource(taskrun=taskrun))
        case state if state in TERMINAL:
            _recreate(draft, source, taskrun)
        case _:
            _follow(draft, source, taskrun)


def has_event(taskrun: TaskRun) -> bool:
    """Whether the trigger of a source has fired."""
    return taskrun.status.state is State.SCHEDULED and taskrun.status.event is not None


def _handle(draft: Draft, room: ConcurrencyLimit, source: ScheduleSource, taskrun: TaskRun) -> None:
    """Find an outcome for the event of a source."""
    schedule, event = draft.snapshot.schedule, events.of_source(draft.snapshot.schedule, source, taskrun)
    if schedule.spec.suspend:
        return
    if event.is_tick and (passed := cron_source.passed_over(draft, source, event, _fired_at(taskrun))) is not None:
        former = draft.sources[source.name].cursor
        draft.handle(event, taskrun)
        draft.update_source(source.name, cursor=former)
        draft.pass_over(source.name, passed)
    elif sources.needs_cursor(source) and event.cursor is None:
        draft.fail(event, Reason.EVENT_INVALID, _NO_CURSOR)
        draft.handle(event, taskrun)
    elif source.name in schedule.spec.all_of:
        draft.handle(event, taskrun)
        draft.set_pending(source.name, event)
    elif start.decide(draft, room, event):
        draft.handle(event, taskrun)
    if source.cron is not None:
        draft.update_source(source.name, next=cron_source.next_tick(draft, source))


def _fired_at(taskrun: TaskRun) -> float:
    return times.epoch(taskrun.status.fired_at or taskrun.metadata.creation_timestamp)


def _arm(draft: Draft, source: ScheduleSource, taskrun: TaskRun) -> None:
    snapshot = draft.snapshot
    if not is_open(draft, source):
        return
    if source.cron is None:
        _arm_trigger(draft, source, taskrun)
        return
    caught_up = cron_source.missed(draft, source, snapshot.now)
    if caught_up.missed:
        draft.pass_over(source.name, caught_up)
        draft.update_source(source.name, next=cron_source.next_tick(draft, source))
    elif cron_source.next_tick(draft, source) is not None:
        draft.actions.append(sources.arm(taskrun, times.rfc3339(caught_up.cursor), snapshot.now))


def _arm_trigger(draft: Draft, source: ScheduleSource, taskrun: TaskRun) -> None:
    """Arm a source that is a trigger. One that keeps firing at once, perhaps for the same thing, waits in between."""
    snapshot, stored = draft.snapshot, draft.sources[source.name].cursor
    cursor = sources.first_cursor(snapshot.schedule, source) if stored is None else stored
    due = _fired_at(taskrun) + QUICK_PAUSE
    advances = cursor is not None and not sources.needs_cursor(source)
    if not advances and snapshot.now < due and _fires_at_once(taskrun):
        draft.wait_until([due])
        return
    draft.actions.append(sources.arm(taskrun, cursor, snapshot.now))


def _fires_at_once(taskrun: TaskRun) -> bool:
    """Whether the condition of the trigger seems to hold all the time, since its waits are short on average."""
    status = taskrun.status
    return status.segment >= QUICK_EVENTS and (status.deferred_seconds or 0.0) < status.segment


def _replace(draft: Draft, source: ScheduleSource, taskrun: TaskRun) -> None:
    """Delete a TaskRun of another spec.

    Ticks of a new expression or time zone count from now. A trigger of another class begins without a cursor.
    The cursor is stored before the deletion: afterwards nothing shows that the spec has changed.
    """
    draft.after_status.append(DeleteSource(taskrun=taskrun))
    if source.cron is None:
        if sources.has_other_class(source, taskrun):
            draft.update_source(source.name, cursor=None)
    elif sources.has_other_ticks(source, taskrun):
        draft.update_source(source.name, cursor=cron_source.cursor_from_now(draft, source))


def _recreate(draft: Draft, source: ScheduleSource, taskrun: TaskRun) -> None:
    """Create the TaskRun of a source that has failed again, after a pause."""
    _explain(draft, source, taskrun)
    ended = taskrun.status.completion_time
    due = (times.epoch(ended) if ended else draft.snapshot.now) + RECREATE_AFTER
    if draft.snapshot.now < due:
        draft.wait_until([due])
    else:
        draft.actions.append(DeleteSource(taskrun=taskrun))


def _follow(draft: Draft, source: ScheduleSource, taskrun: TaskRun) -> None:
    """Apply the rules of every TaskRun that waits or is retried."""
    snapshot = draft.snapshot
    view = TaskRunView(
        taskrun=taskrun,
        pods=(),
        unconfirmed_pod=None,
        pool=snapshot.pools(taskrun.spec.trigger_pool),
        known=snapshot.known,
        settings=snapshot.settings,
        now=snapshot.now,
    )
    step = transitions.next_step(view)
    draft.actions += [action for action in step.actions if isinstance(action, PatchTaskRun)]
    draft.needs += step.needs
    draft.wait_until([step.again_at])
    if taskrun.status.state is State.UP_FOR_RETRY or taskrun.status.reason == Reason.POOL_UNSERVED:
        _explain(draft, source, taskrun)


def _explain(draft: Draft, source: ScheduleSource, taskrun: TaskRun) -> None:
    status = taskrun.status
    message = f"source {source.name}: {status.message or status.reason or status.state}"
    draft.update_source(source.name, reason=status.reason or Reason.SOURCE_FAILED, message=message[:1024])
