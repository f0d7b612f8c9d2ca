"""The status of a Backfill and its conditions, computed from its progress. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from torpor_crds.models.backfill import Backfill, BackfillStatus
from torpor_crds.models.base import Condition
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator.backfills.plan.period import BackfillPeriod
from torpor_operator.backfills.plan.progress import BackfillProgress
from torpor_operator.backfills.plan.snapshot import BackfillSnapshot, TemporaryObstacle
from torpor_operator.backfills.plan.sources import PermanentObstacle
from torpor_operator.model.actions import Notice
from torpor_operator.state import conditions

COUNT_MAX = 10_000
"""Ticks that are counted ahead."""
_IN_PROGRESS = frozenset({"Running", "Suspended", "Cancelling"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillVerdict:
    """State and condition `Succeeded` of the Backfill."""

    state: str
    succeeded: str  # True, False or Unknown
    reason: str
    message: str = ""

    @property
    def final(self) -> bool:
        """Whether the Backfill has ended."""
        return self.succeeded != "Unknown"


def verdict(
    backfill: Backfill,
    progress: BackfillProgress,
    obstacle: TemporaryObstacle | PermanentObstacle | None,
    *,
    exhausted: bool,
) -> BackfillVerdict:
    """The verdict. The Backfill ends when no run of it is active any more."""
    spec, active = backfill.spec, bool(progress.active)
    if spec.cancel:
        message = f"cancelled after {_number(progress.decided, 'tick')}"
        state = "Cancelling" if active else "Cancelled"
        return BackfillVerdict(
            state=state, succeeded="Unknown" if active else "False", reason=Reason.CANCELLED, message=message
        )
    if isinstance(obstacle, PermanentObstacle):
        state = "Running" if active else "Failed"
        return BackfillVerdict(
            state=state, succeeded="Unknown" if active else "False", reason=obstacle.reason, message=obstacle.message
        )
    if exhausted and not active:
        return _end(progress)
    if spec.suspend:
        return BackfillVerdict(state="Suspended", succeeded="Unknown", reason="Suspended", message=_failures(progress))
    if obstacle is not None:
        return BackfillVerdict(state="Waiting", succeeded="Unknown", reason=obstacle.reason, message=obstacle.message)
    return BackfillVerdict(state="Running", succeeded="Unknown", reason="Running", message=_failures(progress))


def _end(progress: BackfillProgress) -> BackfillVerdict:
    if progress.failed:
        return BackfillVerdict(
            state="Failed", succeeded="False", reason=Reason.RUNS_FAILED, message=_failures(progress)
        )
    counts = f"{_number(progress.succeeded, 'run')} succeeded, {_number(progress.passed, 'tick')} passed over"
    message = counts if progress.decided else "the period has no ticks before the start of the Backfill"
    return BackfillVerdict(state="Succeeded", succeeded="True", reason=Reason.SUCCEEDED, message=message)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _failures(progress: BackfillProgress) -> str:
    if not progress.failed:
        return ""
    return f"{progress.failed} of {progress.decided} ticks failed; the last: {progress.last_failure or ''}"


def build(
    snapshot: BackfillSnapshot,
    progress: BackfillProgress,
    period: BackfillPeriod | None,
    verdict: BackfillVerdict,
    *,
    exhausted: bool,
) -> BackfillStatus:
    """The status to store; equal to the present one if nothing has changed. `period` is None if it is unknown."""
    backfill, former = snapshot.backfill, snapshot.backfill.status
    generation = snapshot.schedule.metadata.generation if snapshot.schedule and period else former.schedule_generation
    ticks, more = _ticks(former, progress, period, generation, exhausted=exhausted)
    cursor = progress.cursor
    now = times.rfc3339(snapshot.now)
    return BackfillStatus(
        observed_generation=backfill.metadata.generation,
        state=verdict.state,
        progress=f"{progress.finished}/{ticks}{'+' if more else ''}",
        ticks=ticks,
        more_ticks=more,
        schedule_generation=generation,
        cursor=times.rfc3339(cursor.at) if cursor else None,
        cursor_source=cursor.source if cursor else None,
        passed=progress.passed,
        started=progress.started,
        active=len(progress.active),
        active_runs=tuple(progress.active),
        succeeded=progress.succeeded,
        failed=progress.failed,
        last_failure=progress.last_failure,
        start_time=former.start_time or now,
        completion_time=now if verdict.final else None,
        conditions=_conditions(former, verdict, snapshot.now),
    )


def finished(backfill: Backfill) -> BackfillStatus:
    """The status of a Backfill that has ended; it only follows the generation of the spec."""
    return backfill.status.model_copy(update={"observed_generation": backfill.metadata.generation})


def events(verdict: BackfillVerdict) -> Sequence[Notice]:
    """An Event when the Backfill ends, and when it begins to wait."""
    if not verdict.final and verdict.state in _IN_PROGRESS:
        return ()
    warning = verdict.state in {"Failed", "Waiting"}
    return (Notice(reason=verdict.reason, message=verdict.message, warning=warning),)


def _ticks(
    former: BackfillStatus,
    progress: BackfillProgress,
    period: BackfillPeriod | None,
    generation: int,
    *,
    exhausted: bool,
) -> tuple[int, bool]:
    """The number of ticks, and whether there are more. Counted again when it is used up or the Schedule changes."""
    if exhausted:
        return progress.decided, False
    used_up = former.more_ticks and progress.decided >= former.ticks
    counted = former.start_time is not None and generation == former.schedule_generation and not used_up
    if period is None or counted:
        return max(former.ticks, progress.decided), former.more_ticks
    limit = COUNT_MAX - progress.decided % COUNT_MAX
    rest = period.count(progress.cursor, limit)
    return progress.decided + rest.number, rest.more


def _conditions(former: BackfillStatus, verdict: BackfillVerdict, now: float) -> tuple[Condition, ...]:
    stalled = verdict.state in {"Failed", "Waiting"}
    progressing = verdict.state if verdict.state in _IN_PROGRESS else verdict.reason
    wanted = (
        ("Succeeded", verdict.succeeded, verdict.reason, verdict.message),
        ("Reconciling", "False" if verdict.final else "True", progressing, ""),
        ("Stalled", "True" if stalled else "False", verdict.reason, verdict.message if stalled else ""),
    )
    return conditions.updated(former.conditions, wanted, now)
