"""One TaskRun and its pods: what must be written or removed now, and when to look again.

Each rule is a function from what is seen to steps; the first whose state matches decides. Nothing here reads another
TaskRun, and nothing is decided on a pod's absence from the store alone: absence is confirmed first.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_api.taskrun import TaskRun, TriggerCall
from torpor_wire import edge, retry, times, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.actions import Action, ConfirmPod, DeletePod, Need, PatchTaskRun, PostEvent
from torpor_operator.pods import Pod, name_of
from torpor_operator.settings import Settings
from torpor_operator.snapshot import Answer, Presence

_PULL_FAILURES = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
_CONFIG_FAILURES = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A TaskRun as one plan sees it."""

    taskrun: TaskRun
    pods: tuple[Pod, ...]
    known: Mapping[Need, Answer]
    settings: Settings
    now: float

    @property
    def current_pod(self) -> Pod | None:
        """The pod of the present attempt, segment and launch."""
        name = name_of(self.taskrun)
        return next((pod for pod in self.pods if pod.name == name), None)

    @property
    def former_pods(self) -> tuple[Pod, ...]:
        """Pods of earlier segments, launches or attempts that may still run a process."""
        name = name_of(self.taskrun)
        return tuple(pod for pod in self.pods if pod.name != name and not pod.terminal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What follows for one TaskRun. `wants_pod`: it is Scheduled, and nothing but a free slot is missing."""

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    again_at: float | None = None
    wants_pod: bool = False
    events: tuple[PostEvent, ...] = field(default=())


NOTHING = Step()


def next_step(view: View) -> Step:
    """What the TaskRun's state and pods ask for."""
    match view.taskrun.status.state:
        case State.SCHEDULED:
            return _scheduled(view)
        case State.RUNNING:
            return _running(view)
        case State.DEFERRED:
            return _deferred(view)
        case State.UP_FOR_RETRY:
            return _up_for_retry(view)
        case _:
            return _dismiss(view, view.pods, since=view.taskrun.status.completion_time)


def cancel(view: View, message: str) -> Step:
    """What ends the TaskRun: its pods deleted, its wait killed by its triggerer first."""
    status = view.taskrun.status
    if status.state in TERMINAL:
        return next_step(view)
    if status.state is State.DEFERRED:
        return _cancel_wait(view, message)
    stop = tuple(_delete(pod) for pod in view.pods if not pod.terminal and not pod.deleting)
    patch = edge.cancel(view.taskrun.pin(), message=message, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch), *stop))


def _cancel_wait(view: View, message: str) -> Step:
    """`on_kill` is the triggerer's to run; after its grace the operator writes Cancelled itself."""
    asked = view.taskrun.status.cancel
    if asked is None:
        return Step(
            actions=(PatchTaskRun(taskrun=view.taskrun, patch=edge.ask_cancel(view.taskrun.pin(), now=view.now)),),
            again_at=view.now + view.settings.triggerer_grace,
        )
    due = times.epoch(asked) + view.settings.triggerer_grace
    if view.now < due:
        return Step(again_at=due)
    patch = edge.cancel(view.taskrun.pin(), message=f"{message} (no triggerer answered)", now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _scheduled(view: View) -> Step:
    if view.taskrun.spec.trigger is not None:
        return _defer(view, view.taskrun.spec.trigger)
    if (late := _timed_out(view)) is not None:
        return late
    pod = view.current_pod
    if pod is None:
        return _former(view)
    if pod.terminal:
        return _ended_silently(view, pod)
    if pod.waiting_reason in _PULL_FAILURES | _CONFIG_FAILURES:
        return _stuck(view, pod)
    return Step(again_at=_attempt_deadline(view))


def _defer(view: View, asked: TriggerCall) -> Step:
    """A task whose body is a trigger goes straight to the triggerer: no pod is started merely to wait."""
    spec, metadata = view.taskrun.spec, view.taskrun.metadata
    try:
        wait = trigger.build(
            asked.class_name,
            json.loads(asked.kwargs),
            namespace=metadata.namespace,
            pool=spec.trigger_pool,
            now=view.now,
        )
    except trigger.TriggerError as error:
        return _fail(view, Reason.TRIGGER_INVALID, str(error), policy=retry.Policy())
    limits = [times.seconds(limit) for limit in (asked.timeout, spec.timeout) if limit is not None]
    deadline = view.now + min(limits) if limits else None
    patch = edge.defer(view.taskrun.pin(), wait, resume=None, deadline=deadline, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _former(view: View) -> Step:
    """A segment's pod is created only when no pod of an earlier one can still run a process."""
    if not view.former_pods:
        return Step(wants_pod=True, again_at=_attempt_deadline(view))
    status = view.taskrun.status
    return _dismiss(view, view.former_pods, since=status.fired_at or status.deferred_at or status.retry_at)


def _running(view: View) -> Step:
    if (late := _timed_out(view)) is not None:
        return late
    claimed = view.taskrun.status.pod
    if claimed is None:
        message = "Running without a pod in its status: written by another hand than Torpor's"
        return _fail(view, Reason.STATUS_INVALID, message, policy=retry.Policy())
    pod = next((pod for pod in view.pods if pod.uid == claimed.uid), None)
    if pod is None:
        return _maybe_gone(view, ConfirmPod(view.taskrun.metadata.namespace, claimed.name, claimed.uid or ""))
    if pod.terminal:
        return _ended_silently(view, pod)
    return Step(again_at=_attempt_deadline(view))


def _deferred(view: View) -> Step:
    status = view.taskrun.status
    lingering = _dismiss(view, view.pods, since=status.deferred_at)
    if status.deadline is None:
        return lingering
    due = times.epoch(status.deadline) + view.settings.triggerer_grace
    if view.now < due:
        return Step(actions=lingering.actions, again_at=_earlier(lingering.again_at, due))
    message = f"the wait for {_waits_for(view)} was over at {status.deadline}, and no triggerer said so"
    return _fail(view, Reason.DEFERRAL_TIMEOUT, message)


def _up_for_retry(view: View) -> Step:
    retry_at = view.taskrun.status.retry_at
    due = times.epoch(retry_at) if retry_at else view.now
    if view.now < due:
        return Step(again_at=due)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=edge.retry_now(view.taskrun.pin())),))


def _timed_out(view: View) -> Step | None:
    """The task's timeout is the operator's to watch while a pod runs; the triggerer's while it is deferred."""
    deadline = _attempt_deadline(view)
    if deadline is None or view.now < deadline:
        return None
    stop = tuple(_delete(pod) for pod in view.pods if not pod.terminal and not pod.deleting)
    message = f"the attempt ran longer than its timeout of {view.taskrun.spec.timeout}"
    failed = _fail(view, Reason.TIMEOUT, message)
    return Step(actions=(*failed.actions, *stop))


def _attempt_deadline(view: View) -> float | None:
    started, timeout = view.taskrun.status.started_at, view.taskrun.spec.timeout
    if started is None or timeout is None:
        return None
    return times.epoch(started) + times.seconds(timeout)


def _ended_silently(view: View, pod: Pod) -> Step:
    """A pod that ended without a report. A report still under way wins: the patch is fenced."""
    status = view.taskrun.status
    if pod.disrupted and status.launch < view.settings.max_launches:
        return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=edge.relaunch(view.taskrun.pin(launch=True))),))
    return _fail(view, Reason.LOST, f"pod {pod.name} ended without a report ({pod.ending or pod.phase})")


def _maybe_gone(view: View, confirm: ConfirmPod) -> Step:
    match view.known.get(confirm):
        case None:
            return Step(needs=(confirm,))
        case Presence.GONE:
            return _fail(view, Reason.LOST, f"pod {confirm.name} is gone and left no report")
        case _:
            return Step(again_at=view.now + view.settings.former_pod_grace)


def _stuck(view: View, pod: Pod) -> Step:
    """A container that cannot start: said on the object at once, failed after a grace, since registries recover."""
    image = view.taskrun.spec.image
    pulling = pod.waiting_reason in _PULL_FAILURES
    reason = Reason.IMAGE_PULL_FAILED if pulling else Reason.LAUNCH_FAILED
    what = f"image {image} cannot be pulled" if pulling else "the container cannot be started"
    message = f"{what}: {pod.waiting_reason}: {pod.waiting_message}"
    due = times.epoch(pod.created) + view.settings.image_pull_grace
    if view.now >= due:
        failed = _fail(view, reason, message)
        return Step(actions=(*failed.actions, _delete(pod)))
    if view.taskrun.status.reason == reason:
        return Step(again_at=due)
    patch = edge.explain(view.taskrun.pin(), reason=reason, message=message)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch), _event(view, reason, message)), again_at=due)


def _dismiss(view: View, pods: tuple[Pod, ...], *, since: str | None) -> Step:
    """Pods that have had their last word linger a moment by themselves; what does not end is deleted."""
    live = [pod for pod in pods if not pod.terminal and not pod.deleting]
    if not live:
        return NOTHING
    due = (times.epoch(since) if since else view.now) + view.settings.former_pod_grace
    if since is not None and view.now < due:
        return Step(again_at=due)
    return Step(actions=tuple(_delete(pod) for pod in live))


def _fail(view: View, reason: Reason, message: str, policy: retry.Policy | None = None) -> Step:
    policy = view.taskrun.spec.retries.policy() if policy is None else policy
    patch = edge.fail(view.taskrun.pin(), policy, reason=reason, message=message, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _event(view: View, reason: Reason, message: str) -> PostEvent:
    key = f"{view.taskrun.metadata.uid}/{view.taskrun.status.attempt}/{reason}"
    return PostEvent(regarding=view.taskrun, reason=reason, message=message, warning=True, key=key)


def _delete(pod: Pod) -> DeletePod:
    return DeletePod(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def _waits_for(view: View) -> str:
    waiting = view.taskrun.status.trigger
    return waiting.waits_for if waiting else "its trigger"


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)
