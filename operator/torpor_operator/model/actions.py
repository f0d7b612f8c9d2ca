"""What a plan asks to be done, as data: the plan decides, `apply` does.

Every action may be repeated: names are derived, patches are fenced, and NotFound on a delete is success.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import WorkflowStatus
from torpor_cel.value import JSON
from torpor_wire.reason import Reason
from torpor_wire.transitions import Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTaskRun:
    """The TaskRun of one task instance, its turn having come."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTaskRun:
    """A TaskRun that is made anew, after its pods."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAnnotation:
    """A wish on the Workflow that has been taken up, or refused; one that has been altered since stays."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Resume:
    """A cancelled run that has ended is to go on: spec.stop and spec.cancel are taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePod:
    """The pod of a TaskRun's present segment."""

    taskrun: TaskRun
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """A pod that has had its say or its time."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftGate:
    """A container task's pod, claimed by the operator, may be scheduled; `gates` are those it was seen with."""

    namespace: str
    name: str
    uid: str
    gates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePodFinalizer:
    """A container task's pod whose outcome is stored, or that has none; `finalizers` are those it was seen with."""

    namespace: str
    name: str
    uid: str
    finalizers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchTaskRun:
    """One fenced transition, or explanation, on a TaskRun's status."""

    taskrun: TaskRun
    patch: Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFinalizers:
    """The Workflow's finalizers as they shall be."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWorkflow:
    """A finished Workflow whose time to live is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostEvent:
    """A Kubernetes Event on the Workflow, or on one of its TaskRuns; posted once for each (object, reason, key)."""

    regarding: TaskRun | None
    reason: str
    message: str
    warning: bool
    key: str


Action: TypeAlias = (
    CreateTaskRun
    | DeleteTaskRun
    | RemoveAnnotation
    | Resume
    | CreatePod
    | DeletePod
    | LiftGate
    | RemovePodFinalizer
    | PatchTaskRun
    | SetFinalizers
    | DeleteWorkflow
    | PostEvent
)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression whose value the plan needs; compared by `sources`, the uids that `variables` come from."""

    expression: str
    sources: tuple[tuple[str, str], ...]
    variables: Mapping[str, JSON] = field(compare=False)


@dataclass(frozen=True, slots=True)
class ConfirmTaskRun:
    """A TaskRun that should exist and is not in the store: is it gone, or is the store behind?"""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ConfirmPod:
    """A pod that should exist and is not in the store."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ConfirmPods:
    """All pods of a TaskRun: the answer to the creation of one was lost, and the store may not show it yet."""

    namespace: str
    taskrun_uid: str


@dataclass(frozen=True, slots=True)
class ReadVariables:
    """The ConfigMap that a Workflow takes its variables from; read again after each clearing."""

    namespace: str
    name: str
    clears: int


@dataclass(frozen=True, slots=True)
class ArchiveRun:
    """A finished run whose time is over: it goes once the archive has it."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ReadPodWarning:
    """The latest Warning among the Events of a pod that does not start; `look` counts how often it is read."""

    namespace: str
    uid: str
    look: int


Need: TypeAlias = Evaluate | ReadVariables | ArchiveRun | ConfirmTaskRun | ConfirmPod | ConfirmPods | ReadPodWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Actions may be applied in any order; they are begun in the one given.

    While `needs` is not empty, an answered plan may ask for more.
    """

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    status: WorkflowStatus | None = None
    events: tuple[PostEvent, ...] = ()
    again_at: float | None = None
    waiting: Mapping[str, Reason] = field(default_factory=dict)  # tasks with instances that wait for a slot, and which
