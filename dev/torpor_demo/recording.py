"""The recording of one run: what changed and when, in the order of the API server."""

from dataclasses import dataclass, field

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """A new state of a TaskRun; `at` is in seconds since the watch began."""

    at: float
    run: TaskRun


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """A pod of a TaskRun became Pending or Running, or ended to be."""

    at: float
    taskrun_uid: str
    name: str
    active: bool


@dataclass(slots=True, kw_only=True)
class Film:
    """The whole recording; `workflow` is its last state."""

    workflow: Workflow | None = None
    runs: list[RunSeen] = field(default_factory=list)
    pods: list[PodSeen] = field(default_factory=list)


def label(run: TaskRun) -> str:
    """`measure[3]`: the task and the index, which are clearer than the name with its hash."""
    return run.spec.task if run.spec.map_index == constants.UNMAPPED else f"{run.spec.task}[{run.spec.map_index}]"
