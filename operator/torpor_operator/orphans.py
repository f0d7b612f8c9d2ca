"""Pods that a finalizer of ours keeps though their TaskRun is gone: no Workflow's plan sees them, so this lets them go.

A TaskRun that is deleted takes its pods with it; a container task's pod would stay for ever, waiting for an outcome
that nobody stores. That the TaskRun is gone is confirmed by a read, since its store may only be behind.
"""

import asyncio
import logging
from typing import Never

from torpor_api import errors
from torpor_api.api import Api
from torpor_api.clock import Clock
from torpor_api.resources import TASKRUNS

from torpor_operator import containers
from torpor_operator.apply import Applier
from torpor_operator.pods import Pod

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
