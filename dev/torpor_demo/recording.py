"""What was seen of one run, and when: values, in the order in which the API server told them."""

from dataclasses import dataclass, field

from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import Workflow
from torpor_wire import constants


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """A new state of a TaskRun; `at` is in seconds since the watch began."""

    at: float
    run: TaskRun


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """A pod of a TaskRun came to hold its place on a node or in the queue (Pending, Running), or ceased to."""

    at: float
    taskrun_uid: str
    name: str
    active: bool


@dataclass(slots=True, kw_only=True)
class Film:
    """All of it; `workflow` is the Workflow as last seen."""

    workflow: Workflow | None = None
    runs: list[RunSeen] = field(default_factory=list)
    pods: list[PodSeen] = field(default_factory=list)


def label(run: TaskRun) -> str:
    """`measure[3]`: the task and the index, which say more than the name with its hash."""
    return run.spec.task if run.spec.map_index == constants.UNMAPPED else f"{run.spec.task}[{run.spec.map_index}]"
