"""What the plan of a Schedule is computed from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torpor_crds.models.schedule import Schedule
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow

from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer, TriggerPool
from torpor_operator.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSnapshot:
    """A Schedule, the TaskRuns of its sources, its runs, the time, and the answers to earlier needs."""

    schedule: Schedule
    taskruns: Mapping[str, TaskRun]  # by source
    runs: tuple[Workflow, ...]  # without those of Backfills
    known: Mapping[Need, Answer]
    settings: Settings
    now: float
    pools: Callable[[str], TriggerPool] = lambda _: TriggerPool()  # the pool of triggerers with a name
    archives: bool = False  # whether an archive is installed
    not_ready: str = ""  # what the namespace lacks to run workflows; empty if nothing
    refused: Mapping[str, str] = field(default_factory=dict)  # by name of the run: why the API server rejected it
