"""What the tasks of a run ask for in one plan: steps of the TaskRuns there are, pods, and new TaskRuns.

Pods and TaskRuns are created a batch at a time: each that came to be is reported, which asks for the next plan.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import WorkflowSpec
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.model.actions import Action, CreatePod, CreateTaskRun, Need, Plan, PostEvent
from torpor_operator.model.snapshot import PodContext, Snapshot
from torpor_operator.plan.task_plan import TaskPlan
from torpor_operator.taskrun import pod_builder, pod_startup, transitions
from torpor_operator.taskrun.step import Step, TaskRunView, soonest

T = TypeVar("T")


def _none(_: object) -> bool:
    """What is not there yet holds nothing."""
    return False


@dataclass(slots=True, kw_only=True)
class Room:
    """Slots that are left; they are taken in the order in which they are asked for.

    Those of pools are known roughly, as others take them too: who has the last one is decided when it is done. What
    finds its pool full is asked for after all else, lest it keep others from the Workflow's own slots.
    """

    slots: int
    limits: Mapping[str, int]
    held: Counter[str]
    pool_of: Mapping[str, str]
    pools: dict[str, int]
    refused: dict[str, Reason] = field(default_factory=dict)  # by task: what the first instance that found none lacks

    @classmethod
    def of(cls, spec: WorkflowSpec, holders: Iterable[TaskRun], free: Callable[[str], int | None]) -> Self:
        """What is left beside those that hold a slot; `free` are the slots of a pool."""
        held = Counter(run.spec.task for run in holders)
        limits = {task.name: task.max_active for task in spec.tasks if task.max_active is not None}
        pool_of = {task.name: task.pool for task in spec.tasks if task.pool is not None}
        pools = {pool: free(pool) or 0 for pool in set(pool_of.values())}
        return cls(slots=spec.parallelism - held.total(), limits=limits, held=held, pool_of=pool_of, pools=pools)

    def chosen(self, wanting: Iterable[tuple[str, T]], holds: Callable[[T], bool] = _none) -> list[T]:
        """Which of these, each with its task, may be begun: those whose pool is full stand behind all others.

        What `holds` a slot of its pool asks for no more: behind one that has none, each would wait for the other's.
        """
        open_, full = list[tuple[str, T]](), list[tuple[str, T]]()
        for task, one in wanting:
            pool = None if holds(one) else self.pool_of.get(task)
            if pool is not None:
                self.pools[pool] -= 1
            (full if pool is not None and self.pools[pool] < 0 else open_).append((task, one))
        self.refused |= {task: Reason.POOL_FULL for task, _ in full if task not in self.refused}
        return [one for task, one in (*open_, *full) if self.take(task)]

    def take(self, task: str) -> bool:
        """Take one for a TaskRun of this task, if there is one."""
        if self.held[task] >= self.limits.get(task, self.held[task] + 1):
            self.refused.setdefault(task, Reason.MAX_ACTIVE_REACHED)
            return False
        if self.slots <= 0:
            self.refused.setdefault(task, Reason.PARALLELISM_REACHED)
            return False
        self.slots -= 1
        self.held[task] += 1
        return True


def build_plan(snapshot: Snapshot, turns: Sequence[TaskPlan]) -> Plan:
    """What these tasks ask for."""
    workflow, batch = snapshot.workflow, snapshot.settings.batch
    views = [view_of(snapshot, run.metadata.name) for turn in turns for run in turn.runs]
    readers = pod_startup.readers(views)
    steps = [transitions.next_step(_reading(view, readers)) for view in views]
    holders = [view.taskrun for view in views if _holds_slot(snapshot, view)]
    room = Room.of(workflow.spec, holders, snapshot.slots)
    waiting = [view.taskrun for view, step in zip(views, steps, strict=True) if step.wants_pod]
    waiting.sort(key=lambda run: (run.status.segment == 0, run.metadata.creation_timestamp, run.spec.map_index))
    launched = room.chosen(((run.spec.task, run) for run in waiting), holds=snapshot.holds)
    # A run that was stopped starts nothing but hooks, also while it is suspended.
    starts = [] if workflow.spec.suspend and not workflow.spec.stop else _starts(turns, room)
    return Plan(
        actions=(*_actions(steps), *_launches(snapshot, launched[:batch]), *starts[:batch]),
        needs=_needs(turns, steps),
        events=_events(steps),
        again_at=soonest(step.again_at for step in steps),
        waiting=dict(room.refused),
    )


def prepend_steps(made: Plan, steps: Sequence[Step]) -> Plan:
    """A plan with these steps before its own."""
    return replace(
        made,
        actions=(*_actions(steps), *made.actions),
        needs=(*_needs((), steps), *made.needs),
        events=(*_events(steps), *made.events),
        again_at=soonest([made.again_at, *(step.again_at for step in steps)]),
    )


def view_of(snapshot: Snapshot, name: str) -> TaskRunView:
    """A TaskRun as this plan sees it."""
    taskrun = snapshot.taskruns[name]
    return TaskRunView(
        taskrun=taskrun,
        pods=snapshot.pods.get(taskrun.metadata.uid, ()),
        unclear=snapshot.unclear.get(taskrun.metadata.uid),
        pool=snapshot.pools(taskrun.spec.trigger_pool),
        known=snapshot.known,
        settings=snapshot.settings,
        now=snapshot.now,
    )


def _reading(view: TaskRunView, readers: frozenset[str]) -> TaskRunView:
    return replace(view, reads_events=True) if view.taskrun.metadata.uid in readers else view


def _launches(snapshot: Snapshot, runs: Sequence[TaskRun]) -> list[CreatePod]:
    chosen = {task.name: task.pod for task in snapshot.workflow.spec.tasks}
    return [
        CreatePod(taskrun=run, body=pod_builder.build(run, _around(snapshot, run), chosen.get(run.spec.task)))
        for run in runs
    ]


def _around(snapshot: Snapshot, run: TaskRun) -> PodContext:
    """A sensor that would wait where nobody serves the pool pokes by itself instead (AIP-17's fallback)."""
    pool, asked = snapshot.pools(run.spec.trigger_pool), snapshot.workflow.spec.deferrable
    return PodContext(
        service_account=snapshot.settings.task_service_account,
        deferrable=snapshot.settings.deferrable if asked is None else asked,
        served=pool.served,
        seal_key=pool.seal_key,
        archive=snapshot.archive,
        defaults=snapshot.settings.pod_defaults(),
    )


def _starts(turns: Sequence[TaskPlan], room: Room) -> list[CreateTaskRun]:
    """New TaskRuns in the order of the graph: as many as there are slots left, and all waits that take none.

    Within groups depth first: what is next at one index comes before what is first at a later one.
    """
    free = [body for turn in turns if not turn.needs_slot for body in turn.starts]
    wanting = [(turn.outcome.task, body) for turn in turns if turn.needs_slot for body in turn.starts]
    wanting.sort(key=lambda one: one[1]["spec"].get("groupIndexes", []))
    return [CreateTaskRun(body=body) for body in (*free, *room.chosen(wanting))]


def _holds_slot(snapshot: Snapshot, view: TaskRunView) -> bool:
    """Whether the TaskRun takes one of the Workflow's slots; a deferred one only where the spec says so."""
    match view.taskrun.status.state:
        case State.RUNNING:
            return True
        case State.DEFERRED:
            return snapshot.workflow.spec.count_deferred
        case State.SCHEDULED if view.waits_first:
            return snapshot.workflow.spec.count_deferred
        case State.SCHEDULED:
            return view.current_pod is not None
        case _:
            return False


def _actions(steps: Iterable[Step]) -> tuple[Action, ...]:
    return tuple(action for step in steps for action in step.actions)


def _events(steps: Iterable[Step]) -> tuple[PostEvent, ...]:
    return tuple(event for step in steps for event in step.events)


def _needs(turns: Sequence[TaskPlan], steps: Sequence[Step]) -> tuple[Need, ...]:
    wanted = [need for turn in turns for need in turn.needs] + [need for step in steps for need in step.needs]
    return tuple(dict.fromkeys(wanted))
