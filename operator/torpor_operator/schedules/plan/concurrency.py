"""Which events of a Schedule start a run now: `concurrencyPolicy`, `maxActive` and `maxQueued`."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from torpor_crds.models.schedule import ScheduleSpec
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants
from torpor_wire.enums import ConcurrencyPolicy


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start the run now, or create it queued."""

    queued: bool = False


@dataclass(frozen=True, slots=True)
class SkipEvent:
    """Take the event without a run."""

    message: str


@dataclass(frozen=True, slots=True)
class HoldEvent:
    """Leave the event at its source. `replaced` is cancelled first."""

    message: str
    replaced: Workflow | None = None


Admission = StartRun | SkipEvent | HoldEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyLimit:
    """The limits of a Schedule, its active and queued runs, and the number of those that this pass creates."""

    policy: ConcurrencyPolicy
    max_active: int | None
    max_queued: int
    active: tuple[Workflow, ...]
    queued: tuple[Workflow, ...]
    created: int = 0
    created_queued: int = 0

    @classmethod
    def with_runs(cls, spec: ScheduleSpec, runs: Iterable[Workflow]) -> Self:
        """The limit with the runs that have not ended, the oldest event first."""
        open_runs = sorted((run for run in runs if not has_ended(run)), key=_order)
        unset = None if spec.concurrency_policy is ConcurrencyPolicy.ALLOW else 1
        return cls(
            policy=spec.concurrency_policy,
            max_active=spec.max_active or unset,
            max_queued=spec.max_queued,
            active=tuple(run for run in open_runs if not is_queued(run)),
            queued=tuple(run for run in open_runs if is_queued(run)),
        )

    @property
    def is_full(self) -> bool:
        """Whether no further run may be active."""
        return self.max_active is not None and len(self.active) + self.created >= self.max_active

    def with_started(self) -> Self:
        """The limit after as many queued runs have started as may be active."""
        limit = self
        while limit.queued and not limit.is_full:
            run, *others = limit.queued
            limit = replace(limit, active=(*limit.active, run), queued=tuple(others))
        return limit

    def with_created(self, *, queued: bool) -> Self:
        """The limit with one more run that this pass creates."""
        if queued:
            return replace(self, created_queued=self.created_queued + 1)
        return replace(self, created=self.created + 1)

    def admit(self) -> Admission:
        """Decide whether the next event starts a run now."""
        if not self.is_full and not self.queued and not self.created_queued:
            return StartRun()
        names = ", ".join(run.metadata.name for run in self.active[:3]) or "a run of the same moment"
        match self.policy:
            case ConcurrencyPolicy.FORBID:
                return SkipEvent(f"Forbid, {names} still {'runs' if len(self.active) <= 1 else 'run'}")
            case ConcurrencyPolicy.REPLACE:
                oldest = next((run for run in self.active if not run.spec.cancel), None)
                waits = sum(run.spec.cancel for run in self.active)
                return HoldEvent(f"Replace, {names} must end first", None if waits else oldest)
            case ConcurrencyPolicy.QUEUE if len(self.queued) + self.created_queued < self.max_queued:
                return StartRun(queued=True)
            case ConcurrencyPolicy.QUEUE:
                return HoldEvent(f"the queue has {self.max_queued} runs, as many as maxQueued")
            case _:
                return HoldEvent(f"{len(self.active)} runs are active, as many as maxActive")


def has_ended(run: Workflow) -> bool:
    """Whether the run has ended."""
    return run.status.completion_time is not None


def is_queued(run: Workflow) -> bool:
    """Whether the run waits for another one to end."""
    return run.spec.suspend and constants.LABEL_QUEUED in run.metadata.labels and run.status.start_time is None


def _order(run: Workflow) -> tuple[str, str]:
    return (run.spec.run_of.at if run.spec.run_of else run.metadata.creation_timestamp, run.metadata.name)
