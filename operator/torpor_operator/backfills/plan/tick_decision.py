"""Decides one tick of a Backfill: it is passed over, its run exists, or its run is created. Pure.

The name of a run derives from its tick, so a tick that a Schedule and several Backfills run has one run. A further run
(`rerun: failed` or `all`) is named after the Backfill as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, assert_never

from torpor_crds.models.schedule import Schedule
from torpor_crds.models.workflow import Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import canonical, constants, names, times
from torpor_wire.enums import Rerun
from torpor_wire.reason import Reason

from torpor_operator.backfills.plan.period import SourceTick
from torpor_operator.backfills.plan.snapshot import BackfillSnapshot, KnownRun, RunOutcome
from torpor_operator.expressions.context import Pending
from torpor_operator.scheduled_runs import event as events
from torpor_operator.scheduled_runs.event import ScheduleEvent
from torpor_operator.scheduled_runs.event_expressions import EventScope
from torpor_operator.scheduled_runs.run_builder import build_run


@dataclass(frozen=True, slots=True)
class PassOver:
    """The tick needs no run."""


@dataclass(frozen=True, slots=True)
class Exists:
    """This Backfill has created the run of the tick."""

    run: KnownRun


@dataclass(frozen=True, slots=True)
class Fail:
    """The tick gets no run because of an error."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Create:
    """Create the run."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LookUp:
    """Find out whether a run of this name exists, in the cluster or in the archive."""

    name: str


TickDecision: TypeAlias = PassOver | Exists | Fail | Create | LookUp | Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRuns:
    """The runs in the cache, by source and time of their tick."""

    snapshot: BackfillSnapshot
    schedule: Schedule
    workflows: Mapping[tuple[str | None, str], Sequence[Workflow]]

    @classmethod
    def cached(cls, snapshot: BackfillSnapshot, schedule: Schedule) -> Self:
        """The runs in the cache."""
        workflows: dict[tuple[str | None, str], list[Workflow]] = {}
        for workflow in snapshot.runs:
            if (origin := workflow.spec.run_of) is not None:
                workflows.setdefault((origin.source, origin.at), []).append(workflow)
        return cls(snapshot=snapshot, schedule=schedule, workflows=workflows)

    def decide(self, tick: SourceTick) -> TickDecision:
        """Decide whether the tick gets a run."""
        first, further = self._names(tick)
        for name in (first, further):
            if (message := self.snapshot.rejected.get(name)) is not None:
                return Fail(Reason.RUN_REJECTED, message)
        runs = self._existing(tick)
        if not runs:
            if first not in self.snapshot.looked_up:
                return LookUp(first)
            stored = self.snapshot.looked_up[first]
            runs = [] if stored is None else [stored]
        own = next((run for run in runs if run.belongs_to(self.snapshot.backfill)), None)
        if own is not None:
            return Exists(own)
        if not runs:
            return self._create(tick, first)
        return PassOver() if self._suffices(runs) else self._create(tick, further)

    def own(self, tick: SourceTick) -> KnownRun | None:
        """The run that this Backfill has created for the tick, if it is in the cache."""
        return next((run for run in self._existing(tick) if run.belongs_to(self.snapshot.backfill)), None)

    def _existing(self, tick: SourceTick) -> list[KnownRun]:
        """The runs of the tick, in the order of their creation."""
        workflows = self.workflows.get((tick.source, times.rfc3339(tick.at)), ())
        return [
            KnownRun.from_workflow(workflow)
            for workflow in sorted(workflows, key=lambda workflow: workflow.metadata.creation_timestamp)
        ]

    def _names(self, tick: SourceTick) -> tuple[str, str]:
        """The name of the first run of the tick, and of the further one of this Backfill."""
        name, uid = self.schedule.metadata.name, self.schedule.metadata.uid
        rerun = events.rerun_key(uid, tick.source, tick.at, self.snapshot.backfill.metadata.uid)
        return names.run(name, names.tick_key(uid, tick.source, tick.at)), names.run(name, rerun)

    def _suffices(self, runs: Sequence[KnownRun]) -> bool:
        """Whether a tick with these runs needs no further one. An active run always suffices."""
        if any(run.outcome is RunOutcome.ACTIVE for run in runs):
            return True
        match self.snapshot.backfill.spec.rerun:
            case Rerun.MISSING:
                return True
            case Rerun.FAILED:
                return runs[-1].outcome is RunOutcome.SUCCEEDED
            case Rerun.ALL:
                return False
            case unexpected:
                assert_never(unexpected)

    def _create(self, tick: SourceTick, name: str) -> TickDecision:
        """The run, unless `when` is false. Params of the Backfill replace those of the Schedule."""
        backfill, spec = self.snapshot.backfill, self.schedule.spec
        event = self._event(tick)
        scope = EventScope.build(event, None, version=name, known=self.snapshot.known)
        applies = True if spec.when is None else scope.is_true(spec.when)
        match applies:
            case Pending():
                return applies
            case ExpressionError():
                return Fail(applies.reason, f"when: {applies.message}")
            case False:
                return PassOver()
            case True:
                params = scope.resolve({**spec.params, **backfill.spec.params})
        match params:
            case Pending():
                return params
            case ExpressionError():
                return Fail(params.reason, f"params: {params.message}")
            case Value(json=resolved):
                run_of = event.run_of(self.schedule, None).model_copy(update={"backfill": backfill.metadata.name})
                labels = {constants.LABEL_BACKFILL: names.label(backfill.metadata.name)}
                given = resolved if isinstance(resolved, dict) else {}
                return Create(build_run(self.schedule, name=name, run_of=run_of, params=given, labels=labels))

    def _event(self, tick: SourceTick) -> ScheduleEvent:
        """The event of the tick, as its cron source would have it."""
        at = times.rfc3339(tick.at)
        value: dict[str, JSON] = {"at": at, "cursor": at}
        key = names.tick_key(self.schedule.metadata.uid, tick.source, tick.at)
        return ScheduleEvent(source=tick.source, at=at, key=key, text=canonical.plain(value), value=value, is_tick=True)
