"""Task pods: how one is built, and what the controller reads of one.

One small container, Pod Security `restricted`, no mounted account token but a projected one of an hour. The pod's name
says which attempt, segment and launch of which TaskRun it is, so creating it twice is the same as creating it once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor_api.taskrun import TaskRun
from torpor_wire import keys, names

MAIN = "main"
_TOKEN_SECONDS = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """What decisions need to know of a pod; `phase` is the kubelet's."""

    namespace: str
    name: str
    uid: str
    owner_uid: str
    phase: str
    created: str = ""
    deleting: bool = False
    disrupted: bool = False
    waiting_reason: str = ""
    waiting_message: str = ""
    ending: str = ""

    @property
    def terminal(self) -> bool:
        """Whether no process of it runs, or will."""
        return self.phase in {"Succeeded", "Failed"}


def parse(body: Mapping[str, Any]) -> Pod:
    """A Pod from the API server's JSON."""
    metadata, status = body["metadata"], body.get("status", {})
    owners = [ref["uid"] for ref in metadata.get("ownerReferences", []) if ref.get("controller")]
    container: Mapping[str, Any] = next(iter(status.get("containerStatuses", [])), {})
    waiting = container.get("state", {}).get("waiting") or {}
    conditions = {entry["type"]: entry["status"] for entry in status.get("conditions", [])}
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=owners[0] if owners else "",
        phase=status.get("phase", "Pending"),
        created=metadata.get("creationTimestamp", ""),
        deleting="deletionTimestamp" in metadata,
        disrupted=conditions.get("DisruptionTarget") == "True" or status.get("reason") in {"Evicted", "Preempting"},
        waiting_reason=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        ending=_ending(status, container),
    )


def owners(pod: Pod) -> tuple[str, ...]:
    """The index of the pods' store: the uid of the TaskRun."""
    return (pod.owner_uid,)


def name_of(taskrun: TaskRun) -> str:
    """The name of the pod that runs the TaskRun's present attempt, segment and launch."""
    status = taskrun.status
    return names.pod(taskrun.metadata.name, status.attempt, status.segment, status.launch)


def build(taskrun: TaskRun, service_account: str) -> dict[str, Any]:
    """The pod of the TaskRun's present segment, as JSON."""
    metadata = taskrun.metadata
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name_of(taskrun),
            "namespace": metadata.namespace,
            "labels": _labels(taskrun),
            "ownerReferences": [owner_reference("TaskRun", metadata.name, metadata.uid)],
        },
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": service_account,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 10,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [_container(taskrun)],
            "volumes": [{"name": "credentials", "projected": {"sources": _CREDENTIALS}}],
        },
    }


def owner_reference(kind: str, name: str, uid: str) -> dict[str, Any]:
    """The controlling owner, so that deletion cascades."""
    return {
        "apiVersion": keys.API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


_CREDENTIALS: list[dict[str, Any]] = [
    {"serviceAccountToken": {"path": "token", "expirationSeconds": _TOKEN_SECONDS}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
]


def _labels(taskrun: TaskRun) -> dict[str, str]:
    spec = taskrun.spec
    return {
        keys.LABEL_TASKRUN_UID: taskrun.metadata.uid,
        keys.LABEL_TASK: spec.task.rstrip("_"),
        # A label holds 63 characters, a Workflow's name 253: the owner reference is what counts.
        keys.LABEL_WORKFLOW: spec.workflow.name[:63].rstrip("-."),
        keys.LABEL_INDEX: str(spec.map_index) if spec.map_index >= 0 else "unmapped",
    }


def _container(taskrun: TaskRun) -> dict[str, Any]:
    return {
        "name": MAIN,
        "image": taskrun.spec.image,
        "command": ["python", "-m", "torpor"],
        "env": _environment(taskrun),
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "credentials", "mountPath": keys.CREDENTIALS, "readOnly": True}],
    }


def _environment(taskrun: TaskRun) -> list[dict[str, Any]]:
    metadata, status = taskrun.metadata, taskrun.status
    values = {
        keys.ENV_TASKRUN: metadata.name,
        keys.ENV_NAMESPACE: metadata.namespace,
        keys.ENV_TASKRUN_UID: metadata.uid,
        keys.ENV_CREATED: metadata.creation_timestamp,
        keys.ENV_STARTED: status.started_at or "",
        keys.ENV_ATTEMPT: str(status.attempt),
        keys.ENV_SEGMENT: str(status.segment),
        keys.ENV_LAUNCH: str(status.launch),
        keys.ENV_POD_NAME: name_of(taskrun),
    }
    fixed: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in values.items()]
    return [*fixed, {"name": keys.ENV_POD_UID, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]


def _ending(status: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    """How the container ended, in words a person can act on; empty while it has not."""
    if terminated := container.get("state", {}).get("terminated"):
        why = f"{terminated.get('reason', 'exited')}, exit code {terminated.get('exitCode')}"
        said = str(terminated.get("message", "")).strip()
        return f"{why}: {said[-600:]}" if said else why
    return str(status.get("message") or status.get("reason") or "")
