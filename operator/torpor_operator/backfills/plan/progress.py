"""How far a Backfill is: the counters and the position of its status, and what one pass adds. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from torpor_crds.models.backfill import Backfill
from torpor_wire import constants, times, transitions
from torpor_wire.reason import Reason

from torpor_operator.backfills.plan.period import SourceTick
from torpor_operator.backfills.plan.snapshot import KnownRun, RunOutcome
from torpor_operator.model.actions import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress:
    """The counters, the active runs, the position, and the Events about what this pass adds to them."""

    concurrency: int
    cursor: SourceTick | None
    passed: int
    started: int
    succeeded: int
    failed: int
    last_failure: str | None
    active: tuple[str, ...]
    notices: tuple[Notice, ...] = ()
    passed_now: tuple[SourceTick, ...] = ()

    @classmethod
    def stored(cls, backfill: Backfill) -> Self:
        """The progress that the status has."""
        status = backfill.status
        has_cursor = status.cursor is not None and status.cursor_source is not None
        return cls(
            concurrency=backfill.spec.concurrency,
            cursor=SourceTick(times.epoch(status.cursor or ""), status.cursor_source or "") if has_cursor else None,
            passed=status.passed,
            started=status.started,
            succeeded=status.succeeded,
            failed=status.failed,
            last_failure=status.last_failure,
            active=tuple(status.active_runs),
        )

    @property
    def decided(self) -> int:
        """The number of ticks up to the cursor: each was passed over, or has a run, or failed without one."""
        return self.passed + self.succeeded + self.failed + len(self.active)

    @property
    def finished(self) -> int:
        """The number of ticks of which nothing is awaited any more."""
        return self.decided - len(self.active)

    @property
    def free(self) -> int:
        """How many further runs may be active."""
        return max(self.concurrency - len(self.active), 0)

    def pass_over(self, tick: SourceTick) -> "BackfillProgress":
        """The progress behind a tick that needs no run."""
        return replace(self, cursor=tick, passed=self.passed + 1, passed_now=(*self.passed_now, tick))

    def start(self, tick: SourceTick, run: KnownRun) -> "BackfillProgress":
        """The progress behind a tick whose run this Backfill has created."""
        message = f"started {run.name} for {title(tick)}"
        started = replace(self, cursor=tick, started=self.started + 1, active=(*self.active, run.name))
        return _with_notice(started, Reason.RUN_STARTED, message).settle(run.name, run)

    def fail(self, tick: SourceTick, reason: str, message: str) -> "BackfillProgress":
        """The progress behind a tick that has no run because of an error."""
        failed = _with_failure(replace(self, cursor=tick), f"{title(tick)} has no run: {message}")
        return _with_notice(failed, reason, failed.last_failure or "", warning=True)

    def settle(self, name: str, run: KnownRun | None) -> "BackfillProgress":
        """The progress without an active run that has ended, or that is gone."""
        outcome = None if run is None else run.outcome
        if outcome is RunOutcome.ACTIVE:
            return self
        place = self.active.index(name)
        ended = replace(self, active=(*self.active[:place], *self.active[place + 1 :]))
        if outcome is RunOutcome.SUCCEEDED:
            return replace(ended, succeeded=self.succeeded + 1)
        return _with_failure(ended, f"run {name} {'was deleted' if outcome is None else 'failed'}")

    def events(self, *, again: bool) -> Iterable[Notice]:
        """The Events of this pass. Ticks that were passed over have one when no further ones follow at once."""
        if self.passed_now and not again:
            last = self.passed_now[-1]
            ticks = "1 tick" if self.passed == 1 else f"{self.passed} ticks"
            message = f"passed over {ticks} so far, the last: {title(last)}"
            yield Notice(reason=Reason.TICKS_PASSED, message=message)
        yield from self.notices


def _with_failure(progress: BackfillProgress, message: str) -> BackfillProgress:
    shown = transitions.shorten(message, constants.MESSAGE_MAX)
    return replace(progress, failed=progress.failed + 1, last_failure=shown)


def _with_notice(progress: BackfillProgress, reason: str, message: str, *, warning: bool = False) -> BackfillProgress:
    notice = Notice(reason=reason, message=message, warning=warning)
    return replace(progress, notices=(*progress.notices, notice))


def title(tick: SourceTick) -> str:
    """The tick as the subject of a sentence."""
    return f"tick {times.rfc3339(tick.at)} of source {tick.source}"
