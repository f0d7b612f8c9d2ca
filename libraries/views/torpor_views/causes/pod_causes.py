"""Why the pod of an instance does not run: what its TaskRun says, and what the pod itself says. Pure."""

from dataclasses import replace

from torpor_wire.reason import Reason

from torpor_views import json_fields
from torpor_views.causes import commands, slots
from torpor_views.causes.cause import Cause, CauseKind, Urgency, ago, instance_cause, quoted
from torpor_views.facts import Facts, PodFacts
from torpor_views.model import InstanceView, RunView

STALE = 60.0
"""Seconds after which a step that the operator takes at once is overdue."""
_PULL = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_CONFIG = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_KINDS = {
    Reason.IMAGE_PULL_FAILED: CauseKind.IMAGE_PULL,
    Reason.LAUNCH_FAILED: CauseKind.START_FAILED,
    Reason.UNSCHEDULABLE: CauseKind.UNSCHEDULABLE,
    Reason.MOUNT_FAILED: CauseKind.MOUNT,
    Reason.CLAIM_PENDING: CauseKind.MOUNT,
    Reason.POD_PENDING: CauseKind.POD_PENDING,
    Reason.QUOTA_EXCEEDED: CauseKind.QUOTA,
    Reason.QUEUE_PENDING: CauseKind.QUEUE,
    Reason.NODE_LOST: CauseKind.NODE_LOST,
}

_CHANGES = {
    CauseKind.UNSCHEDULABLE: "; add a node, or change the pod and retry the task: a pod that exists does not change",
    CauseKind.IMAGE_PULL: "; correct the image or pod.imagePullSecrets and retry the task: a TaskRun keeps its image",
}
"""Advice where a change of the Workflow helps only with a retry."""


def of_scheduled(run: RunView, facts: Facts, instance: InstanceView, slot: Cause | None) -> Cause:
    """Return why a Scheduled instance has not started. `slot`: the one that its task waits for."""
    pods = facts.pods_of(instance)
    pod = next((each for each in pods if each.name == instance.pod_name), None)
    former = next((each for each in pods if each.name != instance.pod_name and not each.terminal), None)
    cause = of_pod(run, instance, pod) or (None if former is None else _former(run, instance, former))
    if cause is not None:
        return cause
    if pod is None and slot is not None:
        return slots.of_instance(slot, instance)
    return _starting(run, facts, instance, pod)


def of_pod(run: RunView, instance: InstanceView, pod: PodFacts | None) -> Cause | None:
    """Return what keeps a pod from running, by the reason on the TaskRun or by the pod; None if nothing is known."""
    explained = _explained(run, instance, pod)
    if explained is not None or pod is None:
        return explained
    if pod.deleting is not None and not pod.terminal:
        return _terminating(run, instance, pod)
    if pod.waiting_reason in _PULL:
        detail = f"image {instance.image} cannot be pulled: {quoted(pod.waiting_reason, pod.waiting_message)}"
        return _stuck(run, instance, CauseKind.IMAGE_PULL, detail, pod)
    if pod.waiting_reason in _CONFIG:
        detail = quoted(pod.waiting_reason, pod.waiting_message)
        return _cause(
            run, instance, CauseKind.START_FAILED, f"does not start: its container cannot start: {detail}", pod
        )
    if pod.unschedulable:
        detail = f"no node fits pod {pod.name}: {pod.unschedulable}"
        return _stuck(run, instance, CauseKind.UNSCHEDULABLE, detail, pod)
    return None


def node_lost(run: RunView, instance: InstanceView, pod: PodFacts | None) -> Cause:
    """Return the cause of an instance whose pod is on a node that does not answer."""
    node = pod.node if pod is not None else ""
    where = f"node {node}" if node else "its node"
    detail = f"cannot go on: {where} never confirmed that pod {pod.name if pod else instance.pod_name} ended; "
    detail += f"repair {where}, or delete it if it is gone"
    cause = _cause(run, instance, CauseKind.NODE_LOST, detail, pod)
    return replace(cause, command=commands.delete_node(node))


def _explained(run: RunView, instance: InstanceView, pod: PodFacts | None) -> Cause | None:
    kind = next((kind for reason, kind in _KINDS.items() if reason == instance.reason), None)
    if kind is None:
        return None
    if kind is CauseKind.NODE_LOST:
        return node_lost(run, instance, pod)
    return _stuck(run, instance, kind, json_fields.message_line(instance.message) or instance.reason, pod)


def _stuck(run: RunView, instance: InstanceView, kind: CauseKind, detail: str, pod: PodFacts | None) -> Cause:
    """Return the cause of a pod that does not start. A pod that exists keeps its image and its requests."""
    cause = _cause(run, instance, kind, f"does not start: {detail}{_CHANGES.get(kind, '')}", pod)
    if kind in _CHANGES:
        return replace(cause, command=f"{commands.edit(run)}; {commands.retry(run, instance.ref)}")
    return replace(cause, command=commands.describe(run, "quota")) if kind is CauseKind.QUOTA else cause


def _former(run: RunView, instance: InstanceView, pod: PodFacts) -> Cause:
    """The pod of an earlier segment or attempt has not ended; two never run at a time."""
    if pod.deleting is not None and run.now > pod.deleting + STALE:
        return node_lost(run, instance, pod)
    return _cause(
        run, instance, CauseKind.FORMER_POD, f"starts when its earlier pod {pod.name} has ended", pod, Urgency.WAIT
    )


def _terminating(run: RunView, instance: InstanceView, pod: PodFacts) -> Cause:
    if run.now > (pod.deleting or run.now) + STALE:
        return node_lost(run, instance, pod)
    return _cause(run, instance, CauseKind.FORMER_POD, f"starts again when pod {pod.name} has ended", pod, Urgency.WAIT)


def _starting(run: RunView, facts: Facts, instance: InstanceView, pod: PodFacts | None) -> Cause:
    since = instance.fired_at or instance.retry_at or instance.created
    if pod is not None:
        where = f"on node {pod.node}" if pod.node else "without a node so far"
        urgency = Urgency.ACT if pod.created is not None and run.now > pod.created + STALE else Urgency.WAIT
        detail = f"starts: pod {pod.name} is {pod.phase} {where}{ago(pod.created, run.now)}"
        return _cause(run, instance, CauseKind.POD_STARTING, detail, pod, urgency)
    if facts.pods is None:
        return _cause(
            run, instance, CauseKind.POD_STARTING, f"has been Scheduled{ago(since, run.now)}", None, Urgency.WAIT
        )
    overdue = since is not None and run.now > since + STALE
    detail = "is next: the operator has not created its pod yet"
    urgency, command = (Urgency.ACT, "torpor doctor") if overdue else (Urgency.WAIT, commands.torpor("get", run))
    cause = _cause(run, instance, CauseKind.POD_TO_BE_CREATED, f"{detail}{ago(since, run.now)}", None, urgency)
    return replace(cause, command=command)


def _cause(  # noqa: PLR0913, PLR0917 - the parts of a cause
    run: RunView,
    instance: InstanceView,
    kind: CauseKind,
    detail: str,
    pod: PodFacts | None,
    urgency: Urgency = Urgency.ACT,
) -> Cause:
    described = commands.describe(run, "pod", pod.name if pod is not None else instance.pod_name)
    command = commands.within(instance.message, run.namespace) or described
    cause = instance_cause(instance, kind, urgency, detail, command)
    return replace(cause, since=pod.created if pod is not None else instance.created)
