"""What the causes of a run need beside its own objects: Events, pools of slots, and who holds them.

They are read rarely and only where a cause can depend on them. A caller who may not read one gets less precise causes.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import CONFIG_MAPS, EVENTS, TASKRUNS, Resource
from torpor_views.facts import Facts, PodFacts
from torpor_views.model import RunView
from torpor_wire import constants
from torpor_wire.state import State

RENEW_SECONDS = 30.0
_LIMIT = 500
_EXPLAINED = frozenset({State.SCHEDULED, State.DEFERRED})
"""States whose causes can depend on Events or on slots."""


class RunFacts:
    """The facts of one run, as of the last read."""

    def __init__(self, api: Api, namespace: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._namespace = namespace
        self._monotonic = monotonic
        self._read_at = float("-inf")
        self._facts = Facts()

    def facts(self, pods: Sequence[PodFacts] | None) -> Facts:
        """Return the facts, with these pods; None if they may not be read."""
        if pods is None:
            return self._facts
        by_taskrun: dict[str, tuple[PodFacts, ...]] = {}
        for pod in pods:
            by_taskrun[pod.taskrun] = (*by_taskrun.get(pod.taskrun, ()), pod)
        return replace(self._facts, pods=by_taskrun)

    async def renew(self, run: RunView) -> bool:
        """Read the facts again if a cause can depend on them and they are old. Returns whether they were read."""
        if run.ended or self._monotonic() - self._read_at < RENEW_SECONDS:
            return False
        if not any(instance.state in _EXPLAINED for instance in run.all_instances()):
            return False
        self._read_at = self._monotonic()
        uses_pools = any(task.pool for task in run.tasks)
        self._facts = Facts.parse(
            events=await self._first_page(EVENTS, "type=Warning") or (),
            pools=await self._pools() if uses_pools else None,
            taskruns=await self._holders() if uses_pools else None,
        )
        return True

    async def _holders(self) -> list[Object] | None:
        """The TaskRuns that run; None if they are too many to read, for a precise count needs all."""
        running = await self._first_page(TASKRUNS, f"status.state={State.RUNNING}")
        return None if running is None or len(running) >= _LIMIT else running

    async def _first_page(self, resource: Resource, field_selector: str) -> list[Object] | None:
        pages = self._api.pages(resource, self._namespace, field_selector=field_selector, limit=_LIMIT)
        try:
            return (await anext(pages)).items
        except (api_errors.ApiError, StopAsyncIteration):
            return None
        finally:
            await pages.aclose()

    async def _pools(self) -> dict[str, Any] | None:
        try:
            return await self._api.get(CONFIG_MAPS, self._namespace, constants.POOLS_CONFIG)
        except api_errors.NotFound:
            return {}
        except api_errors.ApiError:
            return None
