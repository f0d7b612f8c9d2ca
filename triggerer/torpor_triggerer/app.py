"""One replica put together: members decide the shards, shards the streams, streams the runs.

Everything that reaches outside is passed in (API, expressions, HTTP, clock, jitter), so a simulation runs this very
code. Cancelling `run` is a crash; `stopping` is SIGTERM.
"""

import asyncio
import logging
from typing import Any

from torpor_api.cache.store import Key, Unreadable
from torpor_wire.reason import Reason

from torpor_triggerer.isolation.blocking_report import Blame
from torpor_triggerer.isolation.placement import Blocked, Hosts
from torpor_triggerer.logs.trigger_log import TriggerLog
from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.reporting import metrics
from torpor_triggerer.reporting.events import Budget, Notices
from torpor_triggerer.reporting.fire_permission import FirePermission
from torpor_triggerer.reporting.health import LATE, Heartbeat
from torpor_triggerer.reporting.metrics import Metrics, Standing
from torpor_triggerer.reporting.status_writer import Reporter
from torpor_triggerer.running.execution import Dependencies, Lifecycle
from torpor_triggerer.running.progress import Progress
from torpor_triggerer.running.queue_progress import Queueing
from torpor_triggerer.running.scheduler import Runner
from torpor_triggerer.secrets.pool_keys import Seals
from torpor_triggerer.secrets.reader import SecretReader
from torpor_triggerer.secrets.resolver import Revealer
from torpor_triggerer.services.archive import Archive
from torpor_triggerer.services.services import Sources
from torpor_triggerer.settings import Settings
from torpor_triggerer.sharding import assignment
from torpor_triggerer.sharding.membership import Membership
from torpor_triggerer.sharding.watches import Watches
from torpor_triggerer.usercode.registry import Registry

log = logging.getLogger(__name__)


class Triggerer:
    """Runs the triggers of its shards until it is told to stop."""

    def __init__(
        self,
        sources: Sources,
        registry: Registry,
        settings: Settings,
        *,
        journal: TriggerLog | None = None,
        seals: Seals | None = None,
    ) -> None:
        self._api = sources.api
        self._seals = seals
        self._settings = settings
        self._notices = Notices(sources.api, settings)
        self.metrics = Metrics(settings.pool, registry.names)
        self._reporter = Reporter(sources.api, self._notices, self.metrics, concurrency=settings.concurrency)
        self._heartbeat = Heartbeat(sources.api.clock, self.metrics.lagged)
        self._membership = Membership(sources.api, settings, on_members=self._divide)
        self._tasks = asyncio.TaskGroup()
        self.hosts = Hosts(
            sources.api.clock,
            registry,
            seconds=settings.kill_seconds,
            on_begin=self.metrics.blocked,
            on_blocked=self._lay_blame,
        )
        self._lifecycle = Lifecycle(self._means(sources, registry, journal or TriggerLog()), settings)
        self._runner = Runner(self._lifecycle, settings.capacity, self._find, sources.api.clock.now)
        self._blame = Blame(self._runner, self._notices, sources.api.clock)
        sentences = Budget.of_sentences(sources.api.clock, settings.progress_rate)
        self._progress = Progress(
            sources.api.clock,
            sentences,
            runs=lambda: self._runner.runs,
            tell=lambda run, said: self._reporter.explain(run.wait, Reason.WAITING, said),
        )
        self._queueing = Queueing(
            sources.api.clock, sentences, self._runner, capacity=settings.capacity, tell=self._reporter.explain
        )
        self._watches = Watches(
            sources.api, self._tasks.create_task, on_change=self._runner.settle, on_unreadable=self._complain
        )
        self._owned = 0
        self.metrics.watch(self._standing)

    def _means(self, sources: Sources, registry: Registry, journal: TriggerLog) -> Dependencies:
        return Dependencies(
            registry=registry,
            reporter=self._reporter,
            notices=self._notices,
            journal=journal,
            clock=sources.api.clock,
            evaluate=sources.evaluate,
            permission=FirePermission(sources.api, self._settings.pool),
            revealer=Revealer(vault=SecretReader(sources.api), seals=self._seals),
            archive=Archive(sources.api, self._settings.namespace, sources.archive),
            hosts=self.hosts,
            lend=lambda wait: sources.lend(wait, registry),
            spawn=self._tasks.create_task,
        )

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until `stopping` is set, then hand over: triggers end with `cleanup`, the Lease is given up."""
        async with self._tasks as tasks:
            working: list[asyncio.Task[Any]] = [
                tasks.create_task(self._heartbeat.run()),
                tasks.create_task(self._lifecycle.alarms.run()),
                tasks.create_task(self._membership.run()),
                tasks.create_task(self._notices.run()),
                tasks.create_task(self._progress.run()),
                tasks.create_task(self._queueing.run()),
            ]
            if self._seals is not None:
                working.append(tasks.create_task(self._seals.run()))
            await stopping.wait()
            log.info("stopping: %d waits are left to the others", len(self._runner))
            self._watches.stop()
            for task in working:
                task.cancel()
            # The others begin at once: two may look for a moment, and one of them will write.
            await asyncio.gather(self._membership.release(), self._runner.stop())

    def hangs(self) -> str:
        """What a restart would cure; empty if nothing."""
        late = self._heartbeat.lateness()
        return f"the loop is {late:.1f} s late" if late > LATE else ""

    def readiness_error(self) -> str:
        """What is wrong with this replica; empty if nothing is."""
        if self.hangs():
            return self.hangs()
        silent = self._membership.silent_for()
        if silent == float("inf"):
            return "the lease is not taken yet"
        return f"the lease was not renewed for {silent:.0f} s" if silent > self._settings.lease_duration else ""

    def _standing(self) -> Standing:
        return Standing(
            capacity=self._settings.capacity,
            running=metrics.by_class(run.wait for run in self._runner.runs),
            shared=metrics.by_class(run.wait for run in self._runner.runs if run.is_shared),
            queued=metrics.by_class(self._runner.queued),
            shards=self._owned,
            members=self._membership.count,
            silent=self._membership.silent_for(),
            streams=len(self._watches),
            restarts=self._watches.restarts,
            dropped=self._notices.dropped,
        )

    def _lay_blame(self, blocked: Blocked) -> None:
        self._blame.lay(blocked)

    def _find(self, key: Key) -> Wait | None:
        return self._watches.find(key)

    def _divide(self, members: frozenset[str]) -> None:
        owned = assignment.owned(self._membership.name, members)
        self._owned = len(owned)
        log.info("%d of the shards are this replica's", len(owned))
        self._runner.own(owned)
        self._watches.want(assignment.selectors(self._settings.pool, owned))
        for key in self._watches.shown():
            self._runner.settle(key)

    def _complain(self, unreadable: Unreadable) -> None:
        self._notices.warn_of(
            namespace=unreadable.namespace,
            name=unreadable.name,
            uid=unreadable.uid,
            message=f"the triggerer cannot read this TaskRun: {unreadable.message}",
        )
