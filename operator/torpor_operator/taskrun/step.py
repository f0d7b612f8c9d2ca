"""The view of one TaskRun that its rules read, and the steps that several rules share. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire import canonical, constants, deadline, retry, times, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.model.actions import Action, DeletePod, Evaluate, Need, PatchTaskRun, PostEvent
from torpor_operator.model.pod import Pod, node_lost_message, pod_name
from torpor_operator.model.snapshot import Answer, TriggerPool
from torpor_operator.settings import Settings
from torpor_operator.taskrun import retry_rules
from torpor_operator.taskrun.retry_rules import AttemptFailure


@dataclass(frozen=True, kw_only=True)  # no slots: a cached property needs the instance's dictionary
class TaskRunView:
    """One TaskRun with its pods and what else its rules read."""

    taskrun: TaskRun
    pods: tuple[Pod, ...]
    unconfirmed_pod: str | None  # the name of a pod whose creation was not confirmed
    pool: TriggerPool
    known: Mapping[Need, Answer]
    settings: Settings
    now: float
    children: tuple[Workflow, ...] = ()  # the runs that it has started
    released: tuple[Workflow, ...] = ()  # a run of its former TaskRun that it is to wait for
    namesake: Workflow | None = None  # the Workflow with the name that the author chose for its run
    runs_of_root: int = 0  # how many runs the outermost run has in it; counted for a TaskRun that starts one
    reads_events: bool = False  # whether the Events of its pod may be read while the pod does not start

    @property
    def waits_first(self) -> bool:
        """Whether the TaskRun begins with a trigger and has not been deferred yet."""
        return self.taskrun.spec.trigger is not None and self.taskrun.status.segment == 0

    @cached_property
    def current_pod(self) -> Pod | None:
        """The pod of the present attempt, segment and launch."""
        name = pod_name(self.taskrun)
        return next((pod for pod in self.pods if pod.name == name), None)

    @property
    def former_pods(self) -> tuple[Pod, ...]:
        """Pods of earlier segments, launches or attempts whose process may still run."""
        name = pod_name(self.taskrun)
        return tuple(pod for pod in self.pods if pod.name != name and not pod.terminal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What follows for one TaskRun. `wants_pod`: it is Scheduled and needs only a free slot."""

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    again_at: float | None = None
    wants_pod: bool = False
    events: tuple[PostEvent, ...] = ()


NOTHING = Step()


def combine(first: Step, second: Step) -> Step:
    """Both steps as one."""
    if first is NOTHING or second is NOTHING:
        return second if first is NOTHING else first
    return Step(
        actions=(*first.actions, *second.actions),
        needs=(*first.needs, *second.needs),
        again_at=earliest((first.again_at, second.again_at)),
        wants_pod=first.wants_pod or second.wants_pod,
        events=(*first.events, *second.events),
    )


def with_pods_ended(ending: Step, *pods: Pod) -> Step:
    """The step that ends an attempt, and its pods with it. While it has needs, it has no action yet."""
    deletions = tuple(map(delete, pods))
    return replace(
        ending,
        actions=tuple(
            replace(action, ended_pods=deletions) if isinstance(action, PatchTaskRun) else action
            for action in ending.actions
        ),
    )


def earliest(moments: Iterable[float | None]) -> float | None:
    """The earliest of the times that are set; None where none is."""
    return min((moment for moment in moments if moment is not None), default=None)


def explain(
    view: TaskRunView, reason: Reason, message: str, again_at: float | None = None, *, renew: bool = False
) -> Step:
    """Write once to the TaskRun why it does not advance, with an Event; a TaskRun that has ended gets only the Event.

    `renew`: write a changed message again.
    """
    status = view.taskrun.status
    if status.reason == reason and not (renew and status.message != transitions.shorten(message)):
        return Step(again_at=again_at)
    posted = event(view, reason, message)
    if view.taskrun.status.state in TERMINAL:
        return Step(events=(posted,), again_at=again_at)
    patch = transitions.explain(view.taskrun.pin(launch=True), reason=reason, message=message)
    return Step(
        actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),),
        events=(posted,),
        again_at=again_at,
    )


def node_lost(view: TaskRunView, pod: Pod) -> Step:
    """Report a pod whose node never confirmed termination: its process may still run, so no other pod may start."""
    message = lost_message(view, pod)
    if message is None:
        due = pod.deletion_timestamp
        return Step(again_at=times.epoch(due) + view.settings.node_grace if due else None)
    return explain(view, Reason.NODE_LOST, message)


def lost_message(view: TaskRunView, pod: Pod) -> str | None:
    """The message for a pod that should have terminated by now; None where it has time, or has terminated."""
    return node_lost_message(pod, view.now - view.settings.node_grace)


def delete_after_grace(view: TaskRunView, pods: tuple[Pod, ...], *, since: str | None, grace: float) -> Step:
    """Give pods time to exit by themselves, then delete those that still run."""
    live = [pod for pod in pods if not pod.terminal and not pod.deleting]
    if not live:
        return NOTHING
    due = (times.epoch(since) if since else view.now) + grace
    if since is not None and view.now < due:
        return Step(again_at=due)
    return Step(actions=tuple(delete(pod) for pod in live))


def fail(
    view: TaskRunView,
    reason: Reason,
    message: str,
    policy: retry.Policy | None = None,
    *,
    exit_code: int | None = None,
) -> Step:
    """End the attempt. `policy` replaces the TaskRun's own where a retry cannot help.

    A rule of `retries` that allows no other attempt is decided before the write, so that one write ends the TaskRun.
    """
    policy = view.taskrun.spec.retries.policy() if policy is None else policy
    refused = _retry_refusal(view, policy, reason, message, exit_code)
    if isinstance(refused, Evaluate):
        return Step(needs=(refused,))
    if refused:
        message, policy = retry_rules.refused_message(message, refused), retry.Policy()
    details = retry.FailureDetails(exit_code=exit_code)
    patch = transitions.fail(
        view.taskrun.pin(launch=True), policy, reason=reason, message=message, now=view.now, details=details
    )
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def _retry_refusal(
    view: TaskRunView, policy: retry.Policy, reason: Reason, message: str, exit_code: int | None
) -> str | Evaluate:
    """Why a rule of `retries` allows no attempt after this failure, empty if none forbids it; or what it must know."""
    metadata, attempt = view.taskrun.metadata, view.taskrun.status.attempt
    due = retry.next_attempt_at(policy, attempt, view.now, uid=metadata.uid)
    if due is None:
        return ""
    shortened = transitions.shorten(message)
    failure = AttemptFailure(attempt=attempt, reason=reason.value, message=shortened, exit_code=exit_code)
    return retry_rules.refusal(view.taskrun, failure, due, view.known)


def event(view: TaskRunView, reason: Reason, message: str) -> PostEvent:
    """A warning on the TaskRun, once for each attempt and reason."""
    key = f"{view.taskrun.metadata.uid}/{view.taskrun.status.attempt}/{reason}"
    return PostEvent(regarding=view.taskrun, reason=reason, message=message, warning=True, key=key)


def delete(pod: Pod) -> DeletePod:
    """The action that deletes a pod."""
    return DeletePod(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def expired(view: TaskRunView) -> Step | None:
    """Fail an attempt that has exceeded its timeout and delete its pods; None while it has time."""
    due = deadline_of_attempt(view)
    if due is None or view.now < due:
        return None
    live = (pod for pod in view.pods if not pod.terminal and not pod.deleting)
    return with_pods_ended(fail(view, Reason.TIMEOUT, _timeout_message(view)), *live)


def deadline_of_attempt(view: TaskRunView) -> float | None:
    """When the attempt exceeds its timeout, in seconds since the epoch.

    Before the first claim the time counts from the creation of the pod, or of a pod that the quota rejects. Waiting for
    a slot or for quota of a queue does not count, nor does deferral where `timeoutWhileDeferred` is false.
    """
    spec, status = view.taskrun.spec, view.taskrun.status
    if spec.timeout is None:
        return None
    paused = 0.0 if spec.timeout_while_deferred else status.deferred_seconds or 0.0
    return deadline.attempt_deadline(status.started_at or _launched_at(view), spec.timeout, paused=paused)


def _launched_at(view: TaskRunView) -> str | None:
    """When the pod of an attempt that no pod has claimed was created, or first rejected by the quota."""
    taskrun, pod = view.taskrun, view.current_pod
    if pod is not None:
        return None if pod.awaits_quota else pod.created or None
    if taskrun.status.reason == Reason.QUOTA_EXCEEDED:
        return taskrun.status.retry_at or taskrun.metadata.creation_timestamp
    return None


def _timeout_message(view: TaskRunView) -> str:
    status, timeout = view.taskrun.status, view.taskrun.spec.timeout
    cause = f": {status.reason}: {status.message}" if status.reason else ""
    if status.started_at is None:
        return f"the pod of the attempt did not start within its timeout of {timeout}{cause}"
    pod, exceeded = view.current_pod, f"the attempt exceeded its timeout of {timeout}"
    pending = pod is not None and pod.phase == "Pending"
    return f"{exceeded}; its pod did not start{cause}" if pending and cause else exceeded


def build_trigger(view: TaskRunView, class_name: str, kwargs: Mapping[str, canonical.Json]) -> trigger.DeferredTrigger:
    """The trigger of a deferral of the TaskRun. Raises trigger.TriggerError."""
    metadata, spec = view.taskrun.metadata, view.taskrun.spec
    return trigger.build(
        class_name,
        kwargs,
        namespace=metadata.namespace,
        pool=spec.trigger_pool,
        now=view.now,
        account=spec.service_account or constants.TASK_ACCOUNT,
        taskrun=metadata.name,
    )
