"""What one plan is computed from: a Workflow, its TaskRuns and pods, the time, and the answers to earlier needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.template import WorkflowTemplate
from torpor_crds.models.workflow import TaskStatus, Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire.enums import LogMode
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path

from torpor_operator.model.actions import Need, Notice
from torpor_operator.model.pod import Pod
from torpor_operator.model.step_parts import StepsCombined, StepsNotCombined
from torpor_operator.pod_security import PodDefaults
from torpor_operator.settings import Settings


@dataclass(frozen=True, slots=True)
class TriggerPool:
    """A pool of triggerers: whether one is running, and its public key (base64), if values can be sealed to it."""

    served: bool = True
    seal_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContext:
    """What a pod depends on. `deferrable`: whether sensors defer by default; `served`: whether any task can defer.

    `image_volumes`: whether the runtime comes by an image volume; `system_namespace`: where Torpor is installed;
    `allow_networks` and `deny_networks`: where sources of files may be.
    """

    service_account: str
    system_namespace: str
    runtime_image: str
    image_volumes: bool = False
    deferrable: bool = True
    served: bool = True
    seal_key: str = ""
    archive: ArchiveEndpoint | None = None
    logs: LogMode = LogMode.ALL
    claims: Mapping[str, str] = field(default_factory=dict)  # by name of a volume of the run: its claim
    defaults: PodDefaults = field(default_factory=PodDefaults)
    allow_networks: tuple[str, ...] = ()
    deny_networks: tuple[str, ...] = ()


class Presence(StrEnum):
    """What the API server knows of an object that is not in the cache."""

    GONE = "Gone"
    DISRUPTED = "Disrupted"  # gone, and it was last seen as disrupted
    PRESENT = "Present"
    UNREADABLE = "Unreadable"


@dataclass(frozen=True, slots=True)
class RunArchived:
    """The archive has stored the finished run."""


@dataclass(frozen=True, slots=True)
class RunNotArchived:
    """Why the archive has not stored a finished run, and when the next upload may begin."""

    message: str
    retry_at: float = 0.0


ArchiveOutcome: TypeAlias = RunArchived | RunNotArchived


@dataclass(frozen=True, slots=True)
class PodWarning:
    """The latest Warning among a pod's Events; empty if there is none, or the operator may not read Events."""

    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class SettledLogs:
    """The pods, by uid, whose logs the archive has kept or cannot keep, as far as is known at the moment."""

    pods: frozenset[str]


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A template of the namespace or the cluster, and its `spec.workflow` as stored, with fields of newer versions."""

    template: WorkflowTemplate
    workflow: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class UnreadableTemplate:
    """Why a template cannot be read."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceFacts:
    """The Pod Security level that a namespace enforces, its defaults of tasks, and its labels; empty if it has none."""

    level: str = ""
    defaults: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


class AccountUse(StrEnum):
    """Whether the owner of a ServiceAccount lets tasks use it."""

    ALLOWED = "Allowed"
    NOT_ALLOWED = "NotAllowed"
    NO_ACCOUNT = "NoAccount"


TemplateRead: TypeAlias = TemplateSource | UnreadableTemplate
Answer: TypeAlias = (
    Value
    | ExpressionError
    | Presence
    | RunNotArchived
    | PodWarning
    | SettledLogs
    | TemplateRead
    | NamespaceFacts
    | AccountUse
    | StepsCombined
    | StepsNotCombined
)


def _no_run(_: str) -> None:
    return None


@dataclass(frozen=True, kw_only=True)  # no slots: a cached property needs the instance's dictionary
class Snapshot:
    """All that a plan reads. `known` has the answers to the needs of the previous plan."""

    workflow: Workflow
    taskruns: Mapping[str, TaskRun]  # by name, without notifications
    pods: Mapping[str, tuple[Pod, ...]]  # by uid of the TaskRun
    unconfirmed_pods: Mapping[str, str]  # by uid of the TaskRun: the name of a pod whose creation was not confirmed
    created: Mapping[
        str, Mapping[Path, Indexes]
    ]  # by task and group path: seen instances, which the status may not have yet
    pools: Callable[[str], TriggerPool]  # the pool of triggerers with a name
    slots: Callable[[str], int | None]  # the free slots of a pool; None if there is no such pool
    holds: Callable[[TaskRun], bool]  # whether a TaskRun has a slot of its pool
    archive: ArchiveEndpoint | None  # None if no archive is installed
    archival: ArchiveOutcome | None = None  # the outcome of the last upload of this run, until the status has it
    image_volumes: bool = False  # whether pods of this cluster can have image volumes
    not_ready: str = ""  # what the namespace lacks to run workflows; empty if nothing
    known: Mapping[Need, Answer]
    settings: Settings
    now: float
    notifications: Mapping[str, TaskRun] = field(default_factory=dict)  # the TaskRuns that send them, by name
    children: Mapping[str, tuple[Workflow, ...]] = field(default_factory=dict)  # by uid of the TaskRun: its runs
    released: Mapping[str, Workflow] = field(default_factory=dict)  # by TaskRun that is to wait for it: a former run
    find_run: Callable[[str], Workflow | None] = _no_run  # the Workflow of the namespace with a name
    runs_of_root: int = 0  # how many runs the outermost run of this one has in it
    awaited: bool = False  # whether the task of another run waits for this one
    uncreated: Notice | None = None  # why the last creation of a TaskRun failed
    uncopied: str = ""  # why the API server rejected the copy of the template

    @cached_property
    def task_statuses(self) -> Mapping[str, TaskStatus]:
        """The stored status of each task, by name."""
        return {entry.name: entry for entry in self.workflow.status.tasks}

    @cached_property
    def by_task(self) -> Mapping[str, Mapping[Path, Mapping[int, TaskRun]]]:
        """The TaskRuns by task, group path and index."""
        taskruns: dict[str, dict[Path, dict[int, TaskRun]]] = {}
        for run in self.taskruns.values():
            taskruns.setdefault(run.spec.task, {}).setdefault(run.spec.group_path, {})[run.spec.map_index] = run
        return taskruns

    def runs(self, task: str, group_path: Path = ()) -> Mapping[int, TaskRun]:
        """The TaskRuns of a task at one group path, by index."""
        return self.by_task.get(task, {}).get(group_path, {})
