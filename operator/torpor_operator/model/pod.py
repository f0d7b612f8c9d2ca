"""Task pods as the controller sees them: what decisions need of one, and which TaskRun's segment it is for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor_api.models.taskrun import TaskRun
from torpor_wire import constants, names, times


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """What decisions need to know of a pod; `phase` is the kubelet's."""

    namespace: str
    name: str
    uid: str
    owner_uid: str
    phase: str
    owner_name: str = ""
    created: str = ""
    node: str = ""
    unschedulable: str = ""  # what the scheduler says where it finds no node
    taken_up: str | None = None  # when a kubelet began with it
    deleting: bool = False
    overdue: str | None = None  # when its process must have ended, if it is being deleted
    gates: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    disrupted: bool = False
    waiting_reason: str = ""
    waiting_message: str = ""
    ending: str = ""
    ended_at: float = 0.0  # when its container ended, else when it began or was made; seconds since the epoch
    exit_code: int | None = None
    never_ran: bool = False  # the container's program could not be started
    said: str = ""  # the termination message

    @property
    def gated(self) -> bool:
        """Whether it waits for the operator's claim."""
        return constants.POD_GATE in self.gates

    @property
    def held(self) -> bool:
        """Whether it is kept until its outcome is stored."""
        return constants.POD_FINALIZER in self.finalizers

    @property
    def terminal(self) -> bool:
        """Whether no process of it runs, or will."""
        return self.phase in {"Succeeded", "Failed"}


def parse(body: Mapping[str, Any]) -> Pod:
    """A Pod from the API server's JSON."""
    metadata, status = body["metadata"], body.get("status", {})
    owner: Mapping[str, Any] = next((ref for ref in metadata.get("ownerReferences", []) if ref.get("controller")), {})
    container: Mapping[str, Any] = next(iter(status.get("containerStatuses", [])), {})
    terminated: Mapping[str, Any] = container.get("state", {}).get("terminated") or {}
    waiting = container.get("state", {}).get("waiting") or {}
    conditions = {entry["type"]: entry["status"] for entry in status.get("conditions", [])}
    spec = body.get("spec", {})
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=owner.get("uid", ""),
        owner_name=owner.get("name", ""),
        phase=status.get("phase", "Pending"),
        created=metadata.get("creationTimestamp", ""),
        node=spec.get("nodeName") or "",
        unschedulable=_unschedulable(status),
        taken_up=status.get("startTime"),
        deleting="deletionTimestamp" in metadata,
        overdue=metadata.get("deletionTimestamp"),
        gates=tuple(gate["name"] for gate in spec.get("schedulingGates", [])),
        finalizers=tuple(metadata.get("finalizers", [])),
        disrupted=conditions.get("DisruptionTarget") == "True" or status.get("reason") in {"Evicted", "Preempting"},
        waiting_reason=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        ending=_ending(status, terminated),
        ended_at=_moment(terminated.get("finishedAt") or status.get("startTime") or metadata.get("creationTimestamp")),
        exit_code=terminated.get("exitCode"),
        never_ran=terminated.get("reason") in {"StartError", "ContainerCannotRun"},
        said=str(terminated.get("message") or ""),
    )


def owners(pod: Pod) -> tuple[str, ...]:
    """The index of the pods' store: the uid of the TaskRun."""
    return (pod.owner_uid,)


def name_of(taskrun: TaskRun) -> str:
    """The name of the pod that runs the TaskRun's present attempt, segment and launch."""
    status = taskrun.status
    return names.pod(taskrun.metadata.name, status.attempt, status.segment, status.launch)


def _moment(text: object) -> float:
    """The moment, 0 for what is none: whoever may write the pod's status may write anything there."""
    try:
        return times.epoch(str(text))
    except ValueError:
        return 0.0


def _unschedulable(status: Mapping[str, Any]) -> str:
    found = (entry for entry in status.get("conditions", []) if entry["type"] == "PodScheduled")
    for entry in found:
        if entry["status"] == "False" and entry.get("reason") == "Unschedulable":
            return str(entry.get("message") or "the scheduler does not say why")
    return ""


def _ending(status: Mapping[str, Any], terminated: Mapping[str, Any]) -> str:
    """How the container ended, in words a person can act on; empty while it has not."""
    if not terminated:
        return str(status.get("message") or status.get("reason") or "")
    why = f"{terminated.get('reason', 'exited')}, exit code {terminated.get('exitCode')}"
    said = str(terminated.get("message") or "").strip()
    what = f"{why}: {said[-600:]}" if said else why
    return f"{what}; out of memory: raise pod.resources.limits.memory" if _out_of_memory(terminated) else what


def _out_of_memory(terminated: Mapping[str, Any]) -> bool:
    return bool(terminated.get("reason") == "OOMKilled")


def lost_with_its_node(pod: Pod, since: float) -> str | None:
    """What is to be said of a pod that was to end before `since` (seconds since the epoch) and did not, or None."""
    if pod.terminal or pod.overdue is None or since < times.epoch(pod.overdue):
        return None
    message = f"pod {pod.name} was to end at {pod.overdue}, and its node does not say that it did"
    return f"{message}: mend or delete the node"
