"""What a plan asks for, as data: actions for the executor, and needs for the next plan.

Every action may be repeated: names are derived, status patches have preconditions, and NotFound on a delete is success.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from torpor_crds.models.taskrun import TaskRun
from torpor_expressions.value import JSON
from torpor_wire.transitions import Patch

from torpor_operator.model.child_run_actions import ChangeChildRun, CreateChildRun, MoveChildRun
from torpor_operator.model.step_parts import CombineSteps


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTaskRun:
    """Create the TaskRun of one instance."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTaskRun:
    """Delete a TaskRun that is to be created again, after its pods."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAnnotation:
    """Remove an annotation that was accepted or refused, unless its value has changed since."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ResumeRun:
    """Reset spec.stop and spec.cancel of a run that has ended, so that it can go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePod:
    """Create the pod of a TaskRun's present segment, and before it the volumes of the run that it mounts."""

    taskrun: TaskRun
    body: dict[str, Any]
    claims: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete a pod."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSchedulingGate:
    """Remove the scheduling gate of a claimed pod. `outcome_max`: its share of the outcome; None without one."""

    namespace: str
    name: str
    uid: str
    gates: tuple[str, ...]
    outcome_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePodFinalizer:
    """Remove the finalizer of a container task's pod; `finalizers` are those in the cache."""

    namespace: str
    name: str
    uid: str
    finalizers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchTaskRun:
    """Patch the status of a TaskRun: one transition or explanation, with preconditions.

    `ended_pods` are deleted once it is stored. If the TaskRun has changed, they stay: a pod may have claimed it.
    """

    taskrun: TaskRun
    patch: Patch
    ended_pods: tuple[DeletePod, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFinalizers:
    """Replace the finalizers of the Workflow, and its `spec.defaults` if it gets any.

    `additions` are values by JSON pointer, which its tasks get of their bodies. `deleted_claims` are the names of
    volumes that are deleted before.
    """

    finalizers: tuple[str, ...]
    defaults: Mapping[str, JSON] | None = None
    additions: Mapping[str, JSON] = field(default_factory=dict)
    deleted_claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTemplate:
    """Add the fields of a template to the spec of the Workflow, and set its finalizers, in one patch."""

    fields: Mapping[str, JSON]
    finalizers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWorkflow:
    """Delete a finished Workflow whose TTL has expired."""


@dataclass(frozen=True, slots=True)
class ArchiveRun:
    """Upload the finished Workflow to the archive. A later snapshot has the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An Event on the object of a plan."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PostEvent:
    """Post an Event on the Workflow or on one of its TaskRuns, once for each (object, reason, key)."""

    regarding: TaskRun | None
    reason: str
    message: str
    warning: bool
    key: str


Action: TypeAlias = (
    CreateTaskRun
    | DeleteTaskRun
    | RemoveAnnotation
    | ResumeRun
    | CreatePod
    | DeletePod
    | RemoveSchedulingGate
    | RemovePodFinalizer
    | PatchTaskRun
    | SetFinalizers
    | CopyTemplate
    | CreateChildRun
    | ChangeChildRun
    | MoveChildRun
    | DeleteWorkflow
    | ArchiveRun
    | PostEvent
)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Evaluate an expression. Compared by `sources`, the versions of the values in `variables`."""

    expression: str
    sources: tuple[tuple[str, str], ...]
    variables: Mapping[str, JSON] = field(compare=False)


@dataclass(frozen=True, slots=True)
class ConfirmTaskRun:
    """Find out whether a TaskRun that is not in the cache exists: the cache may lag behind."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmRun:
    """Find out whether a run that the TaskRun with the uid `parent` has started, and that the cache lacks, exists."""

    namespace: str
    name: str
    parent: str


@dataclass(frozen=True, slots=True)
class ConfirmPod:
    """Find out whether a pod that is not in the cache exists."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ConfirmPods:
    """List all pods of a TaskRun: the response to a creation was lost, and the cache may not show the pod yet."""

    namespace: str
    taskrun_uid: str


@dataclass(frozen=True, slots=True)
class ReadConfigMap:
    """Read a ConfigMap that a field of a Workflow names, or one key of it, again after each clearing."""

    namespace: str
    name: str
    clears: int
    field: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class ReadTemplate:
    """Read a template of a run that has not started. Without a namespace, it is a ClusterWorkflowTemplate."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ReadNamespace:
    """Read the Pod Security level and the defaults of a namespace."""

    name: str


@dataclass(frozen=True, slots=True)
class ReadAccount:
    """Read whether the owner of a ServiceAccount lets tasks use it."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ConfirmArchived:
    """Find out whether the archive has the run that completed at this time: its database may have been lost."""

    namespace: str
    uid: str
    completed: str


@dataclass(frozen=True, slots=True)
class ReadPodWarning:
    """Read the latest Warning among the Events of a pod that does not start; `look` counts the reads."""

    namespace: str
    uid: str
    look: int


@dataclass(frozen=True, slots=True)
class ReadClaimWarning:
    """Read why a claim of a pod without a node is Pending; `look` counts the reads."""

    namespace: str
    claims: tuple[str, ...]
    look: int


@dataclass(frozen=True, slots=True)
class ConfirmLogs:
    """Find out which logs of ended pods, by uid, are settled in the archive. The answer never waits for the archive."""

    namespace: str
    pods: tuple[str, ...]


Need: TypeAlias = (
    Evaluate
    | ReadConfigMap
    | ReadTemplate
    | ReadNamespace
    | ReadAccount
    | ConfirmArchived
    | ConfirmLogs
    | CombineSteps
    | ConfirmTaskRun
    | ConfirmRun
    | ConfirmPod
    | ConfirmPods
    | ReadPodWarning
    | ReadClaimWarning
)
