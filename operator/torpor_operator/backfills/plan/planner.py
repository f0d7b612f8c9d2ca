"""Plans the next pass of a Backfill. Pure.

A pass decides at most `PASS_TICKS` ticks, in their order, and creates as many runs as `concurrency` permits.
The cursor of the status moves behind a tick only when its outcome is known, so a pass that is cut short is repeated.
"""

from dataclasses import dataclass, replace
from typing import Any, assert_never

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


def plan(snapshot: BackfillSnapshot) -> BackfillPlan:
    """What to do next, and the status to store."""
    backfill = snapshot.backfill
    if backfill.status.completion_time is not None:
        return BackfillPlan(status=status.finished(backfill))
    settled, lookups = _settle(snapshot, BackfillProgress.stored(backfill))
    if lookups and snapshot.blocked is None:
        return BackfillPlan(lookups=lookups, status=backfill.status)
    period = sources.period_of(snapshot)
    hold = sources.template_missing(snapshot) or snapshot.blocked
    requests = _next_ticks(snapshot, period, hold, settled)
    if requests.pending:
        return _request(snapshot, requests)
    progress, exhausted = requests.progress, requests.exhausted
    known, obstacle = (period, hold) if isinstance(period, BackfillPeriod) else (None, period)
    verdict = status.verdict(backfill, progress, obstacle, exhausted=exhausted)
    return BackfillPlan(
        status=status.build(snapshot, progress, known, verdict, exhausted=exhausted),
        notices=(*progress.events(again=requests.again), *status.events(verdict)),
        again_at=_again_at(snapshot, requests),
    )


def _next_ticks(
    snapshot: BackfillSnapshot,
    period: BackfillPeriod | TemporaryObstacle | PermanentObstacle,
    hold: TemporaryObstacle | None,
    progress: BackfillProgress,
) -> PassRequests:
    spec = snapshot.backfill.spec
    if not isinstance(period, BackfillPeriod) or snapshot.schedule is None:
        return PassRequests(progress=progress)
    runs = TickRuns.cached(snapshot, snapshot.schedule)
    if spec.cancel or spec.suspend or hold is not None:
        return _adopt(period, runs, progress)
    return _decide_ticks(period, runs, progress)


def _request(snapshot: BackfillSnapshot, requests: PassRequests) -> BackfillPlan:
    """A plan that asks for what the ticks need. No run is created before its WorkflowTemplate was found."""
    reference = snapshot.schedule.spec.template_ref if snapshot.schedule else None
    unknown = reference is not None and snapshot.has_template is None and bool(requests.creates)
    return BackfillPlan(
        creates=() if unknown else requests.creates,
        lookups=requests.lookups,
        template=reference.name if reference is not None and unknown else None,
        needs=tuple(dict.fromkeys(requests.needs)),
        status=snapshot.backfill.status,
    )


def _again_at(snapshot: BackfillSnapshot, requests: PassRequests) -> float | None:
    if requests.again:
        return snapshot.now
    return snapshot.now + TEMPLATE_INTERVAL if snapshot.has_template is False else None


def _settle(snapshot: BackfillSnapshot, progress: BackfillProgress) -> tuple[BackfillProgress, tuple[str, ...]]:
    """Count the active runs that have ended. Also returns those to look up: the cache may lag behind."""
    active = frozenset(progress.active)
    live = {run.metadata.name: run for run in snapshot.runs if run.metadata.name in active}
    unknown: list[str] = []
    for name in progress.active:
        if name in live:
            progress = progress.settle(name, KnownRun.from_workflow(live[name]))
        elif name in snapshot.looked_up:
            progress = progress.settle(name, snapshot.looked_up[name])
        else:
            unknown.append(name)
    return progress, tuple(unknown)


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
