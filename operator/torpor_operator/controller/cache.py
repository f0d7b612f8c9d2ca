"""What the controller knows of the cluster: Workflows as kopf reports them, TaskRuns and pods from reflectors.

Reading it is not I/O: a snapshot is made from memory. It also learns from the answers to the controller's own writes,
so that a plan never repeats what the one before it did.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from functools import cache, partial
from typing import Any

from pydantic import ValidationError
from torpor_api.cache.reflector import Notice, Reflector, Unreadable
from torpor_api.client.api import Api
from torpor_api.client.decoding import UNREADABLE
from torpor_api.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_api.models import workflow as workflows
from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import Workflow
from torpor_wire import constants
from torpor_wire.archive_endpoint import ArchiveEndpoint
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.state import TERMINAL

from torpor_operator.controller.slot_pools import Place, SlotAllocator, word
from torpor_operator.controller.workqueue import Key
from torpor_operator.model import cached_taskrun, pod, snapshot
from torpor_operator.model.actions import Need
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import Answer, Snapshot
from torpor_operator.settings import Settings
from torpor_operator.taskrun import builder

_LOG = logging.getLogger(__name__)


class Observer:
    """The three stores, and who to tell that a Workflow should be looked at."""

    def __init__(  # noqa: PLR0913 - whom it tells, and what it asks
        self,
        api: Api,
        *,
        touched: Callable[[Key], None],
        suspect: Callable[[Pod], None],
        jitter: Callable[[], float],
        pools: Callable[[str], snapshot.Pool] = lambda _: snapshot.Pool(),
        archive: Callable[[], ArchiveEndpoint | None] = lambda: None,
        missing: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._api = api
        self._pools = pools
        self._archive = archive
        self._missing = missing
        self._touched = touched
        self._suspect = suspect
        self.workflows: dict[Key, Workflow] = {}
        self.unclear: dict[str, str] = {}  # by uid of the TaskRun: a pod that may have been created, or not
        self.uncreated: dict[str, str] = {}  # by uid of the Workflow: why a TaskRun of it could not be created
        self._created: defaultdict[str, dict[tuple[str, int], dict[Path, Indexes]]] = defaultdict(dict)
        """By uid of the Workflow, by task and clears, by frame."""
        self.taskruns: Reflector[TaskRun] = Reflector(
            api,
            TASKRUNS,
            cached_taskrun.read,
            on_change=self._taskrun_changed,
            index=_by_workflow_and_pool,
            jitter=jitter,
        )
        self.pods: Reflector[Pod] = Reflector(
            api,
            PODS,
            pod.parse,
            label_selector=constants.LABEL_TASKRUN_UID,
            on_change=self._pod_changed,
            index=pod.owners,
            jitter=jitter,
        )

        self.ledger = SlotAllocator(api, self.taskruns.store.indexed, self._has_pod, touched)

    def _has_pod(self, run: TaskRun) -> bool:
        name = pod.name_of(run)
        return any(pod.name == name for pod in self.pods.store.indexed(run.metadata.uid))

    async def refresh(self) -> None:
        """Learn all that was committed before this call. Raises errors.ApiError where it cannot be read."""
        await self.taskruns.refresh()
        await self.pods.refresh()
        async with aclosing(self._api.pages(WORKFLOWS)) as pages:
            async for page in pages:
                for body in page.items:
                    self.saw_workflow(body)

    def saw_workflow(self, body: Mapping[str, Any], *, deleted: bool = False) -> str | None:
        """Take in a Workflow as the API server sent it; one that is no newer than the one held is ignored.

        Returns why it cannot be read, where it cannot.
        """
        key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
        trouble = None
        if deleted:
            self._drop(key)
        elif self._knows(key, body["metadata"]):
            return None
        else:
            trouble = self._keep(key, body)
        self._touched(key)
        return trouble

    def lost_workflow(self, workflow: Workflow) -> None:
        """Let go of a Workflow that the API server no longer has: kopf does not report what vanished unseen."""
        key = Key(workflow.metadata.namespace, workflow.metadata.name)
        held = self.workflows.get(key)
        if held is not None and held.metadata.uid == workflow.metadata.uid:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        dropped = self.workflows.pop(key, None)
        self.ledger.forget(key)
        if dropped is not None:
            self._created.pop(dropped.metadata.uid, None)
            self.uncreated.pop(dropped.metadata.uid, None)

    def namespaces(self) -> set[str]:
        """Those that have Workflows."""
        return {key.namespace for key in self.workflows}

    def touch_namespace(self, namespace: str) -> None:
        """Have every Workflow of a namespace looked at."""
        for key in list(self.workflows):
            if key.namespace == namespace:
                self._touched(key)

    def snapshot(self, key: Key, known: Mapping[Need, Answer], settings: Settings, now: float) -> Snapshot | None:
        """The Workflow and what belongs to it, or None where there is no such Workflow."""
        workflow = self.workflows.get(key)
        if workflow is None:
            return None
        # By namespace too: whoever creates an object writes any uid into it, and none reaches into another namespace.
        runs = [run for run in self.taskruns.store.indexed(workflow.metadata.uid) if self._stands(run, key.namespace)]
        by_task: dict[str, dict[Path, dict[int, TaskRun]]] = {}
        for run in runs:
            by_task.setdefault(run.spec.task, {}).setdefault(run.spec.frame, {})[run.spec.map_index] = run
        return Snapshot(
            workflow=workflow,
            taskruns={run.metadata.name: run for run in runs},
            by_task=by_task,
            pods={run.metadata.uid: self._pods_of(run) for run in runs},
            unclear={
                run.metadata.uid: self.unclear[run.metadata.uid] for run in runs if run.metadata.uid in self.unclear
            },
            created={
                task: seen
                for (task, clears), seen in self._created[workflow.metadata.uid].items()
                if clears == workflow.status.clears
            },
            uncreated=self.uncreated.get(workflow.metadata.uid, ""),
            pools=cache(self._pools),  # a look through the Leases, which each of its TaskRuns would ask for
            slots=cache(partial(self.ledger.room, key)),  # each task of a pool would count them anew
            holds=self.ledger.holds,
            archive=self._archive(),
            not_ready=self._missing(key.namespace),
            known=known,
            settings=settings,
            now=now,
        )

    def _stands(self, run: TaskRun, namespace: str) -> bool:
        """Whether it is in this namespace, and what is held of it is how it is now."""
        name = run.metadata.name
        return run.metadata.namespace == namespace and self.taskruns.store.unreadable(namespace, name) is None

    def _pods_of(self, run: TaskRun) -> tuple[Pod, ...]:
        found = self.pods.store.indexed(run.metadata.uid)
        return tuple(pod for pod in found if pod.namespace == run.metadata.namespace)

    def _keep(self, key: Key, body: Mapping[str, Any]) -> str | None:
        missing: str | None = body.get(UNREADABLE)
        if missing is not None:
            _LOG.warning("Workflow %s/%s cannot be read: %s", *key, missing)
            return missing
        try:
            seen = workflows.parse(body)
        except ValidationError as error:
            _LOG.warning("Workflow %s/%s cannot be read: %s", *key, error)
            return str(error)
        held = self.workflows.get(key)
        if held is not None and held.metadata.uid != seen.metadata.uid:
            self._drop(key)
        self.workflows[key] = seen
        return None

    def _knows(self, key: Key, metadata: Mapping[str, Any]) -> bool:
        """Whether it is held as it is there, or newer: the watch repeats what the answer to a write has said."""
        held = self.workflows.get(key)
        if held is None or held.metadata.uid != metadata.get("uid"):
            return False
        return _version(metadata.get("resourceVersion")) <= _version(held.metadata.resource_version)

    def _taskrun_changed(self, change: Notice[TaskRun]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("TaskRun %s/%s cannot be read: %s", change.namespace, change.name, change.message)
            readable = self.taskruns.store.get(change.namespace, change.name)
            if readable is not None:
                self._touched(Key(change.namespace, readable.spec.workflow.name))
            return
        if change.item is not None:
            self._note_creation(change.item)
        for item in (change.item, change.previous):
            if item is not None:
                self._touched(Key(item.metadata.namespace, item.spec.workflow.name))
                if item.spec.pool is not None:
                    self.ledger.changed(Place(item.metadata.namespace, item.spec.pool))
        if change.item is None and change.previous is not None:
            self.unclear.pop(change.previous.metadata.uid, None)
            # The two watches race: its pods may have been reported as deleted before it was.
            for pod in self.pods.store.indexed(change.previous.metadata.uid):
                self._suspect_held(pod)

    def _note_creation(self, run: TaskRun) -> None:
        """The status says it a second later at most; whoever deletes the TaskRun before that shall not get it again."""
        owner, position = run.spec.workflow, max(run.spec.map_index, 0)
        held = self.workflows.get(Key(run.metadata.namespace, owner.name))
        if held is None or held.metadata.uid != owner.uid:
            return
        seen, of, frame = self._created[owner.uid], (run.spec.task, run.spec.clears), run.spec.frame
        known = seen.get(of, {}).get(frame, Indexes())
        if position not in known and builder.is_named_for_its_spec(run):
            seen.setdefault(of, {})[frame] = known | Indexes.of([position])

    def _pod_changed(self, change: Notice[Pod]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("pod %s/%s cannot be read: %s", change.namespace, change.name, change.message)
            return
        pod = change.item or change.previous
        run = self.taskruns.store.by_uid(pod.owner_uid) if pod is not None else None
        if run is not None:
            self._touched(Key(run.metadata.namespace, run.spec.workflow.name))
        elif change.item is not None:
            self._suspect_held(change.item)

    def _suspect_held(self, pod: Pod) -> None:
        if pod.held and pod.deleting:
            self._suspect(pod)


def _version(text: str | None) -> int:
    return int(text or 0)


def _by_workflow_and_pool(run: TaskRun) -> Iterable[str]:
    """What has another name than the operator would have given is another's, whatever it says of itself."""
    if not builder.is_named_for_its_spec(run):
        return ()
    # Of a pool, those that may hold a slot: each look goes through all of them, and what has ended stays for days.
    pool = None if run.status.state in TERMINAL else run.spec.pool
    return (run.spec.workflow.uid, *([] if pool is None else [word(run.metadata.namespace, pool)]))
