"""What the archive reads of a task's pod and TaskRun: whose log it is, and whether and how the pod ended. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from torpor_wire import constants, names
from torpor_wire.enums import LogKind, LogMode

from torpor_archive.storage.log_entry import MAIN, LogOrigin, LogOutcome, LogState

_OTHERS_MAX = 48
_OWN = "torpor-"
"""How names of containers of Torpor begin."""
_INDEX = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,5}")
_ENDED = frozenset({"Succeeded", "Failed"})
_STATUSES = ("initContainerStatuses", "containerStatuses")
_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun"})
_UNKNOWN = "ContainerStatusUnknown"


class LogStage(Enum):
    """What the archive does with the log of a pod."""

    WAIT = "wait"
    """The pod runs, or will."""
    FOLLOW = "follow"
    """The pod is being deleted: the log is read until it ends."""
    READ = "read"
    """The pod has ended."""
    EMPTY = "empty"
    """The container never started, so there is no log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedPod:
    """One pod, and how one of its containers ended. `workflow` is the uid of its run; empty for an older operator.

    `others` are its other containers whose logs are kept, each as a pod of that container.
    """

    namespace: str
    name: str
    uid: str
    taskrun: str
    workflow: str
    task: str
    path: tuple[int, ...]
    mode: LogMode
    ended: bool
    deleting: bool
    node: str
    has_started: bool
    exit_code: int | None
    reason: str
    message: str
    started_at: str
    ended_at: str
    created_at: str = ""
    container: str = MAIN
    others: "tuple[LoggedPod, ...]" = ()

    @property
    def stage(self) -> LogStage:
        """What to do with its log now."""
        if not (self.ended or self.deleting):
            return LogStage.WAIT
        if not self.node or (self.ended and not self.has_started):
            return LogStage.EMPTY
        # A container may have started of which the status does not say so yet.
        return LogStage.READ if self.ended else LogStage.FOLLOW

    @property
    def is_unknown(self) -> bool:
        """Whether the node could not find the container when the pod ended."""
        return self.reason == _UNKNOWN

    @property
    def failed(self) -> bool:
        """Whether it did not end with exit code 0."""
        return self.exit_code != 0

    @property
    def is_wanted(self) -> bool:
        """Whether its log is kept, as far as is known: that of a pod that still runs may be."""
        is_open = self.exit_code is None and self.mode is not LogMode.NONE
        return is_open or self.mode.keeps(failed=self.failed)

    def source(self) -> LogOrigin:
        """The entry that it belongs to."""
        attempt, segment, launch = names.pod_numbers(self.name) or (0, 0, 0)
        return LogOrigin(
            id=self.uid if self.container == MAIN else f"{self.uid}.{self.container}",
            namespace=self.namespace,
            workflow=self.workflow,
            taskrun=self.taskrun,
            task=self.task,
            path=self.path,
            attempt=attempt,
            segment=segment,
            launch=launch,
            kind=LogKind.POD,
            pod=self.name,
            node=self.node,
            started=self.started_at,
            container=self.container,
        )

    def outcome(self, state: LogState = LogState.KEPT, *, reason: str = "", message: str = "") -> LogOutcome:
        """What became of its log; a kept one has the reason and message of its container."""
        return LogOutcome(
            state=state,
            reason=reason or self.reason,
            message=message or self.message,
            failed=self.failed,
            ended=self.ended_at,
        )


def parse(body: Mapping[str, Any]) -> LoggedPod:
    """Read a pod from the API server's JSON. Raises ValueError, KeyError or TypeError for an invalid one."""
    metadata, status, spec = body["metadata"], body.get("status") or {}, body.get("spec") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    owner: Mapping[str, Any] = next((ref for ref in metadata.get("ownerReferences") or () if ref.get("controller")), {})
    statuses = [each for kind in _STATUSES for each in status.get(kind) or ()]
    state = next((each.get("state") for each in statuses if each.get("name") == MAIN), None) or {}
    terminated: Mapping[str, Any] = state.get("terminated") or {}
    reason, message = _end(status, state)
    pod = LoggedPod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        taskrun=str(owner.get("name") or ""),
        workflow=str(labels.get(constants.LABEL_WORKFLOW_UID) or ""),
        task=str(labels.get(constants.LABEL_TASK) or ""),
        path=_path(str(labels.get(constants.LABEL_INDEX) or "")),
        mode=LogMode.parse(annotations.get(constants.LOGS)),
        ended=status.get("phase") in _ENDED,
        deleting="deletionTimestamp" in metadata,
        node=str(spec.get("nodeName") or ""),
        has_started=_has_started(status, state, terminated),
        exit_code=terminated.get("exitCode"),
        reason=reason,
        message=message,
        started_at=str(
            terminated.get("startedAt")
            or (state.get("running") or {}).get("startedAt")
            or status.get("startTime")
            or metadata.get("creationTimestamp")
            or ""
        ),
        created_at=str(metadata.get("creationTimestamp") or ""),
        ended_at=str(terminated.get("finishedAt") or metadata.get("deletionTimestamp") or ""),
    )
    named = str(annotations.get(constants.CONTAINERS) or "").split(",")[:_OTHERS_MAX]
    others = (_other(pod, each) for each in statuses if each.get("name") in named or _is_failed_own(each))
    return replace(pod, others=tuple(others))


def _other(pod: LoggedPod, entry: Mapping[str, Any]) -> LoggedPod:
    """The pod as another container of it, whose end is no end of an attempt."""
    state, last = entry.get("state") or {}, (entry.get("lastState") or {}).get("terminated")
    if "waiting" in state and last:  # it restarts: its log is that of its last run
        state = {"terminated": last}
    terminated: Mapping[str, Any] = state.get("terminated") or {}
    started = terminated.get("startedAt") or (state.get("running") or {}).get("startedAt")
    reason, message = _end({}, state)
    return replace(
        pod,
        container=str(entry["name"]),
        ended=bool(terminated),
        deleting=False,
        has_started=bool(started) and terminated.get("reason") not in _NOT_STARTED,
        reason=reason,
        message=message,
        started_at=str(started or pod.started_at),
        ended_at=str(terminated.get("finishedAt") or pod.ended_at),
    )


def _is_failed_own(entry: Mapping[str, Any]) -> bool:
    """Whether it is an init container of Torpor that failed: its log says why."""
    ended = (entry.get("state") or {}).get("terminated") or {}
    return str(entry.get("name")).startswith(_OWN) and ended.get("exitCode", 0) != 0


def _path(label: str) -> tuple[int, ...]:
    """The indexes in a label such as `0.2`; none for `unmapped`."""
    return tuple(map(int, label.split("."))) if _INDEX.fullmatch(label) else ()


def _has_started(status: Mapping[str, Any], state: Mapping[str, Any], terminated: Mapping[str, Any]) -> bool:
    """Whether there may be a log; so there may if a node that was lost could not say how the container ended."""
    if terminated.get("reason") in _NOT_STARTED:
        return False
    is_unknown = terminated.get("reason") == _UNKNOWN or not (state or status.get("phase") not in _ENDED)
    return bool(terminated.get("startedAt")) or "running" in state or is_unknown


def _end(status: Mapping[str, Any], state: Mapping[str, Any]) -> tuple[str, str]:
    """How the container ended, or what kept it from starting, as reason and message."""
    match state:
        case {"terminated": {"reason": str(reason), "exitCode": int(code)} as terminated}:
            message = "" if code == 0 else f"exit code {code}"
            if reason in _NOT_STARTED:
                message = str(terminated.get("message") or message)
            return reason, message
        case {"terminated": {"exitCode": int(code)}}:
            return ("Completed", "") if code == 0 else ("Error", f"exit code {code}")
        case {"waiting": {"reason": str(reason)} as waiting}:
            return reason, str(waiting.get("message") or "the container did not start")
    if status.get("reason"):
        return str(status["reason"]), str(status.get("message") or "")
    conditions = (each for each in status.get("conditions") or () if each.get("status") == "False")
    explained: Mapping[str, Any] = next((each for each in conditions if each.get("type") == "PodScheduled"), {})
    return str(explained.get("reason") or ""), str(explained.get("message") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunOwner:
    """What a log's entry has of its TaskRun. `workflow` is a uid."""

    uid: str
    workflow: str
    workflow_name: str
    task: str
    path: tuple[int, ...]
    pool: str
    created: str = ""


def parse_owner(taskrun: Mapping[str, Any]) -> TaskRunOwner | None:
    """Read a TaskRun of any version; None if it has no such fields."""
    match taskrun:
        case {
            "metadata": {"uid": str(uid)},
            "spec": {"workflow": {"uid": str(workflow), "name": str(name)}, "task": str(task)},
        }:
            spec = taskrun["spec"]
            pool = str(spec.get("triggerPool") or constants.DEFAULT_POOL)
            return TaskRunOwner(
                uid=uid,
                workflow=workflow,
                workflow_name=name,
                task=task,
                path=_spec_path(spec),
                pool=pool,
                created=str(taskrun["metadata"].get("creationTimestamp") or ""),
            )
    return None


def _spec_path(spec: Mapping[str, Any]) -> tuple[int, ...]:
    groups, index = spec.get("groupIndexes") or [], spec.get("mapIndex", constants.UNMAPPED)
    if not isinstance(groups, list) or not all(isinstance(number, int) for number in (*groups, index)):
        return ()
    return tuple(number for number in (*groups, index) if number >= 0)
