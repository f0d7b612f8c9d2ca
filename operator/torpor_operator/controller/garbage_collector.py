"""Pods that a finalizer of ours keeps though their TaskRun is gone: no Workflow's plan sees them, so this lets them go.

A TaskRun that is deleted takes its pods with it; a container task's pod would stay for ever, waiting for an outcome
that nobody stores. That the TaskRun is gone is confirmed by a read, since its store may only be behind.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Never

from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import TASKRUNS
from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import Workflow
from torpor_api.timing import Clock
from torpor_wire import constants, instance_paths
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.controller.cache import Observer
from torpor_operator.controller.executor import Applier
from torpor_operator.controller.workqueue import Key
from torpor_operator.model import task_groups
from torpor_operator.model.pod import Pod
from torpor_operator.taskrun import containers

_LOG = logging.getLogger(__name__)
_PAUSE = 1.0


class Orphans:
    """The pods to be looked at; `run` works them off for as long as this replica leads."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._pods: dict[str, Pod] = {}
        self._came = asyncio.Event()

    def suspect(self, pod: Pod) -> None:
        """Note a pod that is held, is being deleted, and has no TaskRun in the store."""
        self._pods[pod.uid] = pod
        self._came.set()

    async def run(self, applier: Applier) -> Never:
        """Let go of each suspect whose TaskRun is gone; one that cannot be answered for is asked again."""
        while True:
            await self._came.wait()
            self._came.clear()
            for pod in list(self._pods.values()):
                await self._look(pod, applier)
            if self._pods:
                await self._clock.sleep(_PAUSE)
                self._came.set()

    async def _look(self, pod: Pod, applier: Applier) -> None:
        try:
            if await self._gone(pod):
                await applier.let_go(containers.freed(pod))
        except (errors.LostRace, errors.NotFound):
            _LOG.debug("pod %s/%s changed meanwhile", pod.namespace, pod.name)
        except errors.ApiError as error:
            _LOG.warning("pod %s/%s: %s", pod.namespace, pod.name, error.message)
            return
        self._pods.pop(pod.uid, None)

    async def _gone(self, pod: Pod) -> bool:
        try:
            found = await self._api.get(TASKRUNS, pod.namespace, pod.owner_name)
        except (errors.NotFound, ValueError):
            # Whoever may create pods writes any label, finalizer and owner: also one that no object can be named.
            return True
        return bool(found["metadata"]["uid"] != pod.owner_uid)


_AT_ONCE = 100


class OrphanReporter:
    """Looks for them for as long as this replica leads; `grace` is in seconds."""

    def __init__(self, observer: Observer, clock: Clock, grace: float) -> None:
        self._observer = observer
        self._clock = clock
        self._grace = grace

    async def run(self, applier: Applier) -> Never:
        """Say on each stray why nothing is done for it, for ever; after a crowd of them the rest have to wait."""
        seen, told = set[str](), set[str]()
        while True:
            await self._clock.sleep(self._grace)
            found = {run.metadata.uid: run for run in self._strays()}
            told &= found.keys()
            for uid in list(islice((uid for uid in found if uid in seen - told), _AT_ONCE)):
                await applier.tell(found[uid], Reason.UNOWNED, self._why(found[uid]))
                told.add(uid)
            seen = set(found)

    def _strays(self) -> Iterator[TaskRun]:
        covered: set[str] = set()
        for workflow in self._observer.workflows.values():
            depths = _depths(workflow)
            own = self._observer.taskruns.store.indexed(workflow.metadata.uid)
            covered.update(run.metadata.uid for run in own if depths.get(run.spec.task) == len(run.spec.frame))
        for run in self._observer.taskruns.store.values():
            if run.metadata.uid not in covered and _is_open(run):
                yield run

    def _why(self, run: TaskRun) -> str:
        asked, task = run.spec.workflow, run.spec.task
        held = self._observer.workflows.get(Key(run.metadata.namespace, asked.name))
        if held is None:
            trouble = f"there is no Workflow {asked.name} in this namespace"
        elif held.metadata.uid != asked.uid:
            trouble = f"Workflow {asked.name} is another one now, with uid {held.metadata.uid}"
        elif all(one.name != task for one in held.spec.tasks):
            trouble = f"Workflow {asked.name} has no task {task}"
        elif (depth := _depths(held)[task]) != len(run.spec.frame):
            trouble = f"task {task} of Workflow {asked.name} stands in {depth} groups, this in {len(run.spec.frame)}"
        else:
            which = instance_paths.written(run.spec.path) or str(constants.UNMAPPED)
            trouble = f"the instance {task}/{which} of Workflow {asked.name} has another name"
        return f"{trouble}, so nothing is done for this TaskRun: delete it"


def _depths(workflow: Workflow) -> Mapping[str, int]:
    """How many groups each task stands in; where the groups cannot be, nothing runs but what somebody made."""
    try:
        return {task: len(chain) for task, chain in task_groups.chains(workflow.spec).items()}
    except task_groups.GroupingError:
        return dict.fromkeys((task.name for task in workflow.spec.tasks), 0)


def _is_open(run: TaskRun) -> bool:
    ended = run.status.state in TERMINAL or run.metadata.deletion_timestamp is not None
    return not ended and run.status.reason != Reason.UNOWNED
