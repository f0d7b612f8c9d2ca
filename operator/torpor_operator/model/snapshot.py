"""What one plan is made from: a Workflow, its TaskRuns and their pods, the time, and answers to earlier needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import Workflow
from torpor_cel.errors import ExpressionError
from torpor_cel.value import Value
from torpor_wire.archive_endpoint import ArchiveEndpoint
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path

from torpor_operator.model.actions import Need
from torpor_operator.model.pod import Pod
from torpor_operator.pod_security import PodDefaults
from torpor_operator.settings import Settings


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of triggerers: whether anybody serves it, and its public key, base64, if values can be sealed to it."""

    served: bool = True
    seal_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContext:
    """`deferrable`: whether a sensor that leaves it open gives its pod back while it waits; `served`: if any can."""

    service_account: str
    deferrable: bool = True
    served: bool = True
    seal_key: str = ""
    archive: ArchiveEndpoint | None = None
    defaults: PodDefaults = field(default_factory=PodDefaults)


class Presence(StrEnum):
    """What a read of the API server said of an object that the store lacks."""

    GONE = "Gone"
    PRESENT = "Present"
    UNREADABLE = "Unreadable"


@dataclass(frozen=True, slots=True)
class NotArchived:
    """Why the archive did not take a finished run."""

    message: str


@dataclass(frozen=True, slots=True)
class PodWarning:
    """The latest Warning among a pod's Events; empty where there is none, or Events may not be read."""

    reason: str = ""
    message: str = ""


Answer: TypeAlias = Value | ExpressionError | Presence | NotArchived | PodWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that a plan may look at. `known` grows by what the plan before said it needed."""

    workflow: Workflow
    taskruns: Mapping[str, TaskRun]  # by name
    by_task: Mapping[str, Mapping[Path, Mapping[int, TaskRun]]]  # the same, by task, frame and index
    pods: Mapping[str, tuple[Pod, ...]]  # by uid of the TaskRun
    unclear: Mapping[str, str]  # by uid of the TaskRun: the name of a pod that may have been created, or not
    created: Mapping[str, Mapping[Path, Indexes]]  # by task and frame: seen to exist, which the status may not say yet
    pools: Callable[[str], Pool]  # what pods should know of a pool of triggerers, by its name
    slots: Callable[[str], int | None]  # how many slots of a pool are free; None where there is no such pool
    holds: Callable[[TaskRun], bool]  # whether a TaskRun has been given a slot of its pool
    archive: ArchiveEndpoint | None  # where large results and finished runs are kept, if there is such a place
    not_ready: str = ""  # what the namespace lacks for workflows to run in it, as a sentence
    known: Mapping[Need, Answer]
    settings: Settings
    now: float
    uncreated: str = ""  # why a TaskRun of it could not be created when that was last tried

    def runs(self, task: str, frame: Path = ()) -> Mapping[int, TaskRun]:
        """The TaskRuns of a task in one frame, by their index."""
        return self.by_task.get(task, {}).get(frame, {})
