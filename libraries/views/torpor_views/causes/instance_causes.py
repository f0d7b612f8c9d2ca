"""Why one instance does not go on, by its state. Pure."""

from typing import assert_never

from torpor_wire import times
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_views import json_fields
from torpor_views.causes import commands, pod_causes, remedies, wait_causes
from torpor_views.causes.cause import Cause, CauseKind, Urgency, ago, quoted, sentence, until
from torpor_views.facts import Facts, PodFacts
from torpor_views.model import InstanceView, RunView

_NEAR = 0.1
"""The last part of a timeout in which it is worth a sentence."""
_LOGS = frozenset({Reason.ERROR, Reason.LOST, Reason.TRIGGER_FAILED, Reason.TIMEOUT, Reason.TRIGGER_ENDED})
"""Reasons that the log explains."""


def of_instance(run: RunView, facts: Facts, one: InstanceView, slot: Cause | None) -> Cause:
    """Return why an instance does not go on; for one that runs or has ended, what it does or how it ended.

    `slot`: the one that its task waits for, from `slots.missing_slot`.
    """
    if one.reason == Reason.UNOWNED:
        detail = "does not belong to a run, so no component acts on it"
        command = commands.describe(run, "taskrun", one.name)
        return _cause(one, CauseKind.ORPHANED, Urgency.ACT, detail, command)
    if one.deleting is not None and not one.ended:
        return _deleting(run, facts, one)
    return _by_state(run, facts, one, slot)


def timeout_near(run: RunView, one: InstanceView) -> Cause | None:
    """Return the timeout of a wait or an attempt that is nearly over; None while there is time."""
    match one.state:
        case State.DEFERRED if one.deadline is not None and one.deferred_at is not None:
            what, due, length = "wait", one.deadline, one.deadline - one.deferred_at
        case State.RUNNING | State.SCHEDULED if one.timeout is not None and one.started_at is not None:
            paused = 0.0 if one.timeout_while_deferred else one.deferred_seconds
            what, due, length = "attempt", one.started_at + one.timeout + paused, one.timeout
        case _:
            return None
    left = due - run.now
    if not 0 < left <= length * _NEAR:
        return None
    detail = f"has {times.human(left)} left: its {what} times out after {times.human(length)}"
    command = commands.torpor("logs", run, one.ref)
    return _cause(one, CauseKind.TIMEOUT_NEAR, Urgency.WAIT, detail, command, deadline=due)


def _by_state(run: RunView, facts: Facts, one: InstanceView, slot: Cause | None) -> Cause:
    match one.state:
        case State.SCHEDULED:
            return _scheduled(run, facts, one, slot)
        case State.RUNNING:
            return _running(run, facts, one)
        case State.DEFERRED:
            return wait_causes.of_deferred(run, facts, one)
        case State.UP_FOR_RETRY:
            return _backing_off(run, one)
        case State.SUCCEEDED:
            return _cause(one, CauseKind.SUCCEEDED, Urgency.DONE, "succeeded", commands.torpor("result", run, one.ref))
        case State.FAILED:
            return _failed(run, one)
        case State.SKIPPED:
            why = f": {json_fields.message_line(one.message)}" if one.message else ""
            return _cause(one, CauseKind.SKIPPED, Urgency.DONE, f"was skipped{why}", commands.retry(run, one.ref))
        case State.CANCELLED:
            why = f": {json_fields.message_line(one.message)}" if one.message else ""
            return _cause(one, CauseKind.CANCELLED, Urgency.DONE, f"was cancelled{why}", commands.retry(run, one.ref))
        case None:
            detail = f"is in state {one.word!r}, which this version of torpor does not know"
            return _cause(one, CauseKind.UNKNOWN, Urgency.ACT, detail, "torpor doctor")
        case _:
            assert_never(one.state)


def _scheduled(run: RunView, facts: Facts, one: InstanceView, slot: Cause | None) -> Cause:
    if one.waits_first and one.segment == 0 and not one.reason:
        overdue = one.created is not None and run.now > one.created + pod_causes.STALE
        detail = f"is about to begin its wait{ago(one.created, run.now)}"
        command = "torpor doctor" if overdue else commands.torpor("get", run)
        return _cause(one, CauseKind.TO_BE_CREATED, Urgency.ACT if overdue else Urgency.WAIT, detail, command)
    known = pod_causes.of_scheduled(run, facts, one, slot)
    return known if not one.reason or known.kind is not CauseKind.POD_STARTING else _blocked(run, one)


def _running(run: RunView, facts: Facts, one: InstanceView) -> Cause:
    """A container task is Running as soon as its pod exists, so the pod may not have started."""
    pod = _pod(facts, one)
    kept = pod_causes.of_pod(run, one, pod)
    if kept is not None:
        return kept
    if one.reason:
        return _blocked(run, one)
    if pod is not None and pod.phase == "Pending":
        where = f"on node {pod.node}" if pod.node else "without a node so far"
        detail = f"starts: pod {pod.name} is Pending {where}{ago(pod.created, run.now)}"
        return _cause(one, CauseKind.POD_STARTING, Urgency.WAIT, detail, commands.describe(run, "pod", pod.name))
    where = f"pod {one.pod}" if one.pod else "a pod"
    detail = f"runs in {where}{ago(one.started_at, run.now)}"
    return _cause(one, CauseKind.RUNNING, Urgency.DONE, detail, commands.torpor("logs", run, one.ref, "-f"))


def _blocked(run: RunView, one: InstanceView) -> Cause:
    command = commands.within(one.message, run.namespace) or commands.describe(run, "taskrun", one.name)
    detail = f"does not go on: {quoted(one.reason, one.message)}"
    return _cause(one, CauseKind.BLOCKED, Urgency.ACT, detail, command)


def _backing_off(run: RunView, one: InstanceView) -> Cause:
    attempt = f"attempt {one.attempt + 1} of {max(one.limit, one.attempt) + 1}"
    when = until(one.retry_at, run.now) if one.retry_at is not None else "now"
    why = quoted(one.reason, one.message)
    detail = f"failed and retries: {attempt} starts {when}" + (f"; last error: {why}" if why else "")
    command = commands.within(one.message, run.namespace) or commands.torpor(
        "logs", run, one.ref, "--attempt", str(one.attempt)
    )
    return _cause(one, CauseKind.BACKING_OFF, Urgency.WAIT, detail, command, next_at=one.retry_at)


def _failed(run: RunView, one: InstanceView) -> Cause:
    why = quoted(one.reason, one.message)
    failure = remedies.FailureCause(reason=one.reason, source=one.source)
    attempts = f" in attempt {one.attempt} of {max(one.limit + 1, one.attempt)}" if one.limit else ""
    logs = commands.torpor("logs", run, one.ref, "--failed")
    command = remedies.of_message(run, one.message, one.ref) or (
        logs if one.reason in _LOGS else remedies.command(run, failure, one.ref)
    )
    detail = f"failed{attempts}{f': {why}' if why else ''}{remedies.advice(failure)}"
    return _cause(one, CauseKind.FAILED, Urgency.ACT, detail, command)


def _deleting(run: RunView, facts: Facts, one: InstanceView) -> Cause:
    pods = () if facts.pods is None else facts.pods.get(one.uid, ())
    stuck = next((pod for pod in pods if pod.deleting is not None and not pod.terminal), None)
    if one.reason == Reason.NODE_LOST or (
        stuck is not None and stuck.deleting is not None and run.now > stuck.deleting + pod_causes.STALE
    ):
        return pod_causes.node_lost(run, one, stuck)
    detail = f"is being deleted{ago(one.deleting, run.now)}, after its pods"
    return _cause(one, CauseKind.DELETING, Urgency.WAIT, detail, commands.describe(run, "taskrun", one.name))


def _pod(facts: Facts, one: InstanceView) -> PodFacts | None:
    pods = () if facts.pods is None else facts.pods.get(one.uid, ())
    return next((pod for pod in pods if pod.name == one.pod_name), None)


def _cause(  # noqa: PLR0913 - the parts of a cause
    one: InstanceView,
    kind: CauseKind,
    urgency: Urgency,
    detail: str,
    command: str,
    *,
    next_at: float | None = None,
    deadline: float | None = None,
) -> Cause:
    return Cause(
        kind=kind,
        urgency=urgency,
        sentence=sentence("Task", one.ref, detail),
        task=one.task,
        ref=one.ref,
        taskrun=one.name,
        reason=one.reason,
        command=command,
        since=one.completed or one.fired_at or one.started_at or one.created,
        next_at=next_at,
        deadline=deadline,
    )
