"""How far a Backfill is: the counters and the position of its status while one pass advances them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from torpor_crds.models.backfill import Backfill
from torpor_wire import constants, times, transitions
from torpor_wire.reason import Reason

from torpor_operator.backfills.plan.period import SourceTick
from torpor_operator.backfills.plan.snapshot import KnownRun, RunOutcome
from torpor_operator.model.actions import Notice


@dataclass(slots=True, kw_only=True)
class BackfillProgress:
    """The counters, the active runs, the position, and the Events about what this pass adds to them."""

    backfill: Backfill
    cursor: SourceTick | None
    passed: int
    started: int
    succeeded: int
    failed: int
    last_failure: str | None
    active: list[str]
    notices: list[Notice] = field(default_factory=list)
    passed_now: list[SourceTick] = field(default_factory=list)

    @classmethod
    def of(cls, backfill: Backfill) -> Self:
        """The progress that is stored."""
        status = backfill.status
        has_cursor = status.cursor is not None and status.cursor_source is not None
        return cls(
            backfill=backfill,
            cursor=SourceTick(times.epoch(status.cursor or ""), status.cursor_source or "") if has_cursor else None,
            passed=status.passed,
            started=status.started,
            succeeded=status.succeeded,
            failed=status.failed,
            last_failure=status.last_failure,
            active=list(status.active_runs),
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
    def room(self) -> int:
        """How many further runs may be active."""
        return max(self.backfill.spec.concurrency - len(self.active), 0)

    def pass_over(self, tick: SourceTick) -> None:
        """Move behind a tick that needs no run."""
        self.cursor = tick
        self.passed += 1
        self.passed_now.append(tick)

    def start(self, tick: SourceTick, run: KnownRun) -> None:
        """Move behind a tick whose run this Backfill has created."""
        self.cursor = tick
        self.started += 1
        self.active.append(run.name)
        self._notify(Reason.RUN_STARTED, f"started {run.name} for {title(tick)}")
        self.settle(run.name, run)

    def fail(self, tick: SourceTick, reason: str, message: str) -> None:
        """Move behind a tick that has no run because of an error."""
        self.cursor = tick
        self._fail(f"{title(tick)} has no run: {message}")
        self._notify(reason, self.last_failure or "", warning=True)

    def settle(self, name: str, run: KnownRun | None) -> None:
        """Count an active run that has ended, or that is gone."""
        match run.outcome if run is not None else None:
            case RunOutcome.ACTIVE:
                return
            case RunOutcome.SUCCEEDED:
                self.succeeded += 1
            case RunOutcome.FAILED:
                self._fail(f"run {name} failed")
            case None:
                self._fail(f"run {name} was deleted")
        self.active.remove(name)

    def events(self, *, again: bool) -> Iterable[Notice]:
        """The Events of this pass. Ticks that were passed over have one when no further ones follow at once."""
        if self.passed_now and not again:
            last = self.passed_now[-1]
            ticks = "1 tick" if self.passed == 1 else f"{self.passed} ticks"
            message = f"passed over {ticks} so far, the last: {title(last)}"
            yield Notice(reason=Reason.TICKS_PASSED, message=message)
        yield from self.notices

    def _fail(self, message: str) -> None:
        self.failed += 1
        self.last_failure = transitions.shorten(message, constants.MESSAGE_MAX)

    def _notify(self, reason: str, message: str, *, warning: bool = False) -> None:
        self.notices.append(Notice(reason=reason, message=message, warning=warning))


def title(tick: SourceTick) -> str:
    """The tick as the subject of a sentence."""
    return f"tick {times.rfc3339(tick.at)} of source {tick.source}"
