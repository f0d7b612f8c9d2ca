"""What one pass of a Schedule knows and asks for, as values.

A decision takes the state that earlier decisions left, and returns a conclusion: the state after it, and what it adds
to the plan. The planner applies its decisions one after the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from torpor_crds.models.schedule_status import HandledEvent, ScheduleStatus, SourceStatus
from torpor_crds.models.taskrun import TaskRun

from torpor_operator.model.actions import Need, Notice
from torpor_operator.scheduled_runs.event import ScheduleEvent
from torpor_operator.schedules.plan.actions import Action, SchedulePlan
from torpor_operator.schedules.plan.concurrency import ConcurrencyLimit
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class PassState:
    """The snapshot, and what the decisions of this pass have concluded so far."""

    snapshot: ScheduleSnapshot
    status: ScheduleStatus  # its sources are in `sources`
    sources: Mapping[str, SourceStatus]
    limit: ConcurrencyLimit
    created: tuple[str, ...] = ()  # the names of the runs that this pass creates
    held: str = ""  # why the first event that waits does
    pauses: bool = False  # whether this pass suspends the Schedule

    @classmethod
    def stored(cls, snapshot: ScheduleSnapshot) -> Self:
        """The state with the stored status, and with an entry for each source of the spec."""
        schedule = snapshot.schedule
        former = {source.name: source for source in schedule.status.sources}
        names = [source.name for source in schedule.spec.sources]
        return cls(
            snapshot=snapshot,
            status=schedule.status,
            sources={name: former.get(name) or SourceStatus(name=name) for name in names},
            limit=ConcurrencyLimit.with_runs(schedule.spec, snapshot.runs),
        )

    def with_status(self, **changes: object) -> Self:
        """The state with other values of fields of the status."""
        return replace(self, status=self.status.model_copy(update=changes))

    def with_source(self, name: str, **changes: object) -> Self:
        """The state with other values of fields of the status of a source."""
        return replace(self, sources={**self.sources, name: self.sources[name].model_copy(update=changes)})

    def is_handled(self, name: str, taskrun: TaskRun) -> bool:
        """Whether the outcome of the present event of a source is in the status."""
        return self.sources[name].handled == _position(taskrun)

    def with_handled(self, event: ScheduleEvent, taskrun: TaskRun) -> Self:
        """The state in which the event of a source has its outcome, which is stored with this status."""
        name = taskrun.spec.task
        former = self.sources[name]
        cursor = event.cursor if event.cursor is not None else former.cursor
        handled = self.with_source(
            name, handled=_position(taskrun), last=event.at, events=former.events + 1, cursor=cursor
        )
        return handled.with_status(last=max(event.at, self.status.last or event.at))


def _position(taskrun: TaskRun) -> HandledEvent:
    status = taskrun.status
    return HandledEvent(uid=taskrun.metadata.uid, attempt=status.attempt, segment=status.segment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The state after a decision, and what the decision adds to the plan."""

    state: PassState
    actions: tuple[Action, ...] = ()
    after_status: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    notices: tuple[Notice, ...] = ()
    due: tuple[float, ...] = ()  # when to plan again

    def then(self, decide: "PassDecision") -> "Conclusion":
        """The conclusion of this decision and of the next one."""
        following = decide(self.state)
        return Conclusion(
            state=following.state,
            actions=(*self.actions, *following.actions),
            after_status=(*self.after_status, *following.after_status),
            needs=(*self.needs, *following.needs),
            notices=(*self.notices, *following.notices),
            due=(*self.due, *following.due),
        )

    def plan(self) -> SchedulePlan:
        """The plan; one with needs has no actions."""
        if self.needs:
            return SchedulePlan(needs=tuple(dict.fromkeys(self.needs)))
        state = self.state
        return SchedulePlan(
            actions=self.actions,
            after_status=self.after_status,
            status=state.status.model_copy(update={"sources": tuple(state.sources.values())}),
            notices=self.notices,
            again_at=min(self.due, default=None),
        )


PassDecision = Callable[[PassState], Conclusion]
"""A decision of a pass."""
