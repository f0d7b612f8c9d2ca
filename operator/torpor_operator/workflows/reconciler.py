"""A pass of a Workflow: fetch, gather, decide, write actions and status side by side, post Events."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Never

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire.retry import Backoff

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.reconcile_loop import Loop
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.graph.dag import Graph, GraphProblem
from torpor_operator.model.actions import CreateTaskRun, Evaluate, Need, PostEvent
from torpor_operator.model.snapshot import (
    AccountUse,
    Answer,
    NamespaceFacts,
    Presence,
    RunNotArchived,
    SettledLogs,
    Snapshot,
    TemplateRead,
)
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.taskrun import retry_rules
from torpor_operator.workflows.executor import WorkflowExecutor
from torpor_operator.workflows.graph_builder import GraphBuilder, GraphNotBuiltError
from torpor_operator.workflows.listener import WorkflowObjects
from torpor_operator.workflows.plan.planner import plan
from torpor_operator.workflows.slot_pools import SlotAllocator
from torpor_operator.workflows.snapshots import WorkflowSnapshots

_LOG = logging.getLogger(__name__)
_BACKOFF = Backoff(first=1.0, cap=30.0)
_MOMENTARY = Presence | RunNotArchived | SettledLogs | TemplateRead | NamespaceFacts | AccountUse
"""Answers that hold for one pass only."""
_RETRY_ANSWERS_MAX = 5_000
"""Values of `retries.when` that are kept without a look at the TaskRuns that they decide."""
_EVENT_TRIES = 6
"""How often an Event is tried, over about a minute. Events are for people, and no part of Torpor reads one."""


class StatusWrite(StrEnum):
    """What became of a status that a pass computed."""

    UNCHANGED = "Unchanged"
    POSTPONED = "Postponed"
    STORED = "Stored"
    CONFLICT = "Conflict"
    FAILED = "Failed"


@dataclass(slots=True, kw_only=True)
class WorkflowMemory:
    """What the reconciler keeps of a Workflow between two passes. Losing it costs time and requests, nothing else."""

    uid: str = ""
    generation: int = 0
    graph: Graph | GraphProblem | None = None
    answers: dict[Need, Answer] = field(default_factory=dict)
    retry_answers_max: int = _RETRY_ANSWERS_MAX
    posted: set[str] = field(default_factory=set)
    unposted: dict[str, PostEvent] = field(default_factory=dict)
    """Events that could not be posted. A later plan may not contain them: that of a finished run has few."""
    event_failures: Counter[str] = field(default_factory=Counter)
    status_written: float = 0.0
    cooldown_until: float = 0.0
    failures: int = 0

    def graph_of(self, workflow: Workflow) -> Graph | GraphProblem:
        """The graph of this generation of the Workflow's spec. Raises GraphNotBuiltError."""
        if self.graph is None or self.generation != workflow.metadata.generation:
            raise GraphNotBuiltError
        return self.graph

    def drop_momentary_answers(self) -> None:
        """Forget what holds for one pass: whether an object exists or may be used, a template, what is archived."""
        self.answers = {need: answer for need, answer in self.answers.items() if not isinstance(answer, _MOMENTARY)}

    def drop_old_answers(self, taskruns: Iterable[TaskRun]) -> None:
        """Forget, beyond a limit, the values of `retries.when` that decide none of the TaskRuns.

        Unlimited retries evaluate without end. The limit is twice what is kept: few passes look at all TaskRuns.
        """
        if sum(map(retry_rules.is_of_retries, self.answers)) > self.retry_answers_max:
            live = retry_rules.live_evaluations(taskruns)
            self.answers = {
                need: answer
                for need, answer in self.answers.items()
                if need in live or not retry_rules.is_of_retries(need)
            }
            self.retry_answers_max = max(_RETRY_ANSWERS_MAX, 2 * len(live))


class WorkflowReconciler:
    """Reconciles Workflows, `settings.reconcilers` of them at a time."""

    def __init__(
        self,
        context: ControllerContext,
        queue: WorkQueue,
        snapshots: WorkflowSnapshots,
        slots: SlotAllocator,
        executor: WorkflowExecutor,
    ) -> None:
        self._clock = context.api.clock
        self._cluster = context.cluster
        self._snapshots = snapshots
        self._slots = slots
        self._resolver = context.resolver
        self._executor = executor
        self._settings = context.settings
        self._guard = context.guard
        self._graphs = GraphBuilder()
        self._loop = context.reconcile_loop(
            WorkflowObjects(context.cluster),
            queue,
            WorkflowMemory,
            workers=context.settings.reconcilers,
            backoff=_BACKOFF,
            on_failure=slots.withdraw,  # others need not wait for what this Workflow demanded
        )

    async def run(self, *beside: Loop) -> Never:
        """Run until cancelled, with other loops beside."""
        await self._loop.run(self._reconcile, self._slots.run, *beside)

    async def _reconcile(self, key: Key, memory: WorkflowMemory) -> float | None:
        """One pass. Returns when the next one is due unless a change comes first; None leaves it to changes."""
        started = self._clock.monotonic()
        try:
            decision = await self._decide(key, memory)
        finally:
            memory.drop_momentary_answers()  # a pass that failed asks again as well
        if decision is None:
            return None
        snapshot, decided = decision
        memory.drop_old_answers(snapshot.taskruns.values())
        if snapshot.workflow.status.completion_time is not None:
            memory.graph = None  # it refers to a copy of the spec, and finished runs are kept for days
        # It depends on the size and not on the duration of the plan, which on a busy machine others determine.
        memory.cooldown_until = started + len(snapshot.taskruns) * self._settings.cooldown_per_taskrun
        workflow = snapshot.workflow

        # Write: actions and status side by side. The status describes the cluster before both, and a short run would
        # wait for each round trip.
        admitted = self._slots.admit(key, decided.actions)
        creates = any(isinstance(action, CreateTaskRun) for action in admitted)
        async with asyncio.TaskGroup() as group:
            ref = ObjectRef(WORKFLOWS.kind, *key, workflow.metadata.uid)
            track = partial(self._guard.tracker.track, ref)
            applying = group.create_task(track(self._executor.apply(workflow, admitted)))
            writing = group.create_task(track(self._write_status(workflow, decided.status, memory, creates=creates)))
            await self._loop.let_others_run(asyncio.wait((applying, writing)))
        applied, status = not applying.result(), writing.result()

        # Events follow a status that is stored. Where it is not, the next pass decides on them again.
        if status not in {StatusWrite.CONFLICT, StatusWrite.FAILED}:
            applied &= await self._loop.let_others_run(self._post_events(workflow, decided.events, memory))

        return self._next_pass(decided, status, memory, applied=applied)

    async def _decide(self, key: Key, memory: WorkflowMemory) -> tuple[Snapshot, WorkflowPlan] | None:
        """The snapshot and its plan. A plan may ask for facts that the cache lacks; their answers may raise more."""
        while True:
            snapshot = self._fetch(key, memory)
            if snapshot is None:
                return None
            try:
                with self._loop.plan_timer():
                    decided = plan(snapshot, memory.graph_of)
            except GraphNotBuiltError:
                memory.graph = await self._loop.let_others_run(self._graphs.build(snapshot.workflow))
                memory.generation = snapshot.workflow.metadata.generation
                continue
            queries = [query for query in decided.needs if query not in memory.answers]
            if not queries:
                return snapshot, decided
            memory.answers |= without_variables(
                await self._loop.let_others_run(self._resolver.resolve(queries, namespace=key.namespace))
            )

    def _fetch(self, key: Key, memory: WorkflowMemory) -> Snapshot | None:
        """The Workflow and its objects from the cache, or None if it is gone. A new uid resets the memory."""
        cached = self._cluster.workflows.get(key)
        if cached is not None and cached.metadata.uid != memory.uid:
            memory.uid, memory.graph, memory.answers = cached.metadata.uid, None, {}
            memory.posted, memory.unposted, memory.event_failures = set(), {}, Counter()
        return self._snapshots.gather(key, memory.answers)

    async def _write_status(
        self, workflow: Workflow, wanted: WorkflowStatus | None, memory: WorkflowMemory, *, creates: bool
    ) -> StatusWrite:
        """Store a changed status: the first and the last at once, others once in `status_interval`.

        `creates`: TaskRuns are created meanwhile. The first status waits for those of the first pass.
        """
        if wanted is None or wanted == workflow.status:
            return StatusWrite.UNCHANGED
        now = self._clock.now()
        ends = wanted.completion_time is not None and workflow.status.completion_time is None
        begins = workflow.status.start_time is None
        if begins and creates and not memory.status_written:
            memory.status_written = now  # the creation is followed by a pass at once, whose status counts the TaskRuns
            return StatusWrite.POSTPONED
        if not (begins or ends) and now < memory.status_written + self._settings.status_interval:
            return StatusWrite.POSTPONED
        try:
            stored = await self._executor.write_status(workflow, wanted)
        except errors.ApiError as error:
            metadata = workflow.metadata
            _LOG.warning("%s/%s: cannot write the status: %s", metadata.namespace, metadata.name, error.message)
            return StatusWrite.FAILED
        memory.status_written = now
        return StatusWrite.STORED if stored else StatusWrite.CONFLICT

    async def _post_events(self, workflow: Workflow, events: Sequence[PostEvent], memory: WorkflowMemory) -> bool:
        """Post each Event once; whether all of them were posted. One that fails is posted in the next passes."""
        due = memory.unposted | {event.key: event for event in events if event.key not in memory.posted}
        actions = await self._executor.apply(workflow, tuple(due.values()))
        failed = {action.key for action in actions if isinstance(action, PostEvent)}
        memory.event_failures.update(failed)
        memory.unposted = {key: due[key] for key in failed if memory.event_failures[key] < _EVENT_TRIES}
        memory.posted.update(due.keys() - memory.unposted.keys())
        return not failed

    def _next_pass(
        self, decided: WorkflowPlan, status: StatusWrite, memory: WorkflowMemory, *, applied: bool
    ) -> float | None:
        """When to reconcile again. The watch reports what this pass wrote, and that starts a pass by itself."""
        due = [] if decided.again_at is None else [decided.again_at]
        if status in {StatusWrite.POSTPONED, StatusWrite.CONFLICT}:
            due.append(memory.status_written + self._settings.status_interval)
        if applied and status is not StatusWrite.FAILED:
            memory.failures = 0
        else:
            due.append(self._loop.retry_time(memory))
        return min(due, default=None)


def without_variables(answers: Mapping[Need, Answer]) -> dict[Need, Answer]:
    """The answers without the variables of expressions, which may hold all results of a task for each instance."""
    return {
        replace(need, variables={}) if isinstance(need, Evaluate) else need: answer for need, answer in answers.items()
    }
