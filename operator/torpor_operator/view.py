"""One TaskRun as a plan sees it, and what may follow for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torpor_api.taskrun import TaskRun

from torpor_operator.actions import Action, Need, PostEvent
from torpor_operator.pods import Pod, name_of
from torpor_operator.settings import Settings
from torpor_operator.snapshot import Answer
from torpor_operator.surroundings import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A TaskRun as one plan sees it."""

    taskrun: TaskRun
    pods: tuple[Pod, ...]
    unclear: str | None  # the name of a pod that may have been created, or not
    pool: Pool
    known: Mapping[Need, Answer]
    settings: Settings
    now: float
    reads_events: bool = False  # whether the Events of its pod may be read, where that does not start

    @property
    def waits_first(self) -> bool:
        """Whether the TaskRun begins with a wait that has not been left to the triggerer yet."""
        return self.taskrun.spec.trigger is not None and self.taskrun.status.segment == 0

    @property
    def current_pod(self) -> Pod | None:
        """The pod of the present attempt, segment and launch."""
        name = name_of(self.taskrun)
        return next((pod for pod in self.pods if pod.name == name), None)

    @property
    def former_pods(self) -> tuple[Pod, ...]:
        """Pods of earlier segments, launches or attempts that may still run a process."""
        name = name_of(self.taskrun)
        return tuple(pod for pod in self.pods if pod.name != name and not pod.terminal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What follows for one TaskRun. `wants_pod`: it is Scheduled, and nothing but a free slot is missing."""

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    again_at: float | None = None
    wants_pod: bool = False
    events: tuple[PostEvent, ...] = ()


NOTHING = Step()


def both(one: Step, other: Step) -> Step:
    """Two steps at once."""
    return Step(
        actions=(*one.actions, *other.actions),
        needs=(*one.needs, *other.needs),
        again_at=soonest((one.again_at, other.again_at)),
        wants_pod=one.wants_pod or other.wants_pod,
        events=(*one.events, *other.events),
    )


def soonest(moments: Iterable[float | None]) -> float | None:
    """The first of the moments there are, None where there is none."""
    return min((moment for moment in moments if moment is not None), default=None)
