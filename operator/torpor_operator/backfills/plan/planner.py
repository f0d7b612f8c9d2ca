"""Plans the next pass of a Backfill, by the first of `DECISIONS` that returns a plan. Pure.

A pass decides at most `PASS_TICKS` ticks, in their order, and creates as many runs as `concurrency` permits.
The cursor of the status moves behind a tick only when its outcome is known, so a pass that is cut short is repeated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, assert_never

from torpor_operator.backfills.plan import sources, status
from torpor_operator.backfills.plan.actions import BackfillPlan
from torpor_operator.backfills.plan.period import BackfillPeriod, SourceTick
from torpor_operator.backfills.plan.progress import BackfillProgress
from torpor_operator.backfills.plan.snapshot import BackfillSnapshot, KnownRun, TemporaryObstacle
from torpor_operator.backfills.plan.sources import PermanentObstacle
from torpor_operator.backfills.plan.tick_decision import Create, Exists, Fail, LookUp, PassOver, TickDecision, TickRuns
from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import Need

PASS_TICKS = 100
TEMPLATE_INTERVAL = 10.0
"""Seconds between two reads of a WorkflowTemplate that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRequests:
    """What the ticks of a pass ask for, whether they are the last ones, and whether further ones can follow at once.

    `progress` is that behind the ticks. `starting` counts those that get a run, and `pending` the undecided ones.
    """

    progress: BackfillProgress
    creates: tuple[dict[str, Any], ...] = ()
    lookups: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    starting: int = 0
    pending: int = 0
    exhausted: bool = False
    again: bool = False

    @property
    def is_full(self) -> bool:
        """Whether to ask for nothing more. The longer the row of ticks with runs, the more are looked up at once."""
        free = self.progress.free
        return self.starting >= free or self.pending >= max(free, len(self.progress.passed_now))


@dataclass(frozen=True)  # no slots: a cached property needs the instance's dictionary
class BackfillPass:
    """The snapshot of one Backfill and what several decisions of its plan derive from it."""

    snapshot: BackfillSnapshot

    @cached_property
    def settled(self) -> tuple[BackfillProgress, tuple[str, ...]]:
        """The progress with the active runs that have ended, and the runs to look up: the cache may lag behind."""
        progress = BackfillProgress.stored(self.snapshot.backfill)
        live = {run.metadata.name: run for run in self.snapshot.runs}
        unknown: list[str] = []
        for name in progress.active:
            if name in live:
                progress = progress.settle(name, KnownRun.from_workflow(live[name]))
            elif name in self.snapshot.looked_up:
                progress = progress.settle(name, self.snapshot.looked_up[name])
            else:
                unknown.append(name)
        return progress, tuple(unknown)

    @cached_property
    def period(self) -> BackfillPeriod | TemporaryObstacle | PermanentObstacle:
        """The period of the ticks, or why there is none."""
        return sources.period_of(self.snapshot)

    @property
    def hold(self) -> TemporaryObstacle | None:
        """Why no run may be created now, although there is a period."""
        return sources.template_missing(self.snapshot) or self.snapshot.blocked

    @cached_property
    def requests(self) -> PassRequests:
        """What the next ticks ask for. A held Backfill only counts the runs that it has created just before."""
        (progress, _), spec, schedule = self.settled, self.snapshot.backfill.spec, self.snapshot.schedule
        if not isinstance(self.period, BackfillPeriod) or schedule is None:
            return PassRequests(progress=progress)
        runs = TickRuns.cached(self.snapshot, schedule)
        is_held = spec.cancel or spec.suspend or self.hold is not None
        return (_adopt if is_held else _decide_ticks)(self.period, runs, progress)


Decision: TypeAlias = Callable[[BackfillPass], BackfillPlan | None]


def plan(snapshot: BackfillSnapshot) -> BackfillPlan:
    """What to do next, and the status to store."""
    this_pass = BackfillPass(snapshot)
    return next(plan for decide in DECISIONS if (plan := decide(this_pass)) is not None)


def _keep_finished(this_pass: BackfillPass) -> BackfillPlan | None:
    """Keep the status of a Backfill that has ended."""
    backfill = this_pass.snapshot.backfill
    return BackfillPlan(status=status.finished(backfill)) if backfill.status.completion_time is not None else None


def _look_up_active(this_pass: BackfillPass) -> BackfillPlan | None:
    """Read the active runs that the cache lacks, unless the namespace permits no reads."""
    snapshot, (_, lookups) = this_pass.snapshot, this_pass.settled
    if not lookups or snapshot.blocked is not None:
        return None
    return BackfillPlan(lookups=lookups, status=snapshot.backfill.status)


def _request_for_ticks(this_pass: BackfillPass) -> BackfillPlan | None:
    """Ask for what the ticks need. No run is created before its WorkflowTemplate was found."""
    snapshot, requests = this_pass.snapshot, this_pass.requests
    if not requests.pending:
        return None
    reference = snapshot.schedule.spec.template_ref if snapshot.schedule else None
    unknown = reference is not None and snapshot.has_template is None and bool(requests.creates)
    return BackfillPlan(
        creates=() if unknown else requests.creates,
        lookups=requests.lookups,
        template=reference if unknown else None,
        needs=tuple(dict.fromkeys(requests.needs)),
        status=snapshot.backfill.status,
    )


def _store_progress(this_pass: BackfillPass) -> BackfillPlan:
    """Store the progress behind the ticks, and end the Backfill if it has none left."""
    snapshot, requests, period = this_pass.snapshot, this_pass.requests, this_pass.period
    progress, exhausted = requests.progress, requests.exhausted
    known, obstacle = (period, this_pass.hold) if isinstance(period, BackfillPeriod) else (None, period)
    verdict = status.verdict(snapshot.backfill, progress, obstacle, exhausted=exhausted)
    return BackfillPlan(
        status=status.build(snapshot, progress, known, verdict, exhausted=exhausted),
        notices=(*progress.events(again=requests.again), *status.events(verdict)),
        again_at=_again_at(snapshot, requests),
    )


DECISIONS: tuple[Decision, ...] = (
    _keep_finished,  # status.completionTime is set
    _look_up_active,  # the cache lacks runs that count as active: before another one is created
    _request_for_ticks,  # a tick needs a run, a read, or an evaluation: the cursor waits for its outcome
    _store_progress,  # none of the above: every tick of this pass is decided
)
"""The first that returns a plan decides; the last always does."""


def _again_at(snapshot: BackfillSnapshot, requests: PassRequests) -> float | None:
    if requests.again:
        return snapshot.now
    return snapshot.now + TEMPLATE_INTERVAL if snapshot.has_template is False else None


def _adopt(period: BackfillPeriod, runs: TickRuns, progress: BackfillProgress) -> PassRequests:
    """Count the runs that were created just before the Backfill was held, without creating others."""
    for tick in period.following(progress.cursor, PASS_TICKS):
        run = runs.own(tick)
        if run is None:
            return PassRequests(progress=progress)
        progress = progress.start(tick, run)
    return PassRequests(progress=progress, exhausted=not period.following(progress.cursor, 1))


def _decide_ticks(period: BackfillPeriod, runs: TickRuns, progress: BackfillProgress) -> PassRequests:
    """Decide ticks until `concurrency` is reached.

    While a tick is pending, the progress behind it is not stored. It still counts: a run that exists there is active.
    """
    requests = PassRequests(progress=progress)
    ticks = period.following(progress.cursor, PASS_TICKS)
    for tick in ticks:
        if requests.is_full:
            return requests
        requests = _with_tick(requests, tick, runs.decide(tick))
    is_limited = len(ticks) == PASS_TICKS
    return replace(
        requests, exhausted=not is_limited and not requests.pending, again=is_limited and not requests.pending
    )


def _with_tick(requests: PassRequests, tick: SourceTick, decision: TickDecision) -> PassRequests:
    """The requests with what follows from one more tick."""
    progress, starting, pending = requests.progress, requests.starting, requests.pending + 1
    match decision:
        case Create(body):
            return replace(requests, creates=(*requests.creates, body), starting=starting + 1, pending=pending)
        case LookUp(name):
            return replace(requests, lookups=(*requests.lookups, name), pending=pending)
        case Pending(needs):
            return replace(requests, needs=(*requests.needs, *needs), starting=starting + 1, pending=pending)
        case PassOver():
            return replace(requests, progress=progress.pass_over(tick))
        case Exists(run):
            return replace(requests, progress=progress.start(tick, run))
        case Fail(reason, message):
            return replace(requests, progress=progress.fail(tick, reason, message))
        case unexpected:
            assert_never(unexpected)
