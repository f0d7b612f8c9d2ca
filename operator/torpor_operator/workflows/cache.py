"""The controller's cache of the cluster: Workflows as kopf reports them, TaskRuns and pods from reflectors.

It makes snapshots without I/O. It takes in the answers to the controller's writes: no plan repeats the one before it.
"""

import functools
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any

from pydantic import ValidationError
from torpor_crds.models import workflow as workflows
from torpor_crds.models.archive_endpoint import ArchiveEndpoint
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.decoding import UNREADABLE
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_wire import constants

from torpor_operator.controller.slot_pools import PoolKey, SlotAllocator, index_keys
from torpor_operator.controller.workqueue import Key
from torpor_operator.model import cached_taskrun, pod, snapshot
from torpor_operator.model.actions import Need
from torpor_operator.model.gone_uids import GoneUids
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import Answer, ArchiveOutcome, Snapshot
from torpor_operator.quarantine.work_guard import QuarantinedError, WorkGuard
from torpor_operator.settings import Settings
from torpor_operator.taskrun.seen_instances import SeenInstances
from torpor_operator.taskrun.step import TaskRunView
from torpor_operator.workflows.plan import next_pass

_LOG = logging.getLogger(__name__)


class ClusterCache:
    """Workflows, TaskRuns and pods.

    `enqueue` takes the key of a Workflow that has changed, or an object of which has; `enqueue_at` takes one whose
    change has an effect later (seconds since the epoch). `on_orphaned_pod` takes a pod that our finalizer keeps while
    its TaskRun is not in the cache, `on_drop` the key of a Workflow that is gone, and `enqueue_schedule` that of a
    Schedule one of whose objects has changed. `on_forbidden` takes a namespace in which the operator lacks a role. The
    others are read for each snapshot.
    """

    def __init__(  # noqa: PLR0913 - callbacks and what a snapshot reads
        self,
        api: Api,
        settings: Settings,
        *,
        enqueue: Callable[[Key], None],
        enqueue_at: Callable[[Key, float], None],
        on_orphaned_pod: Callable[[Pod], None],
        jitter: Callable[[], float],
        triggerer_pool: Callable[[str], snapshot.TriggerPool] = lambda _: snapshot.TriggerPool(),
        archive_endpoint: Callable[[], ArchiveEndpoint | None] = lambda: None,
        why_not_ready: Callable[[str], str] = lambda _: "",
        archive_outcome: Callable[[Workflow], ArchiveOutcome | None] = lambda _: None,
        on_drop: Callable[[Key], None] = lambda _: None,
        enqueue_schedule: Callable[[Key], None] = lambda _: None,
        image_volumes: Callable[[], bool] = lambda: False,
        guard: WorkGuard | None = None,
        on_forbidden: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._api = api
        guard = guard or WorkGuard()
        self._read_workflow = guard.reader(WORKFLOWS.kind, workflows.parse)
        self._settings = settings
        self._enqueue = enqueue
        self._enqueue_at = enqueue_at
        self._enqueue_schedule = enqueue_schedule
        self._on_orphaned_pod = on_orphaned_pod
        self._triggerer_pool = triggerer_pool
        self._archive_endpoint = archive_endpoint
        self._why_not_ready = why_not_ready
        self._archive_outcome = archive_outcome
        self._image_volumes = image_volumes
        self._on_drop = on_drop
        self.workflows: dict[Key, Workflow] = {}
        self._runs_of_schedules: defaultdict[str, set[Key]] = defaultdict(set)
        self._gone = GoneUids()
        self.unconfirmed_pods: dict[str, str] = {}
        """By uid of the TaskRun: the name of a pod whose creation got no answer."""
        self.creation_errors: dict[str, str] = {}
        """By uid of the Workflow: why one of its TaskRuns could not be created."""
        self.copy_errors: dict[str, str] = {}
        """By uid of the Workflow: why the API server rejected the copy of its template."""
        self._seen = SeenInstances()
        reflector = functools.partial(Reflector, api, jitter=jitter, namespaces=settings.namespaces)
        read_taskrun, read_pod = (
            guard.reader(TASKRUNS.kind, cached_taskrun.read),
            guard.reader(PODS.kind, pod.parse_pod),
        )
        self.taskruns: Reflector[TaskRun] = reflector(
            TASKRUNS, read_taskrun, on_change=self._on_taskrun, index=index_keys
        )
        self.pods: Reflector[Pod] = reflector(
            PODS,
            read_pod,
            on_change=self._on_pod,
            index=pod.owner_uids,
            label_selector=constants.LABEL_TASKRUN_UID,
        )
        self.slots = SlotAllocator(api, self.taskruns.store.indexed, self._has_pod, enqueue, on_forbidden)

    async def refresh(self) -> None:
        """Take in all that was committed before this call. Raises errors.ApiError if the API server cannot say."""
        await self.taskruns.refresh()
        await self.pods.refresh()
        async with aclosing(self._api.pages_in(WORKFLOWS, self._settings.namespaces)) as pages:
            async for page in pages:
                for body in page.items:
                    self.store_workflow(body)

    def store_workflow(self, body: Mapping[str, Any], *, deleted: bool = False) -> str | None:
        """Take in a newer version of a Workflow. Returns why it cannot be read, or None if it can."""
        key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
        error = None
        if deleted:
            self._drop(key)
        elif self._is_current(key, body["metadata"]):
            return None
        else:
            error = self._parse_and_store(key, body)
        self._enqueue(key)
        return error

    def drop_workflow(self, workflow: Workflow) -> None:
        """Remove a Workflow that the API server no longer has. kopf does not report what vanished during a relist."""
        key = Key(workflow.metadata.namespace, workflow.metadata.name)
        cached = self.workflows.get(key)
        if cached is not None and cached.metadata.uid == workflow.metadata.uid:
            self._drop(key)

    def runs_of(self, schedule_uid: str) -> list[Workflow]:
        """The Workflows that a Schedule has started."""
        return [self.workflows[key] for key in sorted(self._runs_of_schedules.get(schedule_uid, ()))]

    def namespaces(self) -> set[str]:
        """The namespaces that have Workflows."""
        return {key.namespace for key in self.workflows}

    def enqueue_namespace(self, namespace: str) -> None:
        """Enqueue every Workflow of a namespace."""
        for key in list(self.workflows):
            if key.namespace == namespace:
                self._enqueue(key)

    def snapshot(self, key: Key, known: Mapping[Need, Answer]) -> Snapshot | None:
        """The Workflow and its objects, or None if there is no such Workflow."""
        workflow = self.workflows.get(key)
        if workflow is None:
            return None
        uid = workflow.metadata.uid
        # An object may carry any uid. The namespace keeps a foreign object from reaching into another namespace.
        runs = [run for run in self.taskruns.store.indexed(uid) if self._is_usable(run, key.namespace)]
        run_uids = {run.metadata.uid for run in runs}
        return Snapshot(
            workflow=workflow,
            taskruns={run.metadata.name: run for run in runs},
            pods={run.metadata.uid: self._pods_of(run) for run in runs},
            unconfirmed_pods={owner: name for owner, name in self.unconfirmed_pods.items() if owner in run_uids},
            created=self._seen.of(uid, workflow.status.clears),
            uncreated=self.creation_errors.get(uid, ""),
            uncopied=self.copy_errors.get(uid, ""),
            # Each TaskRun asks for its pool, each task for the slots of its pool: compute both once.
            pools=functools.cache(self._triggerer_pool),
            slots=functools.cache(functools.partial(self.slots.free, key)),
            holds=self.slots.holds,
            archive=self._archive_endpoint(),
            archival=self._archive_outcome(workflow),
            image_volumes=self._image_volumes(),
            not_ready=self._why_not_ready(key.namespace),
            known=known,
            settings=self._settings,
            now=self._api.clock.now(),
        )

    def _is_usable(self, run: TaskRun, namespace: str) -> bool:
        """Whether the TaskRun is in this namespace, and its latest version could be read."""
        is_here = run.metadata.namespace == namespace
        return is_here and self.taskruns.store.unreadable(namespace, run.metadata.name) is None

    def _pods_of(self, run: TaskRun) -> tuple[Pod, ...]:
        indexed = self.pods.store.indexed(run.metadata.uid)
        return tuple(pod for pod in indexed if pod.namespace == run.metadata.namespace)

    def _has_pod(self, run: TaskRun) -> bool:
        return any(each.name == pod.pod_name(run) for each in self.pods.store.indexed(run.metadata.uid))

    def _drop(self, key: Key) -> None:
        dropped = self.workflows.pop(key, None)
        self.slots.forget(key)
        self._on_drop(key)
        if dropped is not None:
            self._gone.add(dropped.metadata.uid)
            self._seen.forget(dropped.metadata.uid)
            self.creation_errors.pop(dropped.metadata.uid, None)
            self.copy_errors.pop(dropped.metadata.uid, None)
            if (run_of := dropped.spec.run_of) is not None:
                (runs := self._runs_of_schedules[run_of.uid]).discard(key)
                if not runs:
                    del self._runs_of_schedules[run_of.uid]
                self._enqueue_schedule(Key(key.namespace, run_of.schedule))

    def _parse_and_store(self, key: Key, body: Mapping[str, Any]) -> str | None:
        if (undecodable := body.get(UNREADABLE)) is not None:
            _LOG.warning("cannot read Workflow %s/%s: %s", *key, undecodable)
            return str(undecodable)
        try:
            workflow = self._read_workflow(body)
        except (ValidationError, QuarantinedError) as error:
            _LOG.warning("cannot read Workflow %s/%s: %s", *key, error)
            return str(error)
        if (cached := self.workflows.get(key)) is not None and cached.metadata.uid != workflow.metadata.uid:
            self._drop(key)
        self.workflows[key] = workflow
        if (run_of := workflow.spec.run_of) is not None:
            self._runs_of_schedules[run_of.uid].add(key)
            self._enqueue_schedule(Key(key.namespace, run_of.schedule))
        return None

    def _is_current(self, key: Key, metadata: Mapping[str, Any]) -> bool:
        """Whether this version is outdated: the watch repeats the answers to our own writes, and may be late."""
        cached = self.workflows.get(key)
        if cached is None or cached.metadata.uid != metadata.get("uid"):
            return metadata.get("uid") in self._gone
        return int(metadata.get("resourceVersion") or 0) <= int(cached.metadata.resource_version or 0)

    def _on_taskrun(self, change: Notice[TaskRun]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("cannot read TaskRun %s/%s: %s", change.namespace, change.name, change.message)
            readable = self.taskruns.store.get(change.namespace, change.name)
            if readable is not None:
                self._enqueue_owner(readable)
            return
        run, former = change.item, change.previous
        if former is not None and (run is None or run.metadata.uid != former.metadata.uid):
            self._enqueue_owner(former)
        if run is not None:
            workflow = self.workflows.get(_owner(run))
            if workflow is not None and workflow.metadata.uid == run.spec.owner.uid:
                self._seen.add(run)
            self._enqueue_after(run, lambda view: next_pass.after_taskrun(view, former))
        elif former is not None:
            self.unconfirmed_pods.pop(former.metadata.uid, None)
            # The two watches race: the deletion of the pods may have been reported first.
            for pod in self.pods.store.indexed(former.metadata.uid):
                self._check_orphaned(pod)
        for each in (run, former):
            if each is not None and each.spec.pool is not None:
                self.slots.recount(PoolKey(each.metadata.namespace, each.spec.pool))

    def _on_pod(self, change: Notice[Pod]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("cannot read pod %s/%s: %s", change.namespace, change.name, change.message)
            return
        pod, former = change.item, change.previous
        run = self.taskruns.store.by_uid(known.owner_uid) if (known := pod or former) is not None else None
        if run is not None:
            workflow = self.workflows.get(_owner(run))
            self._enqueue_after(run, lambda view: next_pass.after_pod(view, former, pod, workflow))
        elif pod is not None:
            self._check_orphaned(pod)

    def _enqueue_owner(self, run: TaskRun) -> None:
        (self._enqueue if run.spec.schedule is None else self._enqueue_schedule)(_owner(run))

    def _enqueue_after(self, run: TaskRun, due: Callable[[TaskRunView], float | None]) -> None:
        """Enqueue the owner of a TaskRun that has changed, now or when `due` says; that of a Schedule always now."""
        if run.spec.schedule is not None:
            self._enqueue_owner(run)
            return
        view = TaskRunView(
            taskrun=run,
            pods=self._pods_of(run),
            unconfirmed_pod=self.unconfirmed_pods.get(run.metadata.uid),
            pool=self._triggerer_pool(run.spec.trigger_pool),
            known={},
            settings=self._settings,
            now=self._api.clock.now(),
        )
        moment = due(view)
        if moment is not None and moment <= view.now:
            self._enqueue_owner(run)
        elif moment is not None:
            self._enqueue_at(_owner(run), moment)

    def _check_orphaned(self, pod: Pod) -> None:
        if pod.has_finalizer and pod.deleting:
            self._on_orphaned_pod(pod)


def _owner(run: TaskRun) -> Key:
    return Key(run.metadata.namespace, run.spec.owner.name)
