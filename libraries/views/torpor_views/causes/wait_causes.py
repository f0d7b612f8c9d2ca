"""Why a deferred instance still waits: what it waits for, its last look, and whether any triggerer looks. Pure."""

from dataclasses import replace
from typing import Any

from torpor_wire import times
from torpor_wire.approvers import Approvers
from torpor_wire.reason import Reason
from torpor_wire.trigger import APPROVAL, SEVERAL

from torpor_views import json_fields
from torpor_views.causes import commands
from torpor_views.causes.cause import Cause, CauseKind, Urgency, ago, instance_cause, quoted, until
from torpor_views.facts import EventFacts, Facts
from torpor_views.model import InstanceView, RunView, TriggerView
from torpor_views.waiting.wait_progress import WaitProgress

_CLOCK_SLACK = 5.0
_OVERDUE = 5.0
_DEPTH = 4
_EVENTS = (Reason.FIRE_FORBIDDEN, Reason.LOOP_BLOCKED)


def of_deferred(run: RunView, facts: Facts, instance: InstanceView) -> Cause:
    """Return why a Deferred instance waits."""
    if instance.cancel is not None:
        detail = (
            f"ends: its cancellation was requested{ago(instance.cancel, run.now)}, and its triggerer stops the wait"
        )
        return _cause(run, instance, CauseKind.CANCEL_REQUESTED, Urgency.WAIT, detail, pool_command(instance))
    match instance.reason:
        case Reason.POOL_UNSERVED:
            detail = f"waits, but no triggerer is running for pool {instance.trigger_pool}"
            return _cause(run, instance, CauseKind.POOL_UNSERVED, Urgency.ACT, detail, pool_command(instance))
        case Reason.QUEUED:
            detail = f"waits in the queue of its triggerer: {instance.message.removeprefix('Queued: ')}"
            return _cause(run, instance, CauseKind.QUEUED, Urgency.ACT, detail, pool_command(instance))
        case Reason.WAITING | "":
            return _event(run, facts, instance) or _overdue(run, instance) or _waiting(run, instance)
        case _:
            detail = f"waits, but needs help: {quoted(instance.reason, instance.message)}"
            return _cause(
                run, instance, CauseKind.BLOCKED, Urgency.ACT, detail, commands.within(instance.message, run.namespace)
            )


def pool_command(instance: InstanceView) -> str:
    """Return the command that shows the triggerers of an instance."""
    return commands.pool_pods(instance.trigger_pool)


def _waiting(run: RunView, instance: InstanceView) -> Cause:
    trigger = instance.trigger or TriggerView(class_name="an unknown trigger")
    if (approval := _approval(trigger.class_name, json_fields.decoded(trigger.kwargs))) is not None:
        return _approval_cause(run, instance, trigger, approval)
    progress = WaitProgress.parse(instance.message, trigger.waits_for)
    words = trigger.waits_for or trigger.class_name
    subject = f"waits {words}" if words.startswith("until ") else f"{_waits(run, instance)} for {words}"
    detail = f"{subject}{_looks(progress, run.now)}"
    child = instance.child_run
    command = commands.why_child(run, child) if child else commands.torpor("logs", run, instance.ref)
    return _cause(
        run, instance, CauseKind.WAITING, Urgency.WAIT, detail, command, next_at=_next(trigger, progress, run.now)
    )


def _waits(run: RunView, instance: InstanceView) -> str:
    return "waits" if instance.deferred_at is None else f"has waited {times.human(run.now - instance.deferred_at)}"


def _looks(progress: WaitProgress, now: float) -> str:
    """The last and the next check. The triggerer reports only some of its checks, so the last one may be newer."""
    if progress.last_at is None:
        return ""
    seen = f"{times.human(now - progress.last_at)} ago: {progress.look or 'nothing'}"
    if progress.next_at is not None and progress.next_at > now:
        return f"; last check {seen}; next check {until(progress.next_at, now)}"
    if progress.interval is not None:
        return f"; checked every {times.human(max(progress.interval, 1.0))}; last report {seen}"
    return f"; last report {seen}"


def _next(trigger: TriggerView, progress: WaitProgress, now: float) -> float | None:
    """The next check; of a trigger that only waits for a moment, this moment."""
    return progress.next_after(now) if trigger.moment is None else trigger.moment


def _approval_cause(run: RunView, instance: InstanceView, trigger: TriggerView, kwargs: json_fields.Fields) -> Cause:
    question = json_fields.one_line(kwargs.get("subject") or kwargs.get("question"), 200)
    about = f" ({question})" if question else ""
    who = Approvers(trigger.users, trigger.groups).shown() or f"every user who may patch TaskRuns in {run.namespace}"
    look = WaitProgress.parse(instance.message, trigger.waits_for).look.partition("; answer")[0]
    wrong = f"; {look}" if look and look != "no answer yet" else ""
    detail = f"{_waits(run, instance)} for an approval{about}; {who} may answer{wrong}"
    command = commands.torpor("approve", run, instance.ref)
    return _cause(run, instance, CauseKind.APPROVAL, Urgency.ACT, detail, command)


def _approval(class_name: str, kwargs: Any, depth: int = _DEPTH) -> json_fields.Fields | None:
    """The kwargs of the approval that a trigger is or contains."""
    read = json_fields.fields(kwargs)
    if class_name == APPROVAL:
        return read
    if class_name not in SEVERAL or depth == 0:
        return None
    for part in json_fields.objects(read.get("triggers")):
        approval = _approval(json_fields.text(part.get("class")), part.get("kwargs"), depth - 1)
        if approval is not None:
            return approval
    return None


def _event(run: RunView, facts: Facts, instance: InstanceView) -> Cause | None:
    """What a triggerer could say only by an Event: it may not write the status, or the trigger blocks it."""
    events = facts.events.get(instance.name, ())
    since = (instance.deferred_at or 0.0) - _CLOCK_SLACK
    recent = [event for event in events if event.reason in _EVENTS and (event.at is None or event.at >= since)]
    if not recent:
        return None
    last = max(recent, key=lambda event: event.at or 0.0)
    return _event_cause(run, instance, last)


def _event_cause(run: RunView, instance: InstanceView, event: EventFacts) -> Cause:
    message = json_fields.message_line(commands.without_command(event.message))
    command = commands.within(event.message, run.namespace)
    if event.reason == Reason.FIRE_FORBIDDEN:
        detail = f"waits, but the triggerers of pool {instance.trigger_pool} may not fire in {run.namespace}: {message}"
        return _cause(run, instance, CauseKind.FIRE_FORBIDDEN, Urgency.ACT, detail, command)
    detail = f"waits, and its trigger blocks the event loop of the triggerer: {message}"
    return _cause(run, instance, CauseKind.LOOP_BLOCKED, Urgency.ACT, detail, command or pool_command(instance))


def _overdue(run: RunView, instance: InstanceView) -> Cause | None:
    moment = instance.trigger.moment if instance.trigger is not None else None
    if moment is not None and run.now >= moment + _OVERDUE:
        detail = f"should have ended its wait {times.human(run.now - moment)} ago, but no triggerer of pool "
        detail += f"{instance.trigger_pool} has responded"
    elif instance.deadline is not None and run.now >= instance.deadline + _OVERDUE:
        detail = f"should have timed out {times.human(run.now - instance.deadline)} ago, but no triggerer of pool "
        detail += f"{instance.trigger_pool} has responded; the operator ends the wait a minute after that"
    else:
        return None
    return _cause(run, instance, CauseKind.WAIT_OVERDUE, Urgency.ACT, detail, pool_command(instance))


def _cause(  # noqa: PLR0913, PLR0917 - the parts of a cause
    run: RunView,
    instance: InstanceView,
    kind: CauseKind,
    urgency: Urgency,
    detail: str,
    command: str,
    next_at: float | None = None,
) -> Cause:
    command = command or commands.describe(run, "taskrun", instance.name)
    cause = instance_cause(instance, kind, urgency, detail, command, next_at=next_at, deadline=instance.deadline)
    return replace(cause, since=instance.deferred_at)
