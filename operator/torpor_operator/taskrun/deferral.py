"""Rules of a deferred TaskRun: begin with a trigger, delete the former pod, watch the deadline.

The triggerer enforces the deadline. The operator acts on it only after a grace, when no triggerer has responded.
"""

import shlex

from torpor_crds.models.taskrun import TriggerCall
from torpor_wire import constants, deadline, retry, times, transitions, trigger
from torpor_wire.reason import Reason

from torpor_operator.model.actions import PatchTaskRun
from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, combine, deadline_of_attempt


def begin(view: TaskRunView, call: TriggerCall) -> Step:
    """Defer a task that is only a trigger: no pod is started just to wait."""
    try:
        stored = step.build_trigger(view, call.class_name, trigger.parse(call.kwargs))
    except trigger.TriggerError as error:
        return step.fail(view, Reason.TRIGGER_INVALID, str(error), policy=retry.Policy())
    due = deadline.deferral_deadline(
        timeout=times.seconds(call.timeout) if call.timeout is not None else None,
        attempt_deadline=_attempt_ends_at(view),
        now=view.now,
    )
    patch = transitions.defer(view.taskrun.pin(), stored, resume=None, deadline=due, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _attempt_ends_at(view: TaskRunView) -> float | None:
    spec = view.taskrun.spec
    return view.now + times.seconds(spec.timeout) if spec.timeout is not None and spec.timeout_while_deferred else None


def deferred(view: TaskRunView) -> Step:
    """What follows for a Deferred TaskRun."""
    status = view.taskrun.status
    if status.trigger is None:
        message = "invalid status: Deferred without status.trigger (modified externally?)"
        return step.fail(view, Reason.STATUS_INVALID, message, policy=retry.Policy())
    waiting = combine(
        step.delete_after_grace(view, view.pods, since=status.deferred_at, grace=view.settings.former_pod_grace),
        _report_unserved_pool(view),
    )
    ends = _deadline(view)
    if ends is None:
        return waiting
    due = ends + view.settings.triggerer_grace
    if view.now < due:
        return combine(waiting, Step(again_at=due))
    if status.deadline is None or ends < times.epoch(status.deadline):
        return step.fail(view, Reason.TIMEOUT, f"the attempt exceeded its timeout of {view.taskrun.spec.timeout}")
    resume, attempt_ends = status.next, _ends_with_attempt(view)
    if resume is not None and resume.on_timeout and not attempt_ends:
        return _resume_on_timeout(view)
    waiting_for = trigger.awaited(status.trigger.waits_for)
    message = f"the deferral timed out at {status.deadline} while waiting {waiting_for}; no triggerer responded"
    final = resume is not None and resume.timeout_is_final and not attempt_ends
    return step.fail(view, Reason.DEFERRAL_TIMEOUT, message, policy=retry.Policy() if final else None)


def _deadline(view: TaskRunView) -> float | None:
    """When the deferral ends: at its deadline, and at the end of the attempt at the latest.

    A pod writes the deadline of its deferral. Without this, a pod that writes none, or a late one, had no timeout.
    """
    own = view.taskrun.status.deadline
    limits = [None if own is None else times.epoch(own)]
    if view.taskrun.spec.timeout_while_deferred and (attempt := deadline_of_attempt(view)) is not None:
        limits.append(attempt + deadline.ROUNDING)
    return min((limit for limit in limits if limit is not None), default=None)


def _report_unserved_pool(view: TaskRunView) -> Step:
    """Report a pool without triggerers, after a grace for one that is only late."""
    if view.pool.served:
        return NOTHING
    since, pool = view.taskrun.status.deferred_at, view.taskrun.spec.trigger_pool
    due = (times.epoch(since) if since else view.now) + view.settings.unserved_grace
    if view.now < due:
        return Step(again_at=due)
    command = f"kubectl get pods -A -l {shlex.quote(f'{constants.LABEL_POOL}={pool}')}"
    return step.explain(view, Reason.POOL_UNSERVED, f"no triggerer is running for pool {pool}: {command}")


def _resume_on_timeout(view: TaskRunView) -> Step:
    """Resume the task at its `on_timeout`, without an event."""
    status = view.taskrun.status
    since = times.epoch(status.deferred_at) if status.deferred_at else view.now
    deferred_seconds = (status.deferred_seconds or 0.0) + view.now - since
    patch = transitions.fire(view.taskrun.pin(), None, deferred=deferred_seconds, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _ends_with_attempt(view: TaskRunView) -> bool:
    """Whether the deadline of the deferral is the attempt's own."""
    due = view.taskrun.status.deadline
    if due is None or not view.taskrun.spec.timeout_while_deferred:
        return False
    return deadline.is_attempt_deadline(times.epoch(due), deadline_of_attempt(view))
