"""The steps that several rules end in: fail, say why nothing moves, see a pod off."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torpor_api.models.taskrun import TaskRun
from torpor_wire import retry, times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.model import pod as pods
from torpor_operator.model.actions import Action, DeletePod, Need, PatchTaskRun, PostEvent
from torpor_operator.model.pod import Pod, name_of
from torpor_operator.model.snapshot import Answer, Pool
from torpor_operator.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunView:
    """A TaskRun as one plan sees it."""

    taskrun: TaskRun
    pods: tuple[Pod, ...]
    unclear: str | None  # the name of a pod that may have been created, or not
    pool: Pool
    known: Mapping[Need, Answer]
    settings: Settings
    now: float
    reads_events: bool = False  # whether the Events of its pod may be read, where that does not start

    @property
    def waits_first(self) -> bool:
        """Whether the TaskRun begins with a wait that has not been left to the triggerer yet."""
        return self.taskrun.spec.trigger is not None and self.taskrun.status.segment == 0

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
    events: tuple[PostEvent, ...] = ()


NOTHING = Step()


def both(one: Step, other: Step) -> Step:
    """Two steps at once."""
    return Step(
        actions=(*one.actions, *other.actions),
        needs=(*one.needs, *other.needs),
        again_at=soonest((one.again_at, other.again_at)),
        wants_pod=one.wants_pod or other.wants_pod,
        events=(*one.events, *other.events),
    )


def soonest(moments: Iterable[float | None]) -> float | None:
    """The first of the moments there are, None where there is none."""
    return min((moment for moment in moments if moment is not None), default=None)


def explain(
    view: TaskRunView, reason: Reason, message: str, again_at: float | None = None, *, renew: bool = False
) -> Step:
    """Say on the object, once, why it does not move; what has ended keeps its last word, and there is the Event.

    `renew`: a message that has changed is written again.
    """
    status = view.taskrun.status
    if status.reason == reason and not (renew and status.message != transitions.shorten(message)):
        return Step(again_at=again_at)
    told = event(view, reason, message)
    if view.taskrun.status.state in TERMINAL:
        return Step(events=(told,), again_at=again_at)
    patch = transitions.explain(view.taskrun.pin(launch=True), reason=reason, message=message)
    return Step(
        actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),),
        events=(told,),
        again_at=again_at,
    )


def node_lost(view: TaskRunView, pod: Pod) -> Step:
    """A pod past its deletion on a node that does not answer may still run a process: nobody else may start."""
    message = lost_with_its_node(view, pod)
    if message is None:
        return Step(again_at=times.epoch(pod.overdue) + view.settings.node_grace if pod.overdue else None)
    return explain(view, Reason.NODE_LOST, message)


def lost_with_its_node(view: TaskRunView, pod: Pod) -> str | None:
    """What is to be said of a pod that should have ended by now; None where it has time, or has ended."""
    return pods.lost_with_its_node(pod, view.now - view.settings.node_grace)


def dismiss(view: TaskRunView, pods: tuple[Pod, ...], *, since: str | None, grace: float) -> Step:
    """Pods that have had their last word linger a moment by themselves; what does not end is deleted, with its log."""
    live = [pod for pod in pods if not pod.terminal and not pod.deleting]
    if not live:
        return NOTHING
    due = (times.epoch(since) if since else view.now) + grace
    if since is not None and view.now < due:
        return Step(again_at=due)
    return Step(actions=tuple(delete(pod) for pod in live))


def fail(view: TaskRunView, reason: Reason, message: str, policy: retry.Policy | None = None) -> Step:
    """End the attempt; `policy` is the TaskRun's own unless a retry cannot help."""
    policy = view.taskrun.spec.retries.policy() if policy is None else policy
    patch = transitions.fail(view.taskrun.pin(launch=True), policy, reason=reason, message=message, now=view.now)
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))


def event(view: TaskRunView, reason: Reason, message: str) -> PostEvent:
    """A warning on the TaskRun, once an attempt and reason."""
    key = f"{view.taskrun.metadata.uid}/{view.taskrun.status.attempt}/{reason}"
    return PostEvent(regarding=view.taskrun, reason=reason, message=message, warning=True, key=key)


def delete(pod: Pod) -> DeletePod:
    """The action that ends a pod."""
    return DeletePod(namespace=pod.namespace, name=pod.name, uid=pod.uid)
