"""The actions of one plan: the steps of existing TaskRuns, new pods, and new TaskRuns. Pure.

Pods and TaskRuns are created one batch at a time; each creation triggers the next plan.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from torpor_crds.models.pod_fields import PodFields
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow, WorkflowSpec
from torpor_wire import retry
from torpor_wire.enums import LogMode
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.expressions import pod_texts
from torpor_operator.expressions.pod_texts import PodText
from torpor_operator.model import volume_claims
from torpor_operator.model.actions import Action, CreatePod, CreateTaskRun, Need, PostEvent
from torpor_operator.model.snapshot import PodContext, Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.taskrun import account_token, child_run, pod_builder, pod_startup, step, transitions
from torpor_operator.taskrun.step import Step, TaskRunView, earliest
from torpor_operator.workflows.plan.task_plan import TaskPlan

T = TypeVar("T")


def _holds_none(_: object) -> bool:
    """A TaskRun that does not exist yet holds no slot."""
    return False


@dataclass(slots=True, kw_only=True)
class SlotBudget:
    """The free slots of a run, its tasks and its pools, assigned in the order of requests.

    Free slots of pools are approximate, since other runs take them too; the slot allocator decides at creation.
    Requests for a full pool come after all others, so that they do not hold the run's own slots.
    """

    slots: int
    limits: Mapping[str, int]
    held: Counter[str]
    pool_of: Mapping[str, str]
    pools: dict[str, int]
    refused: dict[str, Reason] = field(default_factory=dict)  # by task: why its first instance without a slot has none

    @classmethod
    def remaining(cls, spec: WorkflowSpec, holders: Iterable[TaskRun], free: Callable[[str], int | None]) -> Self:
        """The slots that are left beside the holders; `free` returns the free slots of a pool."""
        held = Counter(run.spec.task for run in holders)
        limits = {task.name: task.max_active for task in spec.tasks if task.max_active is not None}
        pool_of = {task.name: task.pool for task in spec.tasks if task.pool is not None}
        pools = {pool: free(pool) or 0 for pool in set(pool_of.values())}
        return cls(slots=spec.parallelism - held.total(), limits=limits, held=held, pool_of=pool_of, pools=pools)

    def admit(self, requests: Iterable[tuple[str, T]], holds: Callable[[T], bool] = _holds_none) -> list[T]:
        """Which of these, each with its task, get a slot; those whose pool is full come last.

        A TaskRun that `holds` a slot of its pool requests none: two of them could otherwise wait for each other.
        """
        available, full = list[tuple[str, T]](), list[tuple[str, T]]()
        for task, request in requests:
            pool = None if holds(request) else self.pool_of.get(task)
            if pool is not None:
                self.pools[pool] -= 1
            (full if pool is not None and self.pools[pool] < 0 else available).append((task, request))
        self.refused |= {task: Reason.POOL_FULL for task, _ in full if task not in self.refused}
        return [request for task, request in (*available, *full) if self.take(task)]

    def take(self, task: str) -> bool:
        """Take a slot for a TaskRun of this task; False if there is none."""
        if self.held[task] >= self.limits.get(task, self.held[task] + 1):
            self.refused.setdefault(task, Reason.MAX_ACTIVE_REACHED)
            return False
        if self.slots <= 0:
            self.refused.setdefault(task, Reason.PARALLELISM_REACHED)
            return False
        self.slots -= 1
        self.held[task] += 1
        return True


def build_plan(snapshot: Snapshot, tasks: Sequence[TaskPlan]) -> WorkflowPlan:
    """The plan of these tasks."""
    workflow, batch = snapshot.workflow, snapshot.settings.batch
    views = [view_of(snapshot, run.metadata.name) for task in tasks for run in task.runs]
    readers = pod_startup.readers(views)
    steps = [transitions.next_step(_with_event_reads(view, readers)) for view in views]
    holders = [view.taskrun for view in views if _holds_slot(snapshot, view)]
    budget = SlotBudget.remaining(workflow.spec, holders, snapshot.slots)
    waiting = [view.taskrun for view, step in zip(views, steps, strict=True) if step.wants_pod]
    waiting.sort(key=lambda run: (run.status.segment == 0, run.metadata.creation_timestamp, run.spec.map_index))
    launched = budget.admit(((run.spec.task, run) for run in waiting), holds=snapshot.holds)
    steps += _launches(snapshot, {view.taskrun.metadata.name: view for view in views}, launched[:batch])
    # A stopped run creates only hooks, even while it is suspended. A suspended run creates only marked TaskRuns.
    suspended = workflow.spec.suspend and not workflow.spec.stop
    starts = [*_marked(tasks), *([] if suspended else _starts(tasks, budget))]
    return WorkflowPlan(
        actions=(*_actions(steps), *starts[:batch]),
        needs=_needs(tasks, steps),
        events=_events(steps),
        # A pod that is created needs no pass by itself.
        again_at=earliest([*(step.again_at for step in steps), snapshot.now if len(launched) > batch else None]),
        waiting=dict(budget.refused),
    )


def prepend_steps(plan: WorkflowPlan, steps: Sequence[Step]) -> WorkflowPlan:
    """The plan with these steps first."""
    return replace(
        plan,
        actions=(*_actions(steps), *plan.actions),
        needs=(*_needs((), steps), *plan.needs),
        events=(*_events(steps), *plan.events),
        again_at=earliest([plan.again_at, *(step.again_at for step in steps)]),
    )


def view_of(snapshot: Snapshot, name: str) -> TaskRunView:
    """The view of one TaskRun in this plan."""
    taskrun = snapshot.taskruns[name]
    return TaskRunView(
        taskrun=taskrun,
        pods=snapshot.pods.get(taskrun.metadata.uid, ()),
        unconfirmed_pod=snapshot.unconfirmed_pods.get(taskrun.metadata.uid),
        pool=snapshot.pools(taskrun.spec.trigger_pool),
        known=snapshot.known,
        settings=snapshot.settings,
        now=snapshot.now,
        children=snapshot.children.get(taskrun.metadata.uid, ()),
        released=tuple(filter(None, [snapshot.released.get(name)])),
        namesake=_namesake(snapshot, taskrun),
        runs_of_root=snapshot.runs_of_root,
    )


def _namesake(snapshot: Snapshot, taskrun: TaskRun) -> Workflow | None:
    """The Workflow with the name that the author chose for the run of the TaskRun, while it has not started one."""
    run = taskrun.spec.run
    begins = run is not None and run.name is not None and taskrun.status.state is State.SCHEDULED
    return snapshot.find_run(child_run.child_name(taskrun)) if begins else None


def _with_event_reads(view: TaskRunView, readers: frozenset[str]) -> TaskRunView:
    return replace(view, reads_events=True) if view.taskrun.metadata.uid in readers else view


def _launches(snapshot: Snapshot, views: Mapping[str, TaskRunView], runs: Sequence[TaskRun]) -> list[Step]:
    """Create pods. What all instances of a task, or all runs of a pool, have in common is computed once."""
    pod_fields = {task.name: task.pod for task in snapshot.workflow.spec.tasks}
    texts = {name: pod_texts.texts(pod_fields.get(name)) for name in {run.spec.task for run in runs}}
    contexts = {pool: _pod_context(snapshot, pool) for pool in {run.spec.trigger_pool for run in runs}}
    return [
        _launch(
            snapshot,
            views[run.metadata.name],
            pod_fields.get(run.spec.task),
            texts[run.spec.task],
            contexts[run.spec.trigger_pool],
        )
        for run in runs
    ]


def _launch(
    snapshot: Snapshot, view: TaskRunView, chosen: PodFields | None, texts: tuple[PodText, ...], context: PodContext
) -> Step:
    """Create a pod. Pod fields can change after the TaskRun was created, and their expressions have no values then."""
    run = view.taskrun
    if chosen is not None:
        missing = pod_texts.missing(chosen, run.spec.pod_values, run.spec.env, written=texts)
        if missing is not None:
            message = f"{missing} has an expression that was added after this instance was created: clear the instance"
            return step.fail(view, Reason.LAUNCH_FAILED, message, policy=retry.Policy())
        if (refused := account_token.refusal(view, chosen) or pod_startup.refusal(view, chosen)) is not None:
            return refused
    body = pod_builder.build(run, context, chosen)
    claims = volume_claims.used_claims(snapshot.workflow, body) if snapshot.workflow.spec.volume_claims else ()
    return Step(actions=(CreatePod(taskrun=run, body=body, claims=claims),))


def _pod_context(snapshot: Snapshot, trigger_pool: str) -> PodContext:
    """What the pod depends on. A sensor whose pool has no triggerer checks in its pod instead (AIP-17's fallback)."""
    pool, deferrable = snapshot.pools(trigger_pool), snapshot.workflow.spec.deferrable
    return PodContext(
        service_account=snapshot.settings.task_service_account,
        system_namespace=snapshot.settings.namespace,
        runtime_image=snapshot.settings.runtime_image,
        image_volumes=snapshot.image_volumes,
        deferrable=snapshot.settings.deferrable if deferrable is None else deferrable,
        served=pool.served,
        seal_key=pool.seal_key,
        archive=snapshot.archive,
        logs=snapshot.workflow.spec.logs or LogMode.ALL,
        defaults=snapshot.settings.pod_defaults(),
        claims=volume_claims.claim_names(snapshot.workflow),
        allow_networks=snapshot.settings.allow_networks,
        deny_networks=snapshot.settings.deny_networks,
    )


def _marked(tasks: Sequence[TaskPlan]) -> list[CreateTaskRun]:
    """New TaskRuns that end without running, so that they need no slot."""
    return [CreateTaskRun(body=body) for task in tasks for body in task.starts if "mark" in body["spec"]]


def _starts(tasks: Sequence[TaskPlan], budget: SlotBudget) -> list[CreateTaskRun]:
    """New TaskRuns in the order of the graph: as many as there are free slots, and all that need none.

    In groups, later tasks of one index come before the first task of a later index.
    """
    running = [(task, body) for task in tasks for body in task.starts if "mark" not in body["spec"]]
    without_slot = [body for task, body in running if not task.needs_slot]
    requests = [(task.outcome.task, body) for task, body in running if task.needs_slot]
    requests.sort(key=lambda request: request[1]["spec"].get("groupIndexes", []))
    return [CreateTaskRun(body=body) for body in (*without_slot, *budget.admit(requests))]


def _holds_slot(snapshot: Snapshot, view: TaskRunView) -> bool:
    """Whether the TaskRun holds one of the run's slots; a deferred one does only with `countDeferred`."""
    match view.taskrun.status.state:
        case State.RUNNING:
            return True
        case State.DEFERRED:
            return snapshot.workflow.spec.count_deferred or view.taskrun.spec.holds_slot_deferred
        case State.SCHEDULED if view.waits_first:
            return snapshot.workflow.spec.count_deferred or view.taskrun.spec.holds_slot_deferred
        case State.SCHEDULED:
            return view.current_pod is not None
        case _:
            return False


def _actions(steps: Iterable[Step]) -> tuple[Action, ...]:
    return tuple(action for step in steps for action in step.actions)


def _events(steps: Iterable[Step]) -> tuple[PostEvent, ...]:
    return tuple(event for step in steps for event in step.events)


def _needs(tasks: Sequence[TaskPlan], steps: Sequence[Step]) -> tuple[Need, ...]:
    needs = [need for task in tasks for need in task.needs] + [need for step in steps for need in step.needs]
    return tuple(dict.fromkeys(needs))
