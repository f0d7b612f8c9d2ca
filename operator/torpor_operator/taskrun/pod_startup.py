"""A pod that is there and has not begun: what keeps it from starting, and when to say so on its TaskRun. Pure.

A healthy pod starts within seconds, and nothing is written for it. What the scheduler and the kubelet say of any other
stands in its conditions and container status; of a volume that cannot be mounted they speak in Events alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from torpor_wire import times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.model.actions import PatchTaskRun, ReadPodWarning
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import PodWarning
from torpor_operator.taskrun import step as steps
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, soonest

READERS = 2
"""Pods of a run whose Events are read at a time: a list of Events costs the API server more than all else here."""
_LONG = 60.0
_LOOKS = 6
"""Looks at the Events of a pod at growing distances (5, 10, 20, ... seconds), then one every five minutes."""
_LATER = 300.0
_MOUNTS = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})
SAID = frozenset({Reason.UNSCHEDULABLE, Reason.MOUNT_FAILED, Reason.POD_PENDING, Reason.QUOTA_EXCEEDED})
"""Reasons that say why a pod has not begun, and that mean nothing once it has."""


@dataclass(frozen=True, slots=True)
class _Trouble:
    reason: Reason
    message: str


def step(view: TaskRunView, pod: Pod) -> Step:
    """What is to be said of a pod that has not ended; what was said of it is taken back when it goes on."""
    if pod.phase != "Pending":
        return _taken_back(view) if view.taskrun.status.state is State.RUNNING else NOTHING
    due = _since(view, pod) + view.settings.start_grace
    if view.now < due:
        return Step(again_at=due)
    looked = _look(view, pod) if _in_creation(pod) else NOTHING
    if looked.needs:
        return looked
    trouble = _trouble(view, pod)
    if trouble is not None:
        said = steps.explain(view, trouble.reason, trouble.message, renew=True)
        return Step(actions=said.actions, events=said.events, again_at=looked.again_at)
    taken_back = _taken_back(view)
    long = _since(view, pod) + _LONG
    return Step(actions=taken_back.actions, again_at=soonest([looked.again_at, long if view.now < long else None]))


def readers(views: Iterable[TaskRunView]) -> frozenset[str]:
    """The uids of the TaskRuns whose pods' Events may be read in this plan: the first by name."""
    slow = (view for view in views if (pod := view.current_pod) is not None and _in_creation(pod))
    late = (view for view in slow if _elapsed(view) >= view.settings.start_grace)
    return frozenset(view.taskrun.metadata.uid for view in sorted(late, key=_name)[:READERS])


def _name(view: TaskRunView) -> str:
    return view.taskrun.metadata.name


def _elapsed(view: TaskRunView) -> float:
    pod = view.current_pod
    return 0.0 if pod is None else view.now - _since(view, pod)


def _since(view: TaskRunView, pod: Pod) -> float:
    """When its start began: when a kubelet took it up, else when it was made."""
    moment = pod.taken_up or pod.created
    return times.epoch(moment) if moment else view.now


def _in_creation(pod: Pod) -> bool:
    """Whether a node has it, and its container neither runs nor says why not."""
    return pod.phase == "Pending" and bool(pod.node) and pod.waiting_reason in {"", "ContainerCreating"}


def _trouble(view: TaskRunView, pod: Pod) -> _Trouble | None:
    if pod.unschedulable:
        return _Trouble(Reason.UNSCHEDULABLE, f"no node takes pod {pod.name}: {pod.unschedulable}")
    match view.known.get(_asked(view, pod)):
        case PodWarning(reason=reason, message=message) if reason:
            said = Reason.MOUNT_FAILED if reason in _MOUNTS else Reason.POD_PENDING
            return _Trouble(said, f"pod {pod.name} cannot start: {reason}: {message}")
        case _:
            return _long_pending(view, pod)


def _long_pending(view: TaskRunView, pod: Pod) -> _Trouble | None:
    """Nobody says why it does not start: that it does not is worth a word after a minute."""
    if view.now < _since(view, pod) + _LONG:
        return None
    where = f"on node {pod.node}" if pod.node else "without a node"
    why = f" ({pod.waiting_reason})" if pod.waiting_reason else ""
    show = f"kubectl -n {pod.namespace} describe pod {pod.name}"
    since = pod.taken_up or pod.created
    return _Trouble(Reason.POD_PENDING, f"pod {pod.name} is Pending {where}{why} since {since}: {show}")


def _look(view: TaskRunView, pod: Pod) -> Step:
    """Reads the Events of a pod that says nothing itself; without an answer to the present look, nothing else."""
    _, next_at = _number(view, pod)
    if not view.reads_events:
        return Step(again_at=next_at)
    asked = _asked(view, pod)
    return Step(needs=() if asked in view.known else (asked,), again_at=next_at)


def _asked(view: TaskRunView, pod: Pod) -> ReadPodWarning:
    return ReadPodWarning(pod.namespace, pod.uid, _number(view, pod)[0])


def _number(view: TaskRunView, pod: Pod) -> tuple[int, float]:
    """The number of the present look, and when the next one is."""
    first, since = view.settings.start_grace, _since(view, pod)
    elapsed = view.now - since
    for number in range(_LOOKS):
        ends = first * 2 ** (number + 1)
        if elapsed < ends:
            return number, since + ends
    regular = first * 2**_LOOKS
    number = int((elapsed - regular) // _LATER)
    return _LOOKS + number, since + regular + (number + 1) * _LATER


def _taken_back(view: TaskRunView) -> Step:
    if view.taskrun.status.reason not in SAID:
        return NOTHING
    return Step(
        actions=(PatchTaskRun(taskrun=view.taskrun, patch=transitions.unexplain(view.taskrun.pin(launch=True))),)
    )
