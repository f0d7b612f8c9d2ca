"""Watches Torpor's pods and keeps the log of each that ends.

The watch reports a pod's end at once; after a restart, the list contains all pods that ended meanwhile. Which logs are
kept already is read from the database, many at a time. Replicas claim a log before they read it. A replica that does
not finish in time loses its claim, and another one reads the log.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Never

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_wire import constants

from torpor_archive.errors import RefusedError
from torpor_archive.logs import outcomes
from torpor_archive.logs.logged_pod import LoggedPod, LogStage, parse, parse_owner
from torpor_archive.logs.other_logs import OtherLogs
from torpor_archive.logs.queue import LogQueue, LogRetries
from torpor_archive.logs.quota import LogQuota
from torpor_archive.logs.reader import PodLogReader
from torpor_archive.logs.writer import LogWriter
from torpor_archive.metrics import ArchiveMetrics
from torpor_archive.namespaces import NamespaceFinder
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_entry import LogOrigin, LogState
from torpor_archive.storage.log_store import NODE_LOST, Claimant, FinishedLog

BATCH = 32
"""Logs that are claimed in one transaction."""
CHECKED = 500
RETRY_SECONDS = 2.0
RENEW_SECONDS = 15.0

log = logging.getLogger(__name__)


class LogCollector:
    """One replica's part. `name` is unique among the replicas; `jitter` returns 0 to 1."""

    def __init__(  # noqa: PLR0913 - the parts that main() builds
        self,
        api: Api,
        namespaces: NamespaceFinder,
        database: Database,
        reader: PodLogReader,
        quota: LogQuota,
        *,
        metrics: ArchiveMetrics,
        name: str,
        jitter: Callable[[], float],
        served: Sequence[str] = (),
    ) -> None:
        self._api = api
        self._namespaces = namespaces
        self._database = database
        self._reader = reader
        self._quota = quota
        self._metrics = metrics
        self._name = name
        selector = constants.LABEL_TASKRUN_UID
        self._pods = Reflector(
            api, PODS, parse, label_selector=selector, on_change=self._changed, jitter=jitter, namespaces=served
        )
        self._writer = LogWriter(database, api.clock)
        self._queue = LogQueue()
        self._unchecked: dict[str, LoggedPod] = {}
        self._settled: set[str] = set()
        self._reading: set[str] = set()
        self._gone: dict[str, LoggedPod] = {}
        self._ended: dict[str, LoggedPod] = {}
        self._retries = LogRetries()
        self._wake = asyncio.Event()
        metrics.logs_queued.set_function(lambda: len(self._queue) + len(self._unchecked))

    async def run(self) -> Never:
        """Watch and read, forever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pods.run())
            group.create_task(self._writer.run())
            group.create_task(self._reclaim_forever())
            group.create_task(self._retry_forever())
            while True:
                await self._wake.wait()
                self._wake.clear()
                try:
                    await self._pass(group)
                except RefusedError as error:
                    log.warning("cannot keep logs, trying again: %s", error)
                    await self._api.clock.sleep(RETRY_SECONDS)
                    self._wake.set()
        raise AssertionError("unreachable")

    def _changed(self, change: Notice[LoggedPod]) -> None:
        if isinstance(change, Unreadable):
            log.warning("cannot read pod %s/%s: %s", change.namespace, change.name, change.message)
            return
        pod = change.item or change.previous
        if pod is None:
            return
        if change.item is None:
            self._deleted(pod)
        elif pod.stage is not LogStage.WAIT and pod.is_wanted and not self._is_done(pod):
            self._unchecked[pod.uid] = pod
            self._wake.set()

    def _is_done(self, pod: LoggedPod) -> bool:
        """Whether its log is settled, or is read again only later."""
        return pod.uid in self._settled or (pod.uid in self._retries and pod.stage is LogStage.READ)

    def _deleted(self, pod: LoggedPod) -> None:
        """A pod that vanishes unread is Lost; one that is being read is left to its reader."""
        if pod.uid in self._reading:
            self._ended[pod.uid] = replace(pod, ended=True)
        elif pod.uid in self._settled:
            self._settled.discard(pod.uid)
        elif pod.is_wanted and pod.stage is not LogStage.EMPTY:
            self._gone[pod.uid] = pod
            self._wake.set()

    async def _pass(self, group: asyncio.TaskGroup) -> None:
        """Check, claim and start what can be started now."""
        await self._check()
        await self._settle_gone()
        taken = [pod for pod in self._queue.take(BATCH) if not self._skip(pod)]
        if not taken:
            return
        try:
            sources = {pod.uid: await self._source(pod) for pod in taken}
            claimant = Claimant(name=self._name, now=self._api.clock.now())
            claimed = await log_store.claim(self._database, list(sources.values()), claimant)
        except BaseException:
            for pod in taken:
                self._queue.release(pod)
                self._queue.add(pod)
            raise
        for pod in taken:
            if pod.uid in claimed:
                self._reading.add(pod.uid)
                group.create_task(self._keep(pod, sources[pod.uid]))
            else:
                self._queue.release(pod)
        if len(self._queue):
            self._wake.set()

    def _skip(self, pod: LoggedPod) -> bool:
        """Whether a pod that was taken is being read, or settled, already."""
        if pod.uid not in self._reading and pod.uid not in self._settled:
            return False
        self._queue.release(pod)
        return True

    async def _check(self) -> None:
        """Queue the pods whose logs are not settled."""
        while self._unchecked:
            batch = dict(list(self._unchecked.items())[:CHECKED])
            known = await log_store.known(self._database, batch)
            self._settled |= known
            for uid, pod in batch.items():
                if self._unchecked.get(uid) is pod:
                    del self._unchecked[uid]
                if uid not in known and uid not in self._reading:
                    self._queue.add(pod)

    async def _settle_gone(self) -> None:
        """Record pods that were deleted before their logs were read; another replica may be reading them."""
        while self._gone:
            batch = dict(list(self._gone.items())[:BATCH])
            sources = [await self._source(pod) for pod in batch.values()]
            claimant = Claimant(name=self._name, now=self._api.clock.now())
            claimed = await log_store.claim(self._database, sources, claimant)
            finished = [
                FinishedLog(source=source, outcome=outcomes.gone(batch[source.id]))
                for source in sources
                if source.id in claimed
            ]
            await self._store(finished)
            for uid in batch:
                self._gone.pop(uid, None)

    async def _keep(self, pod: LoggedPod, source: LogOrigin) -> None:
        """Read a claimed log and store it."""
        try:
            await self._read_and_store(pod, source)
        except RefusedError as error:
            log.warning("cannot keep the log of pod %s/%s, trying again: %s", pod.namespace, pod.name, error)
            await self._api.clock.sleep(RETRY_SECONDS)
            self._unchecked.setdefault(pod.uid, pod)
        except Exception:
            log.exception("cannot keep the log of pod %s/%s", pod.namespace, pod.name)
            failure = pod.outcome(LogState.LOST, reason="Internal", message="internal error; see the archive's log")
            await self._give_up(FinishedLog(source=source, outcome=failure))
        finally:
            self._reading.discard(pod.uid)
            if self._ended.pop(pod.uid, None) is not None:  # it was deleted meanwhile, so no change of it follows
                self._settled.discard(pod.uid)
                self._retries.forget(pod.uid)
            self._queue.release(pod)
            self._wake.set()

    async def _give_up(self, finished: FinishedLog) -> None:
        try:
            await self._store([finished])
        except RefusedError as error:
            log.warning("cannot record a lost log: %s", error)

    async def _read_and_store(self, pod: LoggedPod, source: LogOrigin) -> None:
        if await self._quota.is_exceeded(source.namespace_id):
            message = self._quota.message(pod.namespace)
            lost = pod.outcome(LogState.LOST, reason="QuotaExceeded", message=message)
            await self._settle(FinishedLog(source=source, outcome=lost))
            return
        charge = partial(self._quota.charge, source.namespace_id)
        others = OtherLogs(reader=self._reader, source=source, charge=charge)
        early = await others.ended(pod) if pod.stage is LogStage.FOLLOW else []
        finished = await self._reader.read(pod, source, lambda: self._last(pod), charge)
        last = self._last(pod)
        if not last.is_wanted:
            await log_store.release(self._database, source.id, finished.object_name)
            self._settled.add(pod.uid)
            return
        await self._settle(outcomes.completed(finished, pod, last), await others.rest(last, early))

    async def _settle(self, finished: FinishedLog, others: Sequence[FinishedLog] = ()) -> None:
        await self._store([*others, finished])  # the pod may be deleted once its own log is stored
        log_id = finished.source.id
        if finished.outcome.reason != NODE_LOST:
            self._settled.add(log_id)
            self._retries.forget(log_id)
        else:
            self._retries.failed(log_id, self._api.clock.monotonic())

    def _last(self, pod: LoggedPod) -> LoggedPod:
        """The latest version of a pod: one that was followed has ended since."""
        current = self._ended.get(pod.uid) or self._pods.store.get(pod.namespace, pod.name)
        return current if current is not None and current.uid == pod.uid else pod

    async def _store(self, finished: list[FinishedLog]) -> None:
        await self._writer.write(finished)
        for each in finished:
            self._metrics.logs.labels(each.outcome.state.value).inc()
            self._metrics.log_bytes.inc(each.outcome.size)
            self._quota.add(each.source.namespace_id, each.stored)

    async def _source(self, pod: LoggedPod) -> LogOrigin:
        """The entry of a pod. A pod of an older operator, or of a long name, is looked up by its TaskRun.

        Raises RefusedError (503).
        """
        identity = await self._namespaces.of_object(pod.namespace, pod.created_at)
        source = replace(pod.source(), namespace_uid=identity.uid)
        if source.workflow and "-" not in source.task:  # a task is an identifier; a longer label has a hash
            return source
        try:
            owner = parse_owner(await self._api.get(TASKRUNS, pod.namespace, pod.taskrun))
        except (errors.ApiError, ValueError):
            return source
        if owner is None:
            return source
        return replace(source, workflow=owner.workflow, task=owner.task, path=owner.path)

    async def _reclaim_forever(self) -> Never:
        """Renew the claims, and take over those of a replica that stopped."""
        await self._pods.synced.wait()
        while True:
            try:
                await log_store.renew(self._database, Claimant(name=self._name, now=self._api.clock.now()))
                await self._reclaim()
            except RefusedError as error:
                log.warning("cannot find unfinished logs, trying again: %s", error)
            await self._api.clock.sleep(RENEW_SECONDS)

    async def _retry_forever(self) -> Never:
        """Read logs again whose nodes did not answer."""
        while True:
            await self._api.clock.sleep(RETRY_SECONDS)
            for uid in self._retries.take_due(self._api.clock.monotonic()):
                pod = self._pods.store.by_uid(uid)
                if pod is None:
                    self._retries.forget(uid)
                else:
                    self._unchecked[uid] = pod
                    self._wake.set()

    async def _reclaim(self) -> None:
        for row in await log_store.expired(self._database, self._api.clock.now(), CHECKED):
            pod = self._pods.store.by_uid(row["id"])
            if pod is not None:
                self._unchecked[pod.uid] = pod
                self._wake.set()
            else:
                await self._store([outcomes.abandoned(row)])
