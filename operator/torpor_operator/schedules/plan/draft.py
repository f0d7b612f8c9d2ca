"""The plan and the status of a Schedule while one pass builds them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from torpor_crds.models.run_of import RunOf
from torpor_crds.models.schedule_status import (
    FailedEvent,
    HandledEvent,
    LastRun,
    MissedTicks,
    PendingEvent,
    ScheduleStatus,
    SourceStatus,
)
from torpor_crds.models.taskrun import TaskRun
from torpor_wire import canonical, times, transitions
from torpor_wire.reason import Reason

from torpor_operator.model.actions import Need, Notice
from torpor_operator.schedules.plan.actions import Action, SchedulePlan
from torpor_operator.schedules.plan.event import REQUEST, ScheduleEvent
from torpor_operator.schedules.plan.missed import CatchUp
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot

_FAILED_EVENTS = 10
_EVENT_SHOWN = 1024


@dataclass(slots=True, kw_only=True)
class Draft:
    """Collects actions, needs, Events and changes of the status."""

    snapshot: ScheduleSnapshot
    status: ScheduleStatus
    sources: dict[str, SourceStatus]
    actions: list[Action] = field(default_factory=list)
    after_status: list[Action] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    due: list[float] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)  # by source: why its event waits

    @classmethod
    def of(cls, snapshot: ScheduleSnapshot) -> Self:
        """The draft that begins with the present status, and has an entry for each source of the spec."""
        former = {one.name: one for one in snapshot.schedule.status.sources}
        names = [source.name for source in snapshot.schedule.spec.sources]
        sources = {name: former.get(name) or SourceStatus(name=name) for name in names}
        return cls(snapshot=snapshot, status=snapshot.schedule.status, sources=sources)

    def plan(self) -> SchedulePlan:
        """The plan; one with needs has no actions."""
        if self.needs:
            return SchedulePlan(needs=tuple(dict.fromkeys(self.needs)))
        return SchedulePlan(
            actions=tuple(self.actions),
            after_status=tuple(self.after_status),
            status=self.status.model_copy(update={"sources": tuple(self.sources.values())}),
            notices=tuple(self.notices),
            again_at=min(self.due, default=None),
        )

    def update(self, **changes: object) -> None:
        """Change fields of the status."""
        self.status = self.status.model_copy(update=changes)

    def update_source(self, name: str, **changes: object) -> None:
        """Change fields of the status of a source."""
        self.sources[name] = self.sources[name].model_copy(update=changes)

    def is_handled(self, name: str, taskrun: TaskRun) -> bool:
        """Whether the outcome of the present event of a source is in the stored status."""
        handled, status = self.sources[name].handled, taskrun.status
        return handled is not None and handled == HandledEvent(
            uid=taskrun.metadata.uid, attempt=status.attempt, segment=status.segment
        )

    def handle(self, event: ScheduleEvent, taskrun: TaskRun) -> None:
        """Note that the event of a source has its outcome, which is stored with this status."""
        name, status = taskrun.spec.task, taskrun.status
        handled = HandledEvent(uid=taskrun.metadata.uid, attempt=status.attempt, segment=status.segment)
        former = self.sources[name]
        cursor = event.cursor if event.cursor is not None else former.cursor
        self.update_source(name, handled=handled, last=event.at, events=former.events + 1, cursor=cursor)
        self.update(last=max(event.at, self.status.last or event.at))

    def pass_over(self, source: str, caught_up: CatchUp) -> None:
        """Count missed ticks that are not run, and move the cursor of the source behind them."""
        self.update_source(source, cursor=times.rfc3339(caught_up.cursor))
        if not caught_up.missed or caught_up.last is None:
            return
        former, last = self.status.missed or MissedTicks(), times.rfc3339(caught_up.last)
        count = min(former.count + caught_up.missed, 2**31 - 1)
        self.update(missed=MissedTicks(count=count, last=max(last, former.last or last)))
        word = "tick" if caught_up.missed == 1 else "ticks"
        message = f"source {source}: {caught_up.missed} missed {word} not run, the last at {last}: spec.missed"
        self.notify(Reason.TICKS_MISSED, message, warning=True)

    def skip(self, event: ScheduleEvent, message: str) -> None:
        """Count an event without a run."""
        self.update(skipped=self.status.skipped + 1)
        self.notify(Reason.EVENT_SKIPPED, f"{event.title} skipped: {message}")

    def fail(self, event: ScheduleEvent, reason: str, message: str) -> None:
        """Count and keep an event that started no run because of an error.

        A user's request fails alone: it says nothing about the events of the sources.
        """
        shown = None if event.text is None else transitions.shorten(event.text, _EVENT_SHOWN)
        message = transitions.shorten(message)
        failed = FailedEvent(source=event.source, at=event.at, event=shown, reason=reason, message=message)
        self.update(
            failed=self.status.failed + 1,
            consecutive_failures=self.status.consecutive_failures + (event.origin != REQUEST),
            failed_events=(*self.status.failed_events, failed)[-_FAILED_EVENTS:],
        )
        self.notify(Reason.EVENT_FAILED, f"{event.title} started no run: {message}", warning=True)

    def start(self, name: str, run_of: RunOf, *, queued: bool = False, origin: str = "its sources") -> None:
        """Note a run that the actions of this plan create. `origin` is what started it, if no single source did."""
        self.update(started=self.status.started + 1, last_run=LastRun(name=name, at=run_of.at, source=run_of.source))
        reason = Reason.RUN_QUEUED if queued else Reason.RUN_STARTED
        origin = f"source {run_of.source}" if run_of.source else origin
        verb = "queued" if queued else "started"
        self.notify(reason, f"{verb} {name} for {origin} at {run_of.at}")

    def set_pending(self, name: str, event: ScheduleEvent) -> None:
        """Keep the event until the other sources of `allOf` have one."""
        pending = PendingEvent(at=event.at, event=event.text, key=canonical.digest(event.key)[:32])
        self.update_source(name, pending=pending)

    def notify(self, reason: Reason, message: str, *, warning: bool = False) -> None:
        """Post an Event."""
        self.notices.append(Notice(reason=reason, message=message, warning=warning))

    def wait_until(self, moments: Iterable[float | None]) -> None:
        """Plan again at these times."""
        self.due += [moment for moment in moments if moment is not None]
