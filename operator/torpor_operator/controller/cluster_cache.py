"""The controller's cache of the cluster: Workflows as kopf reports them, TaskRuns and pods from reflectors.

It reads without I/O and decides nothing. It takes in the answers to the controller's writes: no plan repeats the one
before it.
"""

import functools
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from pydantic import ValidationError
from torpor_crds.models import workflow as workflows
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes import timing
from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.decoding import UNREADABLE
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_wire import constants
from torpor_wire.state import TERMINAL

from torpor_operator.controller.workqueue import Key, key_of, owner_key
from torpor_operator.model import actions, cached_taskrun, pod
from torpor_operator.model.pod import Pod
from torpor_operator.model.run_index import GoneUids, RunIndex
from torpor_operator.quarantine.work_guard import QuarantinedError, WorkGuard
from torpor_operator.settings import Settings
from torpor_operator.taskrun.cache_index import SeenInstances, index_keys

_LOG = logging.getLogger(__name__)


class ClusterListener(Protocol):
    """What reacts to changes in the cache, at once and without I/O. Each kind has one."""

    def on_workflow(self, key: Key, workflow: Workflow | None) -> None:
        """A Workflow was stored. None if its new version cannot be read."""

    def on_workflow_dropped(self, key: Key, workflow: Workflow | None) -> None:
        """A Workflow is gone; None if it was not in the cache."""

    def on_taskrun(self, taskrun: TaskRun, former: TaskRun | None) -> None:
        """A TaskRun was created or changed."""

    def on_taskrun_dropped(self, taskrun: TaskRun) -> None:
        """A TaskRun is gone, was replaced by another of its name, or its new version cannot be read."""

    def on_pod(self, taskrun: TaskRun, pod: Pod | None, former: Pod | None) -> None:
        """A pod of a TaskRun was created or changed, or is gone (None)."""

    def on_orphaned_pod(self, pod: Pod) -> None:
        """Our finalizer keeps a pod that no Workflow in the cache plans."""


class ClusterCache:
    """Workflows, TaskRuns and pods."""

    def __init__(
        self,
        api: Api,
        settings: Settings,
        *,
        guard: WorkGuard,
        jitter: Callable[[], float],
        on_taskrun_body: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        """`on_taskrun_body` takes the JSON of each version of a TaskRun, since the cache keeps a part of it."""
        self._api = api
        self._settings = settings
        self._read_workflow = guard.reader(WORKFLOWS.kind, self._parse_workflow)
        self._listeners: list[ClusterListener] = []
        self.workflows: dict[Key, Workflow] = {}
        self.runs: RunIndex[Key] = RunIndex(self.workflows)
        self._gone = GoneUids()
        self.disrupted_pods = GoneUids()
        self.unconfirmed_pods: dict[str, str] = {}
        """By uid of the TaskRun: the name of a pod whose creation got no answer."""
        self.creation_errors: dict[str, actions.Notice] = {}
        """By uid of the Workflow: why one of its TaskRuns could not be created."""
        self.copy_errors: dict[str, str] = {}
        """By uid of the Workflow: why the API server rejected the copy of its template."""
        self.seen = SeenInstances()
        reflector = functools.partial(Reflector, api, jitter=jitter, namespaces=settings.namespaces)

        def read(body: Any) -> TaskRun:
            taskrun = cached_taskrun.read(body)
            if on_taskrun_body is not None:
                on_taskrun_body(body)
            return taskrun

        read_taskrun = guard.reader(TASKRUNS.kind, read)
        self.taskruns: Reflector[TaskRun] = reflector(
            TASKRUNS, read_taskrun, on_change=self._on_taskrun, index=index_keys
        )
        self.pods: Reflector[Pod] = reflector(
            PODS,
            guard.reader(PODS.kind, pod.parse_pod),
            on_change=self._on_pod,
            index=pod.owner_uids,
            label_selector=constants.LABEL_TASKRUN_UID,
        )

    def subscribe(self, listener: ClusterListener) -> None:
        """Report every change from now on to a listener."""
        self._listeners.append(listener)

    async def refresh(self) -> None:
        """Take in all that was committed before this call. Raises errors.ApiError if the API server cannot say."""
        reflected = (reflector.catch_up(self._settings.relist_limit) for reflector in (self.taskruns, self.pods))
        await timing.together(*reflected, self._relist_workflows(store=True))

    async def drop_deleted(self) -> None:
        """Drop the Workflows that the API server no longer has: kopf does not report deletions during its own relist.

        Raises errors.ApiError.
        """
        await self._relist_workflows(store=False)

    async def _relist_workflows(self, *, store: bool) -> None:
        """Drop the Workflows that a list does not have, and store the others if asked to."""
        cached = list(self.workflows.values())
        listed: set[str] = set()
        versions: set[int] = set()
        async with aclosing(self._api.pages_in(WORKFLOWS, self._settings.namespaces)) as pages:
            async for page in pages:
                listed.update(body["metadata"]["uid"] for body in page.items)
                versions.add(int(page.resource_version))
                for body in page.items if store else ():
                    self.store_workflow(body)
        oldest = min(versions, default=0)
        for workflow in cached:
            metadata = workflow.metadata
            if metadata.uid not in listed and int(metadata.resource_version or 0) <= oldest:
                self.drop_workflow(workflow)

    def store_workflow(self, body: Mapping[str, Any], *, deleted: bool = False) -> str | None:
        """Take in a newer version of a Workflow. Returns why it cannot be read, or None if it can."""
        key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
        if deleted:
            cached = self.workflows.get(key)
            if cached is None or cached.metadata.uid == body["metadata"].get("uid"):
                self._drop(key)  # otherwise the watch is late: another Workflow has the name since
            return None
        if self._is_outdated(key, body["metadata"]):
            return None
        error = self._parse_and_store(key, body)
        for listener in self._listeners:
            listener.on_workflow(key, self.workflows[key] if error is None else None)
        return error

    def drop_workflow(self, workflow: Workflow) -> None:
        """Remove a Workflow that the API server no longer has. kopf does not report what vanished during a relist."""
        key = key_of(workflow.metadata)
        cached = self.workflows.get(key)
        if cached is not None and cached.metadata.uid == workflow.metadata.uid:
            self._drop(key)

    def runs_of(self, schedule_uid: str) -> list[Workflow]:
        """The Workflows that a Schedule has started."""
        return [*self.runs.started_by(schedule_uid)]

    def child_runs(self, taskruns: Iterable[TaskRun]) -> dict[str, tuple[Workflow, ...]]:
        """The Workflows that TaskRuns have started, by the uid of the TaskRun."""
        started = {run.metadata.uid: self.runs.started_by(run.metadata.uid) for run in taskruns if run.spec.run}
        return {uid: runs for uid, runs in started.items() if runs}

    def is_awaited(self, workflow: Workflow) -> bool:
        """Whether the TaskRun that started this Workflow has not ended, or is about to be created again."""
        parent = workflow.spec.parent
        taskrun = None if parent is None else self.taskruns.store.by_uid(parent.uid)
        if parent is None or taskrun is not None:
            return taskrun is not None and taskrun.status.state not in TERMINAL
        outer = self.workflows.get(Key(workflow.metadata.namespace, parent.workflow))
        return outer is not None and outer.metadata.uid == parent.uid and outer.status.completion_time is None

    def taskruns_of(self, owner: Key, uid: str) -> list[TaskRun]:
        """The TaskRuns of an owner whose latest version can be read.

        An object may carry any uid. The namespace keeps a foreign object from reaching into another namespace.
        """
        store = self.taskruns.store
        return [
            run
            for run in store.indexed(uid)
            if run.metadata.namespace == owner.namespace
            and store.unreadable(owner.namespace, run.metadata.name) is None
        ]

    def pods_of(self, taskrun: TaskRun) -> tuple[Pod, ...]:
        """The pods of a TaskRun."""
        indexed = self.pods.store.indexed(taskrun.metadata.uid)
        return tuple(pod for pod in indexed if pod.namespace == taskrun.metadata.namespace)

    def has_pod(self, taskrun: TaskRun) -> bool:
        """Whether the pod of the present segment of a TaskRun exists."""
        name = pod.pod_name(taskrun)
        return any(present.name == name for present in self.pods.store.indexed(taskrun.metadata.uid))

    def owner_of(self, taskrun: TaskRun) -> Workflow | None:
        """The Workflow of the name that a TaskRun gives its owner."""
        return self.workflows.get(owner_key(taskrun))

    def namespaces(self) -> set[str]:
        """The namespaces that have Workflows."""
        return {key.namespace for key in self.workflows}

    def _drop(self, key: Key) -> None:
        dropped = self.workflows.pop(key, None)
        if dropped is not None:
            self._gone.add(dropped.metadata.uid)
            self.seen.forget(dropped.metadata.uid)
            self.creation_errors.pop(dropped.metadata.uid, None)
            self.copy_errors.pop(dropped.metadata.uid, None)
            self.runs.discard(key, dropped)
        for listener in self._listeners:
            listener.on_workflow_dropped(key, dropped)
        for taskrun in self.taskruns.store.indexed(dropped.metadata.uid) if dropped is not None else ():
            self._check_orphaned(*self.pods.store.indexed(taskrun.metadata.uid))

    def _parse_and_store(self, key: Key, body: Mapping[str, Any]) -> str | None:
        if (undecodable := body.get(UNREADABLE)) is not None:
            _LOG.warning("cannot read Workflow %s/%s: %s", *key, undecodable)
            return str(undecodable)
        try:
            workflow = self._read_workflow(body)
        except (ValidationError, QuarantinedError) as error:
            _LOG.warning("cannot read Workflow %s/%s: %s", *key, error)
            return str(error)
        cached = self.workflows.get(key)
        if cached is not None and cached.metadata.uid != workflow.metadata.uid:
            self._drop(key)
        elif cached is not None and cached.spec.parent != workflow.spec.parent:
            self.runs.discard(key, cached)
        self.workflows[key] = workflow
        self.runs.add(key, workflow)
        return None

    def _parse_workflow(self, body: Mapping[str, Any]) -> Workflow:
        """The Workflow, with the spec that is in the cache if it has not changed."""
        return workflows.parse(body, self.workflows.get(Key(body["metadata"]["namespace"], body["metadata"]["name"])))

    def _is_outdated(self, key: Key, metadata: Mapping[str, Any]) -> bool:
        """Whether this version is outdated: the watch repeats the answers to our own writes, and may be late."""
        cached = self.workflows.get(key)
        if cached is None:
            return metadata.get("uid") in self._gone
        # A version of another uid that is older is of a Workflow that is gone, and had the name before.
        return int(metadata.get("resourceVersion") or 0) <= int(cached.metadata.resource_version or 0)

    def _on_taskrun(self, change: Notice[TaskRun]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("cannot read TaskRun %s/%s: %s", change.namespace, change.name, change.message)
            readable = self.taskruns.store.get(change.namespace, change.name)
            if readable is not None:
                self._report_dropped(readable)
            return
        taskrun, former = change.item, change.previous
        if former is not None and (taskrun is None or taskrun.metadata.uid != former.metadata.uid):
            self._report_dropped(former)
        if taskrun is not None:
            if self._is_planned(taskrun):
                self.seen.add(taskrun)
            for listener in self._listeners:
                listener.on_taskrun(taskrun, former)
        elif former is not None:
            self.unconfirmed_pods.pop(former.metadata.uid, None)
            self._check_orphaned(*self.pods.store.indexed(former.metadata.uid))

    def _report_dropped(self, taskrun: TaskRun) -> None:
        for listener in self._listeners:
            listener.on_taskrun_dropped(taskrun)

    def _on_pod(self, change: Notice[Pod]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("cannot read pod %s/%s: %s", change.namespace, change.name, change.message)
            return
        present, former = change.item, change.previous
        if present is None and former is not None and former.disrupted:
            self.disrupted_pods.add(former.uid)
        known = present or former
        taskrun = self.taskruns.store.by_uid(known.owner_uid) if known is not None else None
        if taskrun is not None:
            for listener in self._listeners:
                listener.on_pod(taskrun, present, former)
        if present is not None and (taskrun is None or not self._is_planned(taskrun)):
            self._check_orphaned(present)

    def _is_planned(self, taskrun: TaskRun) -> bool:
        """Whether a Workflow plans this TaskRun. A deletion with `--cascade=orphan` leaves TaskRuns without one."""
        workflow = self.owner_of(taskrun)
        return workflow is not None and workflow.metadata.uid == taskrun.spec.owner.uid

    def _check_orphaned(self, *pods: Pod) -> None:
        """Report those of pods without a plan that our finalizer keeps. Watches race: the deletion may come first."""
        for kept in (each for each in pods if each.has_finalizer and each.deleting):
            for listener in self._listeners:
                listener.on_orphaned_pod(kept)
