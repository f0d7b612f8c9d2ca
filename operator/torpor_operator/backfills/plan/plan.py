"""Plans the next pass of a Backfill. Pure.

A pass decides at most `PASS_TICKS` ticks, in their order, and creates as many runs as `concurrency` leaves room for.
The cursor of the status moves behind a tick only when its outcome is known, so a pass that is cut short is repeated.
"""

from dataclasses import dataclass, field
from typing import Any, assert_never

from torpor_operator.backfills.plan import sources, status
from torpor_operator.backfills.plan.actions import BackfillPlan
from torpor_operator.backfills.plan.period import BackfillPeriod
from torpor_operator.backfills.plan.progress import BackfillProgress
from torpor_operator.backfills.plan.snapshot import BackfillSnapshot, KnownRun, TemporaryObstacle
from torpor_operator.backfills.plan.sources import PermanentObstacle
from torpor_operator.backfills.plan.tick_decision import Create, Exists, Fail, LookUp, PassOver, TickRuns
from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import Need

PASS_TICKS = 100
TEMPLATE_INTERVAL = 10.0
"""Seconds between two reads of a WorkflowTemplate that does not exist."""


@dataclass(slots=True, kw_only=True)
class PassRequests:
    """What the ticks of a pass ask for, whether they are the last ones, and whether further ones can follow at once.

    `starting` counts the ticks that get a run, and `pending` those that are not decided yet.
    """

    creates: list[dict[str, Any]] = field(default_factory=list)
    lookups: list[str] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    starting: int = 0
    pending: int = 0
    exhausted: bool = False
    again: bool = False

    def is_full(self, progress: BackfillProgress) -> bool:
        """Whether to ask for nothing more. The longer the row of ticks with runs, the more are looked up at once."""
        if self.starting >= progress.room:
            return True
        return self.pending >= max(progress.room, len(progress.passed_now))


def plan(snapshot: BackfillSnapshot) -> BackfillPlan:
    """What to do next, and the status to store."""
    backfill = snapshot.backfill
    if backfill.status.completion_time is not None:
        return BackfillPlan(status=status.finished(backfill))
    progress = BackfillProgress.of(backfill)
    lookups = _settle(snapshot, progress)
    if lookups and snapshot.blocked is None:
        return BackfillPlan(lookups=tuple(lookups), status=backfill.status)
    period = sources.period_of(snapshot)
    hold = sources.template_missing(snapshot) or snapshot.blocked
    walk = _next_ticks(snapshot, period, hold, progress)
    if walk.pending:
        return _request(snapshot, walk)
    known, obstacle = (period, hold) if isinstance(period, BackfillPeriod) else (None, period)
    verdict = status.verdict(backfill, progress, obstacle, exhausted=walk.exhausted)
    return BackfillPlan(
        status=status.build(snapshot, progress, known, verdict, exhausted=walk.exhausted),
        notices=(*progress.events(again=walk.again), *status.events(verdict)),
        again_at=_again_at(snapshot, walk),
    )


def _next_ticks(
    snapshot: BackfillSnapshot,
    period: BackfillPeriod | TemporaryObstacle | PermanentObstacle,
    hold: TemporaryObstacle | None,
    progress: BackfillProgress,
) -> PassRequests:
    spec = snapshot.backfill.spec
    if not isinstance(period, BackfillPeriod) or snapshot.schedule is None:
        return PassRequests()
    runs = TickRuns.of(snapshot, snapshot.schedule)
    if spec.cancel or spec.suspend or hold is not None:
        return _adopt(period, runs, progress)
    return _walk(period, runs, progress)


def _request(snapshot: BackfillSnapshot, walk: PassRequests) -> BackfillPlan:
    """A plan that asks for what the ticks need. No run is created before its WorkflowTemplate was found."""
    reference = snapshot.schedule.spec.template_ref if snapshot.schedule else None
    unknown = reference is not None and snapshot.has_template is None and bool(walk.creates)
    return BackfillPlan(
        creates=() if unknown else tuple(walk.creates),
        lookups=tuple(walk.lookups),
        template=reference.name if reference is not None and unknown else None,
        needs=tuple(dict.fromkeys(walk.needs)),
        status=snapshot.backfill.status,
    )


def _again_at(snapshot: BackfillSnapshot, walk: PassRequests) -> float | None:
    if walk.again:
        return snapshot.now
    return snapshot.now + TEMPLATE_INTERVAL if snapshot.has_template is False else None


def _settle(snapshot: BackfillSnapshot, progress: BackfillProgress) -> list[str]:
    """Count the active runs that have ended. Returns those to look up: the cache may lag behind."""
    active = frozenset(progress.active)
    live = {run.metadata.name: run for run in snapshot.runs if run.metadata.name in active}
    unknown: list[str] = []
    for name in tuple(progress.active):
        if name in live:
            progress.settle(name, KnownRun.of(live[name]))
        elif name in snapshot.found:
            progress.settle(name, snapshot.found[name])
        else:
            unknown.append(name)
    return unknown


def _adopt(period: BackfillPeriod, runs: TickRuns, progress: BackfillProgress) -> PassRequests:
    """Count the runs that were created just before the Backfill was held, without creating others."""
    for tick in period.following(progress.cursor, PASS_TICKS):
        run = runs.own(tick)
        if run is None:
            return PassRequests()
        progress.start(tick, run)
    return PassRequests(exhausted=not period.following(progress.cursor, 1))


def _walk(period: BackfillPeriod, runs: TickRuns, progress: BackfillProgress) -> PassRequests:
    """Decide ticks until `concurrency` is reached.

    While a tick is pending, the progress behind it is not stored. It still counts: a run that exists there is active.
    """
    walk = PassRequests()
    ticks = period.following(progress.cursor, PASS_TICKS)
    for tick in ticks:
        if walk.is_full(progress):
            return walk
        decision = runs.decide(tick)
        match decision:
            case Create(body):
                walk.creates.append(body)
            case LookUp(name):
                walk.lookups.append(name)
            case Pending(needs):
                walk.needs += needs
            case PassOver():
                progress.pass_over(tick)
            case Exists(run):
                progress.start(tick, run)
            case Fail(reason, message):
                progress.fail(tick, reason, message)
            case unexpected:
                assert_never(unexpected)
        walk.starting += isinstance(decision, Create | Pending)
        walk.pending += isinstance(decision, Create | Pending | LookUp)
    walk.exhausted = len(ticks) < PASS_TICKS and not walk.pending
    walk.again = len(ticks) == PASS_TICKS and not walk.pending
    return walk
