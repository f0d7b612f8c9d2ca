"""A pod that does not start: what keeps it from starting, and when to write that to its TaskRun. Pure.

A healthy pod starts within seconds, and nothing is written for it. The scheduler and the kubelet explain most failures
in the pod's conditions and container status; a volume that cannot be mounted appears only in Events.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from torpor_crds.models.pod_fields import PodFields
from torpor_wire import retry, times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator import pod_security
from torpor_operator.model.actions import PatchTaskRun, ReadClaimWarning, ReadNamespace, ReadPodWarning
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import NamespaceFacts, PodWarning
from torpor_operator.pod_security import PodSecurityLevel
from torpor_operator.taskrun import runtime_volume, step
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, earliest

READERS = 2
"""Pods of a run whose Events are read at a time: no other request here costs the API server more."""
_LONG_PENDING = 60.0
_EARLY_READS = 6
"""Reads of a pod's Events after 5, 10, 20, ... seconds; then one every five minutes."""
_LATER_READS = 300.0
_MOUNTS = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})
_UNHEALTHY = "Unhealthy"
"""Reason of the Event of a probe that fails: of a sidecar, while the pod starts."""
_VOLUMES = re.compile(r"persistent ?volume", re.IGNORECASE)
_EXPLANATIONS = frozenset(
    {
        Reason.UNSCHEDULABLE,
        Reason.MOUNT_FAILED,
        Reason.CLAIM_PENDING,
        Reason.POD_PENDING,
        Reason.QUOTA_EXCEEDED,
        Reason.QUEUE_PENDING,
    }
)
"""Reasons why a pod has not started; they are removed once it has."""


@dataclass(frozen=True, slots=True)
class _Cause:
    reason: Reason
    message: str


def refusal(view: TaskRunView, chosen: PodFields) -> Step | None:
    """The step of a TaskRun whose pod has more privileges than its namespace allows; None if its pod is created.

    The admission policy refuses them at the Workflow, and Kubernetes at the pod. But Kubernetes allows everything in a
    namespace without a level, where no administrator has chosen one (ADR 0057). Only privileges cost a read.
    """
    if all(each.level is PodSecurityLevel.RESTRICTED for each in pod_security.requirements(chosen)):
        return None
    need = ReadNamespace(view.taskrun.metadata.namespace)
    facts = view.known.get(need)
    if not isinstance(facts, NamespaceFacts):
        return Step(needs=(need,))
    message = pod_security.pod_refusal(chosen, need.name, facts.level)
    return step.fail(view, Reason.LAUNCH_FAILED, message, retry.Policy()) if message else None


def next_step(view: TaskRunView, pod: Pod) -> Step:
    """Explain a pod that does not start; remove the explanation once it has."""
    if pod.phase != "Pending" or pod.runs_init:
        return _unexplain(view) if view.taskrun.status.state is State.RUNNING else NOTHING
    due = _since(view, pod) + view.settings.start_grace
    if view.now < due:
        return Step(again_at=due)
    read = _read_events(view, pod) if _is_read(pod) else NOTHING
    if read.needs:
        return read
    cause = _cause(view, pod)
    if cause is not None:
        explained = step.explain(view, cause.reason, cause.message, renew=True)
        return Step(actions=explained.actions, events=explained.events, again_at=read.again_at)
    long_pending_at = _since(view, pod) + _LONG_PENDING
    return Step(
        actions=_unexplain(view).actions,
        again_at=earliest([read.again_at, long_pending_at if view.now < long_pending_at else None]),
    )


def readers(views: Iterable[TaskRunView]) -> frozenset[str]:
    """The uids of the TaskRuns whose pods' Events may be read in this plan: the first by name."""
    creating = (view for view in views if (pod := view.current_pod) is not None and _is_read(pod))
    late = (view for view in creating if _elapsed(view) >= view.settings.start_grace)
    return frozenset(view.taskrun.metadata.uid for view in sorted(late, key=_name)[:READERS])


def _name(view: TaskRunView) -> str:
    return view.taskrun.metadata.name


def _elapsed(view: TaskRunView) -> float:
    pod = view.current_pod
    return 0.0 if pod is None else view.now - _since(view, pod)


def _since(view: TaskRunView, pod: Pod) -> float:
    """When its start began: when a kubelet accepted it, else its creation."""
    moment = pod.start_time or pod.created
    return times.epoch(moment) if moment else view.now


def _is_creating(pod: Pod) -> bool:
    """Whether it is on a node, and its container neither runs nor has a reason for waiting."""
    return (
        pod.phase == "Pending"
        and not pod.runs_init
        and bool(pod.node)
        and pod.waiting_reason in {"", "ContainerCreating", "PodInitializing"}
    )


def _is_read(pod: Pod) -> bool:
    """Whether Events can explain why it does not start: its own, or those of its claims."""
    return _is_creating(pod) or _waits_for_claims(pod)


def _waits_for_claims(pod: Pod) -> bool:
    """Whether it has no node, and the scheduler names its volumes as the cause."""
    return bool(pod.claims) and _VOLUMES.search(pod.unschedulable) is not None


def _cause(view: TaskRunView, pod: Pod) -> _Cause | None:
    if pod.awaits_quota:
        return _Cause(Reason.QUEUE_PENDING, _queue_message(view, pod))
    if _waits_for_claims(pod):
        match view.known.get(_event_read(view, pod)):
            case PodWarning(reason=reason, message=message) if reason:
                return _Cause(Reason.CLAIM_PENDING, f"pod {pod.name} waits for a volume: {message}")
    if pod.unschedulable:
        return _Cause(Reason.UNSCHEDULABLE, f"no node fits pod {pod.name}: {pod.unschedulable}")
    match view.known.get(_event_read(view, pod)):
        case PodWarning(reason=reason, message=message) if reason:
            mount = reason in _MOUNTS
            named = f"container {pod.initializing}: " if reason == _UNHEALTHY and pod.initializing else ""
            return _Cause(
                Reason.MOUNT_FAILED if mount else Reason.POD_PENDING,
                f"pod {pod.name} cannot start: {named}{reason}: {message}{_advice(view, message)}",
            )
        case _:
            return _long_pending(view, pod)


def _queue_message(view: TaskRunView, pod: Pod) -> str:
    """What a pod waits for that Kueue holds. A queue that does not exist has no quota either."""
    namespace = view.taskrun.metadata.namespace
    queue = view.taskrun.spec.queue
    named = "the default queue" if queue is None else f"queue {queue}"
    command = f"kubectl get localqueues,workloads -n {namespace}"
    return f"pod {pod.name} waits for quota of {named} (Kueue): {command}"


def _advice(view: TaskRunView, message: str) -> str:
    """What to do about files of `source` that cannot be mounted; empty for any other volume."""
    source, namespace = view.taskrun.spec.source, view.taskrun.metadata.namespace
    if source is None or f'"{runtime_volume.SOURCE}"' not in message:
        return ""
    name = source.config_map
    create = f"kubectl -n {namespace} create configmap {name} --from-file=FILE.py"
    return f": source names the ConfigMap {name}; if it does not exist, create it, and the pod starts: {create}"


def _long_pending(view: TaskRunView, pod: Pod) -> _Cause | None:
    """Report a pod that does not start for an unknown cause, after a minute."""
    if view.now < _since(view, pod) + _LONG_PENDING:
        return None
    where = f"on node {pod.node}" if pod.node else "without a node"
    waits = f"container {pod.initializing} has not started, or is not ready" if pod.initializing else ""
    why = f" ({waits or pod.waiting_reason})" if waits or pod.waiting_reason else ""
    command = f"kubectl -n {pod.namespace} describe pod {pod.name}"
    since = pod.start_time or pod.created
    return _Cause(Reason.POD_PENDING, f"pod {pod.name} is Pending {where}{why} since {since}: {command}")


def _read_events(view: TaskRunView, pod: Pod) -> Step:
    """Read the Events of a pod whose status does not explain it; until they are known, do nothing else."""
    _, next_at = _read_number(view, pod)
    if not view.reads_events:
        return Step(again_at=next_at)
    need = _event_read(view, pod)
    return Step(needs=() if need in view.known else (need,), again_at=next_at)


def _event_read(view: TaskRunView, pod: Pod) -> ReadPodWarning | ReadClaimWarning:
    number = _read_number(view, pod)[0]
    if _waits_for_claims(pod):
        return ReadClaimWarning(pod.namespace, pod.claims, number)
    return ReadPodWarning(pod.namespace, pod.uid, number)


def _read_number(view: TaskRunView, pod: Pod) -> tuple[int, float]:
    """The number of the read that is due, and when the next one is."""
    first, since = view.settings.start_grace, _since(view, pod)
    elapsed = view.now - since
    for number in range(_EARLY_READS):
        until = first * 2 ** (number + 1)
        if elapsed < until:
            return number, since + until
    regular = first * 2**_EARLY_READS
    number = int((elapsed - regular) // _LATER_READS)
    return _EARLY_READS + number, since + regular + (number + 1) * _LATER_READS


def _unexplain(view: TaskRunView) -> Step:
    if view.taskrun.status.reason not in _EXPLANATIONS:
        return NOTHING
    patch = transitions.unexplain(view.taskrun.pin(launch=True))
    return Step(actions=(PatchTaskRun(taskrun=view.taskrun, patch=patch),))
