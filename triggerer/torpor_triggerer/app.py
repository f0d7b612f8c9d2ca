"""Assembles one replica: members determine shards, shards determine watches, watches determine runs.

All I/O is passed in (API, expressions, HTTP, clock, jitter), so a simulation runs this code. Cancelling `run` is a
crash; `stopping` is SIGTERM.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from itertools import chain
from typing import Any

from torpor_kubernetes.cache.store import ObjectKey, Unreadable
from torpor_kubernetes.health_server import LATE, Heartbeat
from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason

from torpor_triggerer.isolation.blocking_report import BlockingReport
from torpor_triggerer.isolation.placement import Blocked, Placement
from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Outcome
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.reporting import metrics
from torpor_triggerer.reporting.events import EventRecorder, SharedTokenBucket
from torpor_triggerer.reporting.fire_permission import FirePermission
from torpor_triggerer.reporting.log_sender import LogSender
from torpor_triggerer.reporting.metrics import ReplicaState, TriggererMetrics
from torpor_triggerer.reporting.status_writer import StatusWriter
from torpor_triggerer.running.admission import Admission
from torpor_triggerer.running.completion import Completion
from torpor_triggerer.running.dependencies import Dependencies, unanswered
from torpor_triggerer.running.lifecycle import Lifecycle
from torpor_triggerer.running.progress import ProgressReporter
from torpor_triggerer.running.queue_progress import QueueProgress
from torpor_triggerer.running.scheduler import Scheduler
from torpor_triggerer.running.state import WaitRun
from torpor_triggerer.secrets.pool_keys import PoolKeys
from torpor_triggerer.secrets.reader import SecretReader
from torpor_triggerer.secrets.resolver import SecretResolver
from torpor_triggerer.services.archive import LargeValueStore
from torpor_triggerer.services.trigger_services import Backends
from torpor_triggerer.settings import Settings
from torpor_triggerer.sharding import assignment
from torpor_triggerer.sharding.membership import Membership
from torpor_triggerer.sharding.namespace_owners import NamespaceOwners
from torpor_triggerer.sharding.watches import ShardWatches
from torpor_triggerer.usercode.registry import Registry

log = logging.getLogger(__name__)


class Triggerer:
    """Runs the triggers of its shards until it is stopped."""

    def __init__(  # noqa: PLR0913 - what the process is given
        self,
        backends: Backends,
        registry: Registry,
        settings: Settings,
        *,
        trigger_log: TriggerLog | None = None,
        pool_keys: PoolKeys | None = None,
        owners: NamespaceOwners | None = None,
        answer: Callable[[TriggerWait], Outcome | None] = unanswered,
    ) -> None:
        clock = backends.api.clock
        self._owners = owners
        self._pool_keys = pool_keys
        self._settings = settings
        self._events = EventRecorder(backends.api, settings)
        self.metrics = TriggererMetrics(settings.pool, registry.names)
        self._status_writer = StatusWriter(backends.api, self._events, self.metrics, settings)
        self._has_archive = backends.archive is not None
        self._log_sender = LogSender(backends.api, settings.namespace, backends.archive)
        self._heartbeat = Heartbeat(clock, self.metrics.lagged)
        self._membership = Membership(backends.api, settings, on_members=self._on_members)
        self._tasks = asyncio.TaskGroup()
        self.placement = Placement(
            clock,
            registry,
            seconds=settings.kill_seconds,
            on_block=self.metrics.blocked,
            on_unblock=self._on_unblock,
        )
        deps = self._dependencies(backends, registry, trigger_log or TriggerLog(), answer)
        self._lifecycle = Lifecycle(deps, settings, on_timed=self._on_timed, on_due=self._on_due)
        self._watches = self._shard_watches(backends)
        self._scheduler = Scheduler(self._lifecycle, settings.capacity, self._find, clock.now)
        self._blocking_report = BlockingReport(self._scheduler, self._events, clock)
        self._progress, self._queue_progress = self._progress_reporters(clock)
        self._owned = 0
        self._streams: frozenset[frozenset[int]] = frozenset()
        self.metrics.add_gauges(self._state)

    def _dependencies(
        self,
        backends: Backends,
        registry: Registry,
        trigger_log: TriggerLog,
        answer: Callable[[TriggerWait], Outcome | None],
    ) -> Dependencies:
        clock = backends.api.clock
        return Dependencies(
            registry=registry,
            admission=Admission(
                permission=FirePermission(backends.api, self._settings.pool),
                secrets=SecretResolver(reader=SecretReader(backends.api), pool_keys=self._pool_keys),
                events=self._events,
                clock=clock,
            ),
            completion=Completion(
                evaluate=backends.evaluate,
                archive=LargeValueStore(backends.api, self._settings.namespace, backends.archive),
                status_writer=self._status_writer,
                log_sender=self._log_sender,
                clock=clock,
            ),
            events=self._events,
            trigger_log=trigger_log,
            clock=clock,
            host=self.placement,
            services_for=lambda wait: backends.services_for(wait, registry),
            spawn=self._tasks.create_task,
            answer=answer,
        )

    def _shard_watches(self, backends: Backends) -> ShardWatches:
        return ShardWatches(
            backends.api,
            self._tasks.create_task,
            on_change=self._on_change,
            on_unreadable=self._on_unreadable,
            namespaces=self._settings.namespaces,
        )

    def _progress_reporters(self, clock: Clock) -> tuple[ProgressReporter, QueueProgress]:
        """Return the reporters of running and of queued waits, which share one budget of messages."""
        budget = SharedTokenBucket.for_messages(clock, self._settings.progress_rate)
        scheduler, explain = self._scheduler, self._status_writer.explain
        running = ProgressReporter(
            clock,
            budget,
            runs=lambda: scheduler.runs,
            write=lambda run, text: explain(run.wait, Reason.WAITING, text),
        )
        return running, QueueProgress(clock, budget, scheduler, capacity=self._settings.capacity, write=explain)

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until `stopping` is set. Then stop triggers with `cleanup` and release the Lease."""
        async with self._tasks as tasks:
            working: list[asyncio.Task[Any]] = [
                tasks.create_task(self._heartbeat.run()),
                tasks.create_task(self._lifecycle.timers.run()),
                tasks.create_task(self._lifecycle.polls.run()),
                tasks.create_task(self._membership.run()),
                tasks.create_task(self._events.run()),
                tasks.create_task(self._progress.run()),
                tasks.create_task(self._queue_progress.run()),
            ]
            if self._pool_keys is not None:
                working.append(tasks.create_task(self._pool_keys.run()))
            if self._owners is not None:
                working.append(tasks.create_task(self._owners.run(self._on_owners)))
            if self._has_archive:
                working.append(tasks.create_task(self._log_sender.run()))
            await stopping.wait()
            log.info("Stopping; other replicas take over %d waits", len(self._scheduler))
            self._watches.stop()
            for task in working:
                task.cancel()
            # The others start at once. Two replicas may serve a wait for a moment; one of their writes succeeds.
            await asyncio.gather(self._membership.release(), self._scheduler.stop())

    def liveness_error(self) -> str:
        """Return the problem that a restart would solve; empty if there is none."""
        late = self._heartbeat.lateness()
        return f"the loop is {late:.1f} s late" if late > LATE else ""

    def readiness_error(self) -> str:
        """Return the problem of this replica; empty if there is none."""
        if self.liveness_error():
            return self.liveness_error()
        age = self._membership.lease_age()
        if age == float("inf"):
            return "the lease is not acquired yet"
        return f"the lease was not renewed for {age:.0f} s" if age > self._settings.lease_duration else ""

    def next_moment(self) -> float | None:
        """Return when the next wait ends, in seconds since the epoch; None unless every wait ends at a known time."""
        moments = [*self._scheduler.moments, *(self._lifecycle.moment(run) for run in self._scheduler.runs)]
        if self._scheduler.queued or None in moments:
            return None
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def waits(self) -> int:
        """The number of waits of this replica."""
        return len(self._scheduler) + len(self._scheduler.queued)

    def _state(self) -> ReplicaState:
        return ReplicaState(
            capacity=self._settings.capacity,
            running=metrics.by_class(
                chain((run.packed for run in self._scheduler.runs), self._scheduler.timed),
            ),
            shared=metrics.by_class(run.packed for run in self._scheduler.runs if run.is_shared),
            queued=metrics.by_class(self._scheduler.queued),
            shards=self._owned,
            members=self._membership.count,
            lease_age=self._membership.lease_age(),
            watches=len(self._watches),
            restarts=self._watches.restarts,
            dropped=self._events.dropped,
        )

    def _on_unblock(self, blocked: Blocked) -> None:
        self._blocking_report.handle(blocked)

    def _on_timed(self, run: WaitRun) -> None:
        self._scheduler.keep_timer(run)

    def _on_due(self, wait: PackedWait) -> None:
        self._scheduler.fire(wait)

    def _on_change(self, key: ObjectKey) -> None:
        self._scheduler.reconcile(key)

    def _on_members(self, members: frozenset[str]) -> None:
        owned = assignment.owned(self._membership.name, members)
        self._owned = len(owned)
        log.info("This replica owns %d shards", len(owned))
        self._scheduler.set_shards(owned)
        self._streams = assignment.streams(self._streams, owned)
        self._watches.want(frozenset(assignment.selector(self._settings.pool, shards) for shards in self._streams))
        for key in self._watches.shown_keys():
            self._scheduler.reconcile(key)

    def _on_owners(self, namespaces: Collection[str]) -> None:
        for key in self._watches.shown_keys():
            if key.namespace in namespaces:
                self._scheduler.reconcile(key)

    def _find(self, key: ObjectKey) -> PackedWait | None:
        """Return a wait as last seen; None also if another installation serves its namespace."""
        if self._owners is not None and not self._owners.serves(key.namespace):
            return None
        return self._watches.find(key)

    def _on_unreadable(self, unreadable: Unreadable) -> None:
        self._events.warn_unreadable(
            namespace=unreadable.namespace,
            name=unreadable.name,
            uid=unreadable.uid,
            message=f"the triggerer cannot read this TaskRun: {unreadable.message}",
        )
