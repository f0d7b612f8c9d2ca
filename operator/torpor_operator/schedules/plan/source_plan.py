"""What each source needs: its TaskRun, an outcome for its event, and the next trigger.

An event is handled in this order: create its run, store the outcome in the status of the Schedule, arm the TaskRun
again. Each step finds out from the objects whether the one before it was done, so any leader can go on.
"""

from functools import partial

from torpor_crds.models.schedule import Schedule, ScheduleSource
from torpor_crds.models.schedule_status import MissedTicks, PendingEvent
from torpor_crds.models.taskrun import TaskRun
from torpor_wire import canonical, constants, times
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.model.actions import Notice, PatchTaskRun
from torpor_operator.scheduled_runs import event as events
from torpor_operator.schedules.plan import cron_source, event_decision, join, source_taskrun
from torpor_operator.schedules.plan.actions import CreateSource, DeleteSource
from torpor_operator.schedules.plan.cron_source import CatchUp
from torpor_operator.schedules.plan.pass_state import Conclusion, PassDecision, PassState
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


def advance_sources(state: PassState) -> Conclusion:
    """Advance each source. Delete the TaskRuns of sources that were removed from the spec."""
    snapshot, spec = state.snapshot, state.snapshot.schedule.spec
    conclusion = Conclusion(state=state)
    # A joined run and the removal of its events are stored before the next event of its sources is taken.
    joining = join.is_complete(PassState.stored(snapshot))
    for source in () if state.pauses else spec.sources:
        if not (joining and source.name in spec.all_of):
            conclusion = conclusion.then(partial(_advance, source=source))
    known = {source.name for source in spec.sources}
    removed = [taskrun for name, taskrun in snapshot.taskruns.items() if name not in known]
    deletions = [DeleteSource(taskrun=run) for run in removed if run.metadata.deletion_timestamp is None]
    return conclusion.then(lambda advanced: Conclusion(state=advanced, actions=tuple(deletions)))


def _advance(state: PassState, source: ScheduleSource) -> Conclusion:
    """Advance one source. An invalid one is reported in the status, and does not affect the others."""
    explained = Conclusion(state=state.with_source(source.name, reason=None, message=None))
    return _unless_invalid(
        explained, source, partial(_show_next_tick, source=source), partial(_follow_taskrun, source=source)
    )


def _unless_invalid(conclusion: Conclusion, source: ScheduleSource, *decisions: PassDecision) -> Conclusion:
    """Apply the decisions. The first one that finds the source invalid ends them, and its error is reported."""
    for decide in decisions:
        try:
            conclusion = conclusion.then(decide)
        except ValueError as error:
            message = f"source {source.name}: {error}"
            return conclusion.then(partial(_report_invalid, source=source, message=message))
    return conclusion


def _report_invalid(state: PassState, source: ScheduleSource, message: str) -> Conclusion:
    """Report a source that cannot wait: in the status, and once as an Event."""
    statuses = state.snapshot.schedule.status.sources
    former = next((status for status in statuses if status.name == source.name), None)
    is_new = former is None or former.message != message
    notice = Notice(reason=Reason.TRIGGER_INVALID, message=message, warning=True)
    return Conclusion(
        state=state.with_source(source.name, reason=Reason.TRIGGER_INVALID, message=message, next=None),
        notices=(notice,) if is_new else (),
    )


def _show_next_tick(state: PassState, source: ScheduleSource) -> Conclusion:
    if source.cron is None:
        return Conclusion(state=state)
    return Conclusion(state=state.with_source(source.name, next=cron_source.next_tick(state, source)))


def is_open(state: PassState, source: ScheduleSource) -> bool:
    """Whether the source waits for events.

    A tick up to `notAfter` fires later if it has jitter or the triggerers were down. It is run or counted as missed.
    """
    schedule, now = state.snapshot.schedule, state.snapshot.now
    spec = schedule.spec
    if spec.suspend or (spec.not_before is not None and now < times.epoch(spec.not_before)):
        return False
    return not is_over(schedule, now) or (source.cron is not None and cron_source.next_tick(state, source) is not None)


def is_over(schedule: Schedule, now: float) -> bool:
    """Whether `notAfter` has passed."""
    return schedule.spec.not_after is not None and now > times.epoch(schedule.spec.not_after)


def _follow_taskrun(state: PassState, source: ScheduleSource) -> Conclusion:
    """Decide by the TaskRun of the source."""
    schedule, taskrun = state.snapshot.schedule, state.snapshot.taskruns.get(source.name)
    if taskrun is None:
        body = source_taskrun.build(schedule, source) if is_open(state, source) else None
        return Conclusion(state=state, actions=() if body is None else (CreateSource(body=body),))
    if taskrun.metadata.deletion_timestamp is not None:
        return Conclusion(state=state)
    match taskrun.status.state:
        case State.SCHEDULED if has_event(taskrun) and not state.is_handled(source.name, taskrun):
            return _handle(state, source, taskrun)
        case _ if not source_taskrun.fits(schedule, source, taskrun):
            return _replace(state, source, taskrun)
        case State.SCHEDULED:
            return _arm(state, source, taskrun)
        case State.DEFERRED if not is_open(state, source):
            return Conclusion(state=state, actions=(DeleteSource(taskrun=taskrun),))
        case current if current in TERMINAL:
            return _recreate(state, source, taskrun)
        case _:
            return _follow(state, source, taskrun)


def has_event(taskrun: TaskRun) -> bool:
    """Whether the trigger of a source has fired."""
    return taskrun.status.state is State.SCHEDULED and taskrun.status.event is not None


def _handle(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    """Find an outcome for the event of a source."""
    if state.snapshot.schedule.spec.suspend:
        return Conclusion(state=state)
    outcome = partial(_event_outcome, source=source, taskrun=taskrun)
    return _unless_invalid(Conclusion(state=state), source, outcome, partial(_show_next_tick, source=source))


def _event_outcome(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    schedule = state.snapshot.schedule
    event = events.event_of_source(schedule, source, taskrun)
    if event.is_tick and (passed := cron_source.passed_over(state, source, event, _fired_at(taskrun))) is not None:
        return _pass_over(state.with_handled(event, taskrun), source.name, passed)
    if source_taskrun.needs_cursor(source) and event.cursor is None:
        failed = event_decision.fail(state, event, Reason.EVENT_INVALID, _NO_CURSOR)
        return failed.then(lambda after: Conclusion(state=after.with_handled(event, taskrun)))
    if source.name in schedule.spec.all_of:
        pending = PendingEvent(at=event.at, event=event.text, key=canonical.digest(event.key)[:32])
        return Conclusion(state=state.with_handled(event, taskrun).with_source(source.name, pending=pending))
    decision = event_decision.decide(state, event)
    if not decision.has_outcome:
        return decision.conclusion
    return decision.conclusion.then(lambda after: Conclusion(state=after.with_handled(event, taskrun)))


def _pass_over(state: PassState, source: str, caught_up: CatchUp) -> Conclusion:
    """Count missed ticks that are not run, and move the cursor of the source behind them."""
    moved = state.with_source(source, cursor=times.rfc3339(caught_up.cursor))
    if not caught_up.missed or caught_up.last is None:
        return Conclusion(state=moved)
    former, last = state.status.missed or MissedTicks(), times.rfc3339(caught_up.last)
    count = min(former.count + caught_up.missed, 2**31 - 1)
    word = "tick" if caught_up.missed == 1 else "ticks"
    message = f"source {source}: {caught_up.missed} missed {word} not run, the last at {last}: spec.missed"
    return Conclusion(
        state=moved.with_status(missed=MissedTicks(count=count, last=max(last, former.last or last))),
        notices=(Notice(reason=Reason.TICKS_MISSED, message=message, warning=True),),
    )


def _fired_at(taskrun: TaskRun) -> float:
    return times.epoch(taskrun.status.fired_at or taskrun.metadata.creation_timestamp)


def _arm(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    if not is_open(state, source):
        return Conclusion(state=state)
    if source.cron is None:
        return _arm_trigger(state, source, taskrun)
    caught_up = cron_source.missed_ticks(state, source, state.snapshot.now)
    if caught_up.missed:
        passed = _pass_over(state, source.name, caught_up)
        return _unless_invalid(passed, source, partial(_show_next_tick, source=source))
    if cron_source.next_tick(state, source) is None:
        return Conclusion(state=state)
    armed = source_taskrun.arm(taskrun, times.rfc3339(caught_up.cursor), state.snapshot.now)
    return Conclusion(state=state, actions=(armed,))


def _arm_trigger(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    """Arm a source that is a trigger. One that keeps firing at once, perhaps for the same thing, waits in between."""
    snapshot, stored = state.snapshot, state.sources[source.name].cursor
    cursor = source_taskrun.first_cursor(snapshot.schedule, source) if stored is None else stored
    due = _fired_at(taskrun) + QUICK_PAUSE
    advances = cursor is not None and not source_taskrun.needs_cursor(source)
    if not advances and snapshot.now < due and _fires_at_once(taskrun):
        return Conclusion(state=state, due=(due,))
    return Conclusion(state=state, actions=(source_taskrun.arm(taskrun, cursor, snapshot.now),))


def _fires_at_once(taskrun: TaskRun) -> bool:
    """Whether the condition of the trigger seems to hold all the time, since its waits are short on average."""
    status = taskrun.status
    return status.segment >= QUICK_EVENTS and (status.deferred_seconds or 0.0) < status.segment


def _replace(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    """Delete a TaskRun of another spec. The cursor is stored before the deletion, which ends the comparison."""
    deletion = Conclusion(state=state, after_status=(DeleteSource(taskrun=taskrun),))
    return _unless_invalid(deletion, source, partial(_reset_cursor, source=source, taskrun=taskrun))


def _reset_cursor(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    """Count ticks of a new expression or time zone from now. Begin a trigger of another class without a cursor."""
    if source.cron is None:
        is_same = not source_taskrun.has_other_class(source, taskrun)
        return Conclusion(state=state if is_same else state.with_source(source.name, cursor=None))
    if not source_taskrun.has_other_ticks(source, taskrun):
        return Conclusion(state=state)
    return Conclusion(state=state.with_source(source.name, cursor=cron_source.cursor_from_now(state, source)))


def _recreate(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    """Create the TaskRun of a source that has failed again, after a pause."""
    explained = _explain(state, source, taskrun)
    ended = taskrun.status.completion_time
    due = (times.epoch(ended) if ended else state.snapshot.now) + RECREATE_AFTER
    if state.snapshot.now < due:
        return Conclusion(state=explained, due=(due,))
    return Conclusion(state=explained, actions=(DeleteSource(taskrun=taskrun),))


def _follow(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> Conclusion:
    """Apply the rules of every TaskRun that waits or is retried."""
    snapshot = state.snapshot
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
    is_explained = taskrun.status.state is State.UP_FOR_RETRY or taskrun.status.reason == Reason.POOL_UNSERVED
    return Conclusion(
        state=_explain(state, source, taskrun) if is_explained else state,
        actions=tuple(action for action in step.actions if isinstance(action, PatchTaskRun)),
        needs=step.needs,
        due=() if step.again_at is None else (step.again_at,),
    )


def _explain(state: PassState, source: ScheduleSource, taskrun: TaskRun) -> PassState:
    """The state with the reason of the TaskRun in the status of the source."""
    status = taskrun.status
    message = f"source {source.name}: {status.message or status.reason or status.state}"
    return state.with_source(source.name, reason=status.reason or Reason.SOURCE_FAILED, message=message[:1024])
