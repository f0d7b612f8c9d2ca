"""The reconcile loop: takes a Workflow from the queue, reconciles it, and schedules its next pass.

It starts after all caches are filled. An error of one Workflow is logged and retried with backoff, while the others go
on; so they do while one pass waits for answers.
"""

import asyncio
import logging
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Never, TypeVar

from torpor_crds.models.workflow import Workflow, WorkflowStatus
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_kubernetes.timing import Clock
from torpor_wire.retry import Backoff

from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.graph.dag import Graph, GraphProblem
from torpor_operator.model.actions import CreateTaskRun, Evaluate, Need, PostEvent, WorkflowPlan
from torpor_operator.model.snapshot import Answer, Presence, RunNotArchived, SettledLogs, Snapshot, TemplateRead
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.settings import Settings
from torpor_operator.workflows.cache import ClusterCache
from torpor_operator.workflows.executor import Executor
from torpor_operator.workflows.graph_builder import GraphBuilder, GraphNotBuiltError
from torpor_operator.workflows.orphaned_pods import OrphanedPods, OrphanReporter
from torpor_operator.workflows.plan.planner import plan
from torpor_operator.workflows.queries import QueryResolver

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_BACKOFF = Backoff(first=1.0, cap=30.0)
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
class Memo:
    """What the reconciler keeps of a Workflow between two passes. Losing it costs time and requests, nothing else."""

    uid: str = ""
    generation: int = 0
    graph: Graph | GraphProblem | None = None
    answers: dict[Need, Answer] = field(default_factory=dict)
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
        """Forget what holds for one pass only: whether an object exists, a template, and what is archived."""
        self.answers = {
            need: answer
            for need, answer in self.answers.items()
            if not isinstance(answer, Presence | RunNotArchived | SettledLogs | TemplateRead)
        }


class Reconciler:
    """Reconciles Workflows, `settings.reconcilers` of them at a time."""

    def __init__(  # noqa: PLR0913 - dependencies
        self,
        *,
        clock: Clock,
        queue: WorkQueue,
        cache: ClusterCache,
        resolver: QueryResolver,
        executor: Executor,
        orphaned_pods: OrphanedPods,
        settings: Settings,
        jitter: Callable[[], float] = random.random,
        guard: WorkGuard | None = None,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._cache = cache
        self._resolver = resolver
        self._executor = executor
        self._orphaned_pods = orphaned_pods
        self._settings = settings
        self._jitter = jitter
        self._guard = guard or WorkGuard()
        self._memos: defaultdict[Key, Memo] = defaultdict(Memo)
        self._workers = asyncio.Semaphore(settings.reconcilers)
        self._graphs = GraphBuilder()

    async def run(self) -> None:
        """Run until cancelled. Then wait for running writes, so that the next leader's lists contain them."""
        orphans = OrphanReporter(self._cache, self._clock, self._settings.stray_grace)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._resync())
                group.create_task(self._cache.slots.run())
                group.create_task(self._orphaned_pods.run(self._executor))
                group.create_task(orphans.run(self._executor))
                group.create_task(self._dispatch(group))
        finally:
            await self._executor.drain()

    async def _dispatch(self, group: asyncio.TaskGroup) -> Never:
        while True:
            key = await self._queue.get()
            await self._workers.acquire()
            group.create_task(self._process(key))

    async def _process(self, key: Key) -> None:
        memo = self._memos[key]
        try:
            await self._attempt(key, memo)
        finally:
            self._queue.done(key, cooldown_until=memo.cooldown_until)
            self._workers.release()

    async def _resync(self) -> Never:
        """Enqueue every Workflow from time to time, in case a change was missed or a clock was wrong."""
        while True:
            await self._clock.sleep(self._settings.resync)
            keys = list(self._cache.workflows)
            await self._drop_deleted()
            for key in keys:
                self._queue.add(key)

    async def _drop_deleted(self) -> None:
        try:
            for workflow in await self._resolver.deleted(list(self._cache.workflows.values())):
                self._cache.drop_workflow(workflow)
        except errors.ApiError as error:
            _LOG.warning("cannot list Workflows: %s", error.message)

    async def _attempt(self, key: Key, memo: Memo) -> None:
        """Reconcile a Workflow and schedule its next pass; a failure delays this Workflow alone."""
        try:
            due = await self._guard.reconcile(WORKFLOWS, self._ref(key), lambda: self._reconcile(key, memo))
        except errors.ApiError as error:
            _LOG.warning("%s/%s: %s", *key, error.message)
            due = self._abandon(key, memo)
        except Exception:  # noqa: BLE001 - a task boundary: one Workflow never stops the others
            _LOG.exception("%s/%s: unexpected error; retrying this Workflow later", *key)
            due = self._abandon(key, memo)
        if key not in self._cache.workflows:
            self._memos.pop(key, None)
        elif due is not None:
            self._queue.add_at(key, due)

    def _ref(self, key: Key) -> ObjectRef:
        cached = self._cache.workflows.get(key)
        return ObjectRef(WORKFLOWS.kind, *key, cached.metadata.uid if cached is not None else "")

    async def _reconcile(self, key: Key, memo: Memo) -> float | None:
        """One pass. Returns when the next one is due unless a change comes first; None leaves it to changes."""
        started = self._clock.monotonic()

        # Fetch, guard, gather and decide. A plan may ask for facts that the cache lacks; their answers may raise more
        # questions, so this repeats until the plan is complete.
        while True:
            snapshot = self._fetch(key, memo)
            if snapshot is None:
                return None
            try:
                decided = plan(snapshot, memo.graph_of)
            except GraphNotBuiltError:
                memo.graph = await self._let_others_run(self._graphs.build(snapshot.workflow))
                memo.generation = snapshot.workflow.metadata.generation
                continue
            queries = [query for query in decided.needs if query not in memo.answers]
            if not queries:
                break
            memo.answers |= without_variables(
                await self._let_others_run(self._resolver.resolve(queries, namespace=key.namespace))
            )
        memo.drop_momentary_answers()
        if snapshot.workflow.status.completion_time is not None:
            memo.graph = None  # it refers to a copy of the spec, and finished runs are kept for days
        # It depends on the size and not on the duration of the plan, which on a busy machine others determine.
        memo.cooldown_until = started + len(snapshot.taskruns) * self._settings.cooldown_per_taskrun
        workflow = snapshot.workflow

        # Write: actions and status side by side. The status describes the cluster before both, and a short run would
        # wait for each round trip.
        admitted = self._cache.slots.admit(key, decided.actions)
        creates = any(isinstance(action, CreateTaskRun) for action in admitted)
        async with asyncio.TaskGroup() as group:
            track = partial(self._guard.tracker.track, self._ref(key))
            applying = group.create_task(track(self._executor.apply(workflow, admitted)))
            writing = group.create_task(track(self._write_status(workflow, decided.status, memo, creates=creates)))
            await self._let_others_run(asyncio.wait((applying, writing)))
        applied, status = not applying.result(), writing.result()

        # Events follow a status that is stored. Where it is not, the next pass decides on them again.
        if status not in {StatusWrite.CONFLICT, StatusWrite.FAILED}:
            applied &= await self._let_others_run(self._post_events(workflow, decided.events, memo))

        return self._next_pass(decided, status, memo, applied=applied)

    def _fetch(self, key: Key, memo: Memo) -> Snapshot | None:
        """The Workflow and its objects from the cache, or None if it is gone. A new uid resets the memo."""
        cached = self._cache.workflows.get(key)
        if cached is not None and cached.metadata.uid != memo.uid:
            memo.uid, memo.graph, memo.answers = cached.metadata.uid, None, {}
            memo.posted, memo.unposted, memo.event_failures = set(), {}, Counter()
        return self._cache.snapshot(key, memo.answers)

    async def _let_others_run(self, work: Awaitable[T]) -> T:
        """Await what may take long, such as an expression, or the turn to write. Other Workflows run meanwhile."""
        self._workers.release()
        try:
            return await work
        finally:
            await self._workers.acquire()

    async def _write_status(
        self, workflow: Workflow, wanted: WorkflowStatus | None, memo: Memo, *, creates: bool
    ) -> StatusWrite:
        """Store a changed status: the first and the last at once, others once in `status_interval`.

        `creates`: TaskRuns are created meanwhile. The first status waits for those of the first pass.
        """
        if wanted is None or wanted == workflow.status:
            return StatusWrite.UNCHANGED
        now = self._clock.now()
        ends = wanted.completion_time is not None and workflow.status.completion_time is None
        begins = workflow.status.start_time is None
        if begins and creates and not memo.status_written:
            memo.status_written = now  # the creation is followed by a pass at once, whose status counts the TaskRuns
            return StatusWrite.POSTPONED
        if not (begins or ends) and now < memo.status_written + self._settings.status_interval:
            return StatusWrite.POSTPONED
        try:
            stored = await self._executor.write_status(workflow, wanted)
        except errors.ApiError as error:
            metadata = workflow.metadata
            _LOG.warning("%s/%s: cannot write the status: %s", metadata.namespace, metadata.name, error.message)
            return StatusWrite.FAILED
        memo.status_written = now
        return StatusWrite.STORED if stored else StatusWrite.CONFLICT

    async def _post_events(self, workflow: Workflow, events: Sequence[PostEvent], memo: Memo) -> bool:
        """Post each Event once; whether all of them were posted. One that fails is posted in the next passes."""
        due = memo.unposted | {event.key: event for event in events if event.key not in memo.posted}
        actions = await self._executor.apply(workflow, tuple(due.values()))
        failed = {action.key for action in actions if isinstance(action, PostEvent)}
        memo.event_failures.update(failed)
        memo.unposted = {key: due[key] for key in failed if memo.event_failures[key] < _EVENT_TRIES}
        memo.posted.update(due.keys() - memo.unposted.keys())
        return not failed

    def _next_pass(self, decided: WorkflowPlan, status: StatusWrite, memo: Memo, *, applied: bool) -> float | None:
        """When to reconcile again. The watch reports what this pass wrote, and that starts a pass by itself."""
        due = [] if decided.again_at is None else [decided.again_at]
        if status in {StatusWrite.POSTPONED, StatusWrite.CONFLICT}:
            due.append(memo.status_written + self._settings.status_interval)
        if applied and status is not StatusWrite.FAILED:
            memo.failures = 0
        else:
            due.append(self._backoff(memo))
        return min(due, default=None)

    def _abandon(self, key: Key, memo: Memo) -> float:
        """Withdraw the Workflow's demand for slots, and return when to retry."""
        self._cache.slots.withdraw(key)
        return self._backoff(memo)

    def _backoff(self, memo: Memo) -> float:
        memo.failures += 1
        return self._clock.now() + _BACKOFF.delay(memo.failures, self._jitter())


def without_variables(answers: Mapping[Need, Answer]) -> dict[Need, Answer]:
    """The answers without the variables of expressions, which may hold all results of a task for each instance."""
    return {
        replace(need, variables={}) if isinstance(need, Evaluate) else need: answer for need, answer in answers.items()
    }
