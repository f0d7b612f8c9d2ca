"""Why one instance does not go on, by its state. Pure."""

from typing import assert_never

from torpor_wire import times
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_views import json_fields
from torpor_views.causes import commands, pod_causes, remedies, wait_causes
from torpor_views.causes.cause import Cause, CauseKind, Urgency, ago, instance_cause, quoted, until
from torpor_views.facts import Facts
from torpor_views.model import InstanceView, RunView

_NEAR = 0.1
"""The last part of a timeout in which it is worth a sentence."""
_LOGS = frozenset({Reason.ERROR, Reason.LOST, Reason.TRIGGER_FAILED, Reason.TIMEOUT, Reason.TRIGGER_ENDED})
"""Reasons that the log explains."""
_ENDS_OF_RUNS = frozenset({Reason.TRIGGER_FAILED, Reason.DEFERRAL_TIMEOUT})
"""Reasons of a task with a run that the run explains."""


def of_instance(run: RunView, facts: Facts, instance: InstanceView, slot: Cause | None) -> Cause:
    """Return why an instance does not go on; for one that runs or has ended, what it does or how it ended.

    `slot`: the one that its task waits for, from `slots.missing_slot`.
    """
    if instance.reason == Reason.UNOWNED:
        detail = "does not belong to a run, so no component acts on it"
        command = commands.describe(run, "taskrun", instance.name)
        return instance_cause(instance, CauseKind.ORPHANED, Urgency.ACT, detail, command)
    if instance.deleting is not None and not instance.ended:
        return _deleting(run, facts, instance)
    return _by_state(run, facts, instance, slot)


def timeout_near(run: RunView, instance: InstanceView) -> Cause | None:
    """Return the timeout of a wait or an attempt that is nearly over; None while there is time."""
    match instance.state:
        case State.DEFERRED if instance.deadline is not None and instance.deferred_at is not None:
            what, due, length = "wait", instance.deadline, instance.deadline - instance.deferred_at
        case State.RUNNING | State.SCHEDULED if instance.timeout is not None and instance.started_at is not None:
            paused = 0.0 if instance.timeout_while_deferred else instance.deferred_seconds
            what, due, length = "attempt", instance.started_at + instance.timeout + paused, instance.timeout
        case _:
            return None
    left = due - run.now
    if not 0 < left <= length * _NEAR:
        return None
    detail = f"has {times.human(left)} left: its {what} times out after {times.human(length)}"
    command = commands.torpor("logs", run, instance.ref)
    return instance_cause(instance, CauseKind.TIMEOUT_NEAR, Urgency.WAIT, detail, command, deadline=due)


def _by_state(run: RunView, facts: Facts, instance: InstanceView, slot: Cause | None) -> Cause:
    match instance.state:
        case State.SCHEDULED:
            return _scheduled(run, facts, instance, slot)
        case State.RUNNING:
            return _running(run, facts, instance)
        case State.DEFERRED:
            return wait_causes.of_deferred(run, facts, instance)
        case State.UP_FOR_RETRY:
            return _backing_off(run, instance)
        case State.SUCCEEDED:
            command = commands.torpor("result", run, instance.ref)
            return instance_cause(instance, CauseKind.SUCCEEDED, Urgency.DONE, "succeeded", command)
        case State.FAILED:
            return _failed(run, instance)
        case State.SKIPPED | State.CANCELLED as state:
            detail = f"was {state.lower()}" + (
                f": {json_fields.message_line(instance.message)}" if instance.message else ""
            )
            return instance_cause(instance, CauseKind(state), Urgency.DONE, detail, commands.retry(run, instance.ref))
        case None:
            detail = f"is in state {instance.word!r}, which this version of torpor does not know"
            return instance_cause(instance, CauseKind.UNKNOWN, Urgency.ACT, detail, "torpor doctor")
        case _:
            assert_never(instance.state)


def _scheduled(run: RunView, facts: Facts, instance: InstanceView, slot: Cause | None) -> Cause:
    if instance.waits_first and instance.segment == 0 and not instance.reason:
        overdue = instance.created is not None and run.now > instance.created + pod_causes.STALE
        detail = f"is about to begin its wait{ago(instance.created, run.now)}"
        command = "torpor doctor" if overdue else commands.torpor("get", run)
        urgency = Urgency.ACT if overdue else Urgency.WAIT
        return instance_cause(instance, CauseKind.TO_BE_CREATED, urgency, detail, command)
    known = pod_causes.of_scheduled(run, facts, instance, slot)
    return known if not instance.reason or known.kind is not CauseKind.POD_STARTING else _blocked(run, instance)


def _running(run: RunView, facts: Facts, instance: InstanceView) -> Cause:
    """A container task is Running as soon as its pod exists, so the pod may not have started."""
    pod = next((pod for pod in facts.pods_of(instance) if pod.name == instance.pod_name), None)
    kept = pod_causes.of_pod(run, instance, pod)
    if kept is not None:
        return kept
    if instance.reason:
        return _blocked(run, instance)
    if pod is not None and pod.phase == "Pending":
        where = f"on node {pod.node}" if pod.node else "without a node so far"
        detail = f"starts: pod {pod.name} is Pending {where}{ago(pod.created, run.now)}"
        command = commands.describe(run, "pod", pod.name)
        return instance_cause(instance, CauseKind.POD_STARTING, Urgency.WAIT, detail, command)
    where = f"pod {instance.pod}" if instance.pod else "a pod"
    detail = f"runs in {where}{ago(instance.started_at, run.now)}"
    command = commands.torpor("logs", run, instance.ref, "-f")
    return instance_cause(instance, CauseKind.RUNNING, Urgency.DONE, detail, command)


def _blocked(run: RunView, instance: InstanceView) -> Cause:
    command = commands.within(instance.message, run.namespace) or commands.describe(run, "taskrun", instance.name)
    detail = f"does not go on: {quoted(instance.reason, instance.message)}"
    return instance_cause(instance, CauseKind.BLOCKED, Urgency.ACT, detail, command)


def _backing_off(run: RunView, instance: InstanceView) -> Cause:
    attempt = f"attempt {instance.attempt + 1}{_of_attempts(instance, instance.attempt + 1)}"
    when = until(instance.retry_at, run.now) if instance.retry_at is not None else "now"
    why = quoted(instance.reason, instance.message)
    detail = f"failed and retries: {attempt} starts {when}" + (f"; last error: {why}" if why else "")
    command = commands.within(instance.message, run.namespace) or commands.torpor(
        "logs", run, instance.ref, "--attempt", str(instance.attempt)
    )
    return instance_cause(instance, CauseKind.BACKING_OFF, Urgency.WAIT, detail, command, next_at=instance.retry_at)


def _failed(run: RunView, instance: InstanceView) -> Cause:
    why = quoted(instance.reason, instance.message)
    failure = remedies.FailureCause(reason=instance.reason, source=instance.source)
    attempts = f" in attempt {instance.attempt}{_of_attempts(instance, instance.attempt)}" if instance.limit else ""
    task = next((task for task in run.tasks if task.name == instance.task), None)
    may_fail = task is not None and task.may_fail
    child = instance.child_run if instance.reason in _ENDS_OF_RUNS else ""
    logs = commands.why_child(run, child) if child else commands.torpor("logs", run, instance.ref, "--failed")
    command = remedies.of_message(run, instance.message, instance.ref) or (
        logs if child or instance.reason in _LOGS else remedies.command(run, failure, instance.ref)
    )
    permitted = ", which does not fail the run (mayFail)" if may_fail else ""
    detail = f"failed{attempts}{permitted}{f': {why}' if why else ''}{remedies.advice(failure)}"
    urgency = Urgency.DONE if may_fail else Urgency.ACT
    return instance_cause(instance, CauseKind.FAILED, urgency, detail, command)


def _of_attempts(instance: InstanceView, attempt: int) -> str:
    """Return ` of 4`, the number of attempts; empty if there is no limit."""
    return "" if instance.limit < 0 else f" of {max(instance.limit + 1, attempt)}"


def _deleting(run: RunView, facts: Facts, instance: InstanceView) -> Cause:
    stuck = next((pod for pod in facts.pods_of(instance) if pod.deleting is not None and not pod.terminal), None)
    if instance.reason == Reason.NODE_LOST or (
        stuck is not None and stuck.deleting is not None and run.now > stuck.deleting + pod_causes.STALE
    ):
        return pod_causes.node_lost(run, instance, stuck)
    detail = f"is being deleted{ago(instance.deleting, run.now)}, after its pods"
    return instance_cause(
        instance, CauseKind.DELETING, Urgency.WAIT, detail, commands.describe(run, "taskrun", instance.name)
    )
