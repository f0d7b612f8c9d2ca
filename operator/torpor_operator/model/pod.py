"""What decisions need to know of a task's pod, read from the API server's JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_crds.models.taskrun import TaskRun
from torpor_wire import constants, names, times

MAIN = "main"
"""The container of the task."""
RESERVED = "torpor-"
"""How names of containers and volumes of Torpor begin."""
RUNTIME_CONTAINER = "torpor-runtime"
"""The init container that copies the runtime into a pod."""
FILES_CONTAINER = "torpor-files"
"""The init container that fetches the input files of a task."""
CREDENTIALS_VOLUME = "torpor-credentials"
FILES_VOLUME = "torpor-files"
"""The volume of the inputs that an init container fetches."""
INPUT_VOLUME = "torpor-input-"
"""Begins the name of the volume of an input that the kubelet mounts."""
_INITIALIZING = frozenset({"", "PodInitializing", "ContainerCreating"})
_MESSAGE_MAX = 4096
_MESSAGES_MAX = 12 * 1024
"""Bytes of the termination messages of a pod. The kubelet gives each of its containers an equal share."""
_STOPPED_BY_KUEUE = "TerminationTarget"
_MESSAGE_TAIL = 600
"""Characters of a termination message that an end message quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod. Times are RFC 3339 texts as in the object, except `ended_at`."""

    namespace: str
    name: str
    uid: str
    owner_uid: str
    phase: str
    owner_name: str = ""
    created: str = ""
    node: str = ""
    unschedulable: str = ""  # the scheduler's message where no node fits
    start_time: str | None = None  # when a kubelet accepted it
    deleting: bool = False
    deletion_timestamp: str | None = None  # when its process must have ended, if it is being deleted
    deleted_at: float | None = None  # when its deletion was requested; seconds since the epoch
    claims: tuple[str, ...] = ()  # the PersistentVolumeClaims that it mounts
    gates: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    disrupted: bool = False
    preempted: bool = False  # by Kueue, which needs its quota
    container: str = ""  # the other container that the following describes, which cannot start or has failed
    initializing: str = ""  # the container that must end, or become ready, before the next one starts
    runs_init: bool = False  # whether that one is an init container of the author that runs
    waiting_reason: str = ""
    waiting_message: str = ""
    end_message: str = ""
    ended_at: float = 0.0  # end of the container, else start or creation of the pod; seconds since the epoch
    exit_code: int | None = None
    failed_to_start: bool = False  # the container's program could not be started
    exited: bool = False  # the program itself ended its process, with any exit code
    termination_message: str = ""
    message_max: int = _MESSAGE_MAX  # bytes at which the kubelet cuts a termination message
    init_messages: tuple[tuple[str, str], ...] = ()  # termination messages of init containers that ended well, by name
    outcome_nonce: str = ""  # which each outcome document of its program contains

    @property
    def of_runtime(self) -> bool:
        """Whether an init container of Torpor cannot start or has failed."""
        return self.container in {RUNTIME_CONTAINER, FILES_CONTAINER}

    @property
    def of_files(self) -> bool:
        """Whether it is the init container that fetches files."""
        return self.container == FILES_CONTAINER

    @property
    def gated(self) -> bool:
        """Whether it waits for the operator's claim."""
        return constants.POD_GATE in self.gates

    @property
    def awaits_quota(self) -> bool:
        """Whether it waits for quota of its queue of Kueue."""
        return constants.QUEUE_GATE in self.gates

    @property
    def has_finalizer(self) -> bool:
        """Whether it is kept until its outcome is stored."""
        return constants.POD_FINALIZER in self.finalizers

    @property
    def stopped_by_deletion(self) -> bool:
        """Whether its container ended after its deletion was requested, so that its exit code is that of a stop."""
        return self.deleted_at is not None and self.ended_at >= self.deleted_at

    @property
    def terminal(self) -> bool:
        """Whether no process of it runs or will run."""
        return self.phase in {"Succeeded", "Failed"}


def parse_pod(body: Mapping[str, Any]) -> Pod:
    """A Pod from the API server's JSON."""
    metadata, status = body["metadata"], body.get("status", {})
    owner: Mapping[str, Any] = next((ref for ref in metadata.get("ownerReferences", []) if ref.get("controller")), {})
    spec = body.get("spec", {})
    other = _failing_other(status, _sidecar_names(spec))
    container: Mapping[str, Any] = other or _main_status(status)
    initializing = {} if container.get("state", {}).get("running") else _initializing(status, _sidecar_names(spec))
    terminated: Mapping[str, Any] = container.get("state", {}).get("terminated") or {}
    waiting = container.get("state", {}).get("waiting") or {}
    conditions = {entry["type"]: entry["status"] for entry in status.get("conditions", [])}
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
        start_time=status.get("startTime"),
        deleting="deletionTimestamp" in metadata,
        deletion_timestamp=metadata.get("deletionTimestamp"),
        deleted_at=_deleted_at(metadata),
        claims=_claims(spec),
        gates=tuple(gate["name"] for gate in spec.get("schedulingGates", [])),
        finalizers=tuple(metadata.get("finalizers", [])),
        disrupted=_is_disrupted(conditions, status),
        preempted=conditions.get(_STOPPED_BY_KUEUE) == "True",
        container=str(other.get("name") or "") if other is not None else "",
        initializing=str(initializing.get("name") or ""),
        runs_init=_runs_init(initializing, _sidecar_names(spec)),
        waiting_reason=waiting.get("reason", ""),
        waiting_message=_waiting_message(container, waiting),
        end_message=_end_message(status, terminated),
        ended_at=_epoch(terminated.get("finishedAt") or status.get("startTime") or metadata.get("creationTimestamp")),
        exit_code=terminated.get("exitCode"),
        failed_to_start=terminated.get("reason") in {"StartError", "ContainerCannotRun"},
        exited=terminated.get("reason") in {"Completed", "Error"},
        termination_message=str(terminated.get("message") or ""),
        message_max=min(_MESSAGE_MAX, _MESSAGES_MAX // max(_count(spec), 1)),
        init_messages=_init_messages(status, _sidecar_names(spec)),
        outcome_nonce=metadata.get("annotations", {}).get(constants.OUTCOME_NONCE, ""),
    )


def _is_disrupted(conditions: Mapping[str, str], status: Mapping[str, Any]) -> bool:
    """Whether the cluster ended the pod, and not its program."""
    ended = any(conditions.get(condition) == "True" for condition in ("DisruptionTarget", _STOPPED_BY_KUEUE))
    return ended or status.get("reason") in {"Evicted", "Preempting"}


def _waiting_message(container: Mapping[str, Any], waiting: Mapping[str, Any]) -> str:
    """Why the container waits; for one that restarts, also how its program last ended."""
    message: str = waiting.get("message", "")
    last = container.get("lastState", {}).get("terminated") or {}
    return f"{message} (last {_end_message({}, last)})" if last else message


def _sidecar_names(spec: Mapping[str, Any]) -> frozenset[str]:
    """The init containers that restart: they run beside the task and never end before it."""
    return frozenset(each["name"] for each in spec.get("initContainers", []) if each.get("restartPolicy") == "Always")


def _count(spec: Mapping[str, Any]) -> int:
    return sum(len(spec.get(kind) or ()) for kind in ("containers", "initContainers", "ephemeralContainers"))


def _init_messages(status: Mapping[str, Any], sidecars: frozenset[str]) -> tuple[tuple[str, str], ...]:
    ended = (
        (str(each.get("name")), each.get("state", {}).get("terminated") or {})
        for each in status.get("initContainerStatuses", [])
        if each.get("name") not in sidecars
    )
    return tuple((name, str(end["message"])) for name, end in ended if end.get("message") and not end.get("exitCode"))


def _main_status(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status of the container of the task, which is the only one unless something else adds containers."""
    statuses: list[Mapping[str, Any]] = status.get("containerStatuses", [])
    return next((each for each in statuses if each.get("name") == MAIN), next(iter(statuses), {}))


def _failing_other(status: Mapping[str, Any], sidecars: frozenset[str]) -> Mapping[str, Any] | None:
    """The status of the first other container that fails or cannot start, which keeps the task from starting."""
    if {"running", "terminated"} & _main_status(status).get("state", {}).keys():
        return None
    statuses: list[Mapping[str, Any]] = status.get("initContainerStatuses", [])
    for number, container in enumerate(statuses):
        state, is_sidecar = container.get("state", {}), container.get("name") in sidecars
        if is_sidecar and _has_begun(statuses[number + 1 :], sidecars):
            continue
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        failed = terminated.get("exitCode", 0) != 0 and not is_sidecar
        if failed or waiting.get("reason", "") not in _INITIALIZING:
            return container
    return None


def _has_begun(statuses: Sequence[Mapping[str, Any]], sidecars: frozenset[str]) -> bool:
    """Whether an init container of these has begun, such as a step: a sidecar before it keeps nothing back."""
    others = (each.get("state", {}) for each in statuses if each.get("name") not in sidecars)
    return any({"running", "terminated"} & state.keys() for state in others)


def _initializing(status: Mapping[str, Any], sidecars: frozenset[str]) -> Mapping[str, Any]:
    """The status of the first init container that has not ended, or sidecar that is not ready; else empty."""
    statuses: list[Mapping[str, Any]] = status.get("initContainerStatuses", [])
    for number, container in enumerate(statuses):
        is_sidecar = container.get("name") in sidecars
        begun = container.get("started") or _has_begun(statuses[number + 1 :], sidecars)
        done = begun if is_sidecar else "terminated" in container.get("state", {})
        if not done:
            return container
    return {}


def _runs_init(initializing: Mapping[str, Any], sidecars: frozenset[str]) -> bool:
    name, state = initializing.get("name"), initializing.get("state", {})
    return "running" in state and name not in sidecars and name != RUNTIME_CONTAINER


def _claims(spec: Mapping[str, Any]) -> tuple[str, ...]:
    mounted = ((volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in spec.get("volumes") or ())
    return tuple(filter(None, mounted))


def owner_uids(pod: Pod) -> tuple[str, ...]:
    """The index of the pod cache: the uid of the TaskRun."""
    return (pod.owner_uid,)


def pod_name(taskrun: TaskRun) -> str:
    """The name of the pod that runs the TaskRun's present attempt, segment and launch."""
    status = taskrun.status
    return names.pod(taskrun.metadata.name, status.attempt, status.segment, status.launch)


def node_lost_message(pod: Pod, before: float) -> str | None:
    """The message for a pod that should have terminated `before` a moment (seconds since the epoch) and has not."""
    if pod.terminal or pod.deletion_timestamp is None or before < times.epoch(pod.deletion_timestamp):
        return None
    return (
        f"pod {pod.name} should have terminated by {pod.deletion_timestamp}; its node never confirmed termination: "
        "repair or delete the node"
    )


def _deleted_at(metadata: Mapping[str, Any]) -> float | None:
    """When the deletion was requested: the API server adds the grace period to it."""
    end = metadata.get("deletionTimestamp")
    return None if end is None else _epoch(end) - (metadata.get("deletionGracePeriodSeconds") or 0)


def _epoch(text: object) -> float:
    """Seconds since the epoch; 0 for a text that is no time, since any client may write the status of a pod."""
    try:
        return times.epoch(str(text))
    except ValueError:
        return 0.0


def _unschedulable(status: Mapping[str, Any]) -> str:
    scheduled = (entry for entry in status.get("conditions", []) if entry["type"] == "PodScheduled")
    for entry in scheduled:
        if entry["status"] == "False" and entry.get("reason") == "Unschedulable":
            return str(entry.get("message") or "the scheduler gives no cause")
    return ""


def _end_message(status: Mapping[str, Any], terminated: Mapping[str, Any]) -> str:
    """How the container ended, for a user; empty while it runs."""
    if not terminated:
        return str(status.get("message") or status.get("reason") or "")
    cause = f"{terminated.get('reason', 'exited')}, exit code {terminated.get('exitCode')}"
    output = str(terminated.get("message") or "").strip()
    message = f"{cause}: {output[-_MESSAGE_TAIL:]}" if output else cause
    out_of_memory = terminated.get("reason") == "OOMKilled"
    return f"{message}; out of memory: raise pod.resources.limits.memory" if out_of_memory else message
