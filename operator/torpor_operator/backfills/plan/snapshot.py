"""What the plan of a Backfill is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from torpor_crds.models.backfill import Backfill
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants, names, times

from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer


class RunOutcome(StrEnum):
    """How far a run is."""

    ACTIVE = "Active"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """A run in the cluster or in the archive. `backfill` is its label, and `created` its creation time."""

    name: str
    outcome: RunOutcome
    backfill: str | None = None
    created: str = ""

    @classmethod
    def from_workflow(cls, workflow: Workflow) -> Self:
        """The run that is this Workflow."""
        metadata, status = workflow.metadata, workflow.status
        ended = RunOutcome.SUCCEEDED if status.state == RunOutcome.SUCCEEDED else RunOutcome.FAILED
        return cls(
            name=metadata.name,
            outcome=RunOutcome.ACTIVE if status.completion_time is None else ended,
            backfill=metadata.labels.get(constants.LABEL_BACKFILL),
            created=metadata.creation_timestamp,
        )

    def belongs_to(self, backfill: Backfill) -> bool:
        """Whether this Backfill created the run; not a former one of the same name."""
        if self.backfill != names.label(backfill.metadata.name):
            return False
        return _epoch(self.created) >= _epoch(backfill.metadata.creation_timestamp)


def _epoch(text: str) -> float:
    """The time in seconds; 0 for an object without one."""
    try:
        return times.epoch(text)
    except ValueError:
        return 0.0


@dataclass(frozen=True, slots=True)
class TemporaryObstacle:
    """Why no run can be created at the moment: a reason and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillSnapshot:
    """A Backfill, its Schedule, their runs, the time, and the answers to earlier needs.

    `runs` are the Workflows of the Schedule in the cache. `looked_up` has those that were looked up by name, in the
    cluster and in the archive; None: there is none. `rejected` has the error for each run that the API server rejected.
    `blocked` is why runs cannot be created in the namespace. `has_template` is None until it is looked up.
    """

    backfill: Backfill
    schedule: Schedule | None
    has_template: bool | None = None
    runs: tuple[Workflow, ...] = ()
    looked_up: Mapping[str, KnownRun | None] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[Need, Answer] = field(default_factory=dict)
    blocked: TemporaryObstacle | None = None
    now: float
