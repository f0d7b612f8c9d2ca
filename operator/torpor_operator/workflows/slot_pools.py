"""Allocates the slots of pools among all Workflows.

A pool is a name and a number in the ConfigMap `torpor-pools` of a namespace. A TaskRun gets its slot by name, before it
or its pod is created, and frees it when it holds no pod any more. So two plans never take the same slot. Must not know
what a task is.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Never

from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_wire import constants
from torpor_wire.state import State

from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import Action, CreatePod, CreateTaskRun
from torpor_operator.taskrun.cache_index import PoolKey, index_key
from torpor_operator.workflows.fair_share import Demand, divide

_LOG = logging.getLogger(__name__)
_READ_INTERVAL = 5.0
_DIGITS = 9
_PAUSE = 0.1
_UNSEEN_SECONDS = 60.0
"""How long a slot stays allocated to a TaskRun that the cache has never shown."""


class Capacity(NamedTuple):
    """How many TaskRuns may hold a slot of a pool at a time. `deferred`: deferred TaskRuns hold slots, too."""

    slots: int
    deferred: bool = False


_UNKNOWN = Capacity(slots=0)
"""Of a pool whose ConfigMap has not been read yet."""


class _Request(NamedTuple):
    """One action that needs a slot, and the TaskRun that would hold it."""

    pool: PoolKey
    action: Action
    taskrun: str
    resumes: bool


class _Slot(NamedTuple):
    """The Workflow that holds a slot, and since when by the monotonic clock."""

    holder: Key
    since: float


class SlotAllocator:
    """The slots of all pools.

    `taskruns` returns the TaskRuns of a pool that have not ended, by `index_key`. `has_pod` says whether the pod of a
    TaskRun's present segment exists. `enqueue` takes the key of a Workflow that may get a slot, and `on_forbidden` a
    namespace in which the ConfigMap may not be read.
    """

    def __init__(
        self,
        api: Api,
        taskruns: Callable[[str], Iterable[TaskRun]],
        has_pod: Callable[[TaskRun], bool],
        enqueue: Callable[[Key], None],
        on_forbidden: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._on_forbidden = on_forbidden
        self._api = api
        self._taskruns = taskruns
        self._has_pod = has_pod
        self._enqueue = enqueue
        self._changed: set[PoolKey] = set()
        self._change = asyncio.Event()
        self._read_now = asyncio.Event()
        self._capacities: dict[str, dict[str, Capacity]] = {}  # by namespace, once it has been read
        self._users: defaultdict[str, set[Key]] = defaultdict(set)  # by namespace: Workflows whose tasks name pools
        self._allocated: defaultdict[PoolKey, dict[str, _Slot]] = defaultdict(dict)  # by name of the TaskRun
        self._seen: defaultdict[PoolKey, set[str]] = defaultdict(set)  # names of its TaskRuns at the last count
        self._demands: defaultdict[PoolKey, dict[Key, Demand]] = defaultdict(dict)

    def free(self, key: Key, pool: str) -> int | None:
        """The free slots of a pool, 0 while its size is unknown. None if there is no such pool."""
        named = PoolKey(key.namespace, pool)
        self._users[key.namespace].add(key)
        if key.namespace not in self._capacities:
            self._read_now.set()
        return None if self._capacity(named) is None else self._free(named)

    def holds(self, run: TaskRun) -> bool:
        """Whether a TaskRun holds a slot of its pool."""
        pool = run.spec.pool
        return pool is not None and run.metadata.name in self._allocated[PoolKey(run.metadata.namespace, pool)]

    def admit(self, key: Key, actions: Sequence[Action]) -> list[Action]:
        """The actions of a plan without those that need a slot and get none. Allocates the slots of the others."""
        requests: defaultdict[PoolKey, list[_Request]] = defaultdict(list)
        for action in actions:
            request = _request(key, action)
            if request is not None and not self._needs_no_slot(request):
                requests[request.pool].append(request)
        for pool in [pool for pool, demands in self._demands.items() if key in demands and pool not in requests]:
            self._drop_demand(key, pool)
        refused = {
            id(request.action) for pool, wanted in requests.items() for request in self._allocate(key, pool, wanted)
        }
        return [action for action in actions if id(action) not in refused]

    def recount(self, pool: PoolKey) -> None:
        """Note that a TaskRun of the pool has changed: a slot may be free."""
        if self._demands.get(pool):
            self._changed.add(pool)
            self._change.set()

    def forget(self, key: Key) -> None:
        """Remove a Workflow that is gone."""
        self._users[key.namespace].discard(key)
        self.withdraw(key)

    def withdraw(self, key: Key) -> None:
        """Drop all demands of a Workflow until its next plan."""
        for pool in list(self._demands):
            self._drop_demand(key, pool)

    async def run(self) -> Never:
        """Read the pools that are in use, and enqueue the Workflows that can have a slot, forever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_forever())
            while True:
                await self._change.wait()
                self._change.clear()
                for pool in sorted(self._changed):
                    for key in divide(self._free(pool), self._demands[pool]):
                        self._enqueue(key)
                self._changed.clear()
                await self._api.clock.sleep(_PAUSE)

    async def _read_forever(self) -> Never:
        while True:
            self._read_now.clear()
            for namespace in sorted(namespace for namespace, users in self._users.items() if users):
                try:
                    await self._read(namespace)
                except errors.ApiError as error:
                    _LOG.warning("cannot read the pools of namespace %s: %s", namespace, error.message)
            await self._until_next_read()

    async def _until_next_read(self) -> None:
        """Wait for the read interval, or for a namespace whose pools have not been read yet."""
        waits: list[asyncio.Task[object]] = [
            asyncio.create_task(self._read_now.wait()),
            asyncio.create_task(self._api.clock.sleep(_READ_INTERVAL)),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _read(self, namespace: str) -> None:
        try:
            data = (await self._api.get(CONFIG_MAPS, namespace, constants.POOLS_CONFIG)).get("data") or {}
        except errors.Forbidden:
            self._on_forbidden(namespace)
            raise
        except errors.NotFound:
            data = {}
        read = capacities(data)
        if read != self._capacities.get(namespace):
            self._capacities[namespace] = read
            for key in sorted(self._users[namespace]):
                self._enqueue(key)

    def _capacity(self, pool: PoolKey) -> Capacity | None:
        pools = self._capacities.get(pool.namespace)
        return _UNKNOWN if pools is None else pools.get(pool.pool)

    def _needs_no_slot(self, request: _Request) -> bool:
        """Whether the TaskRun begins with a deferral, and the pool does not count those."""
        if not isinstance(request.action, CreateTaskRun) or "trigger" not in request.action.body["spec"]:
            return False
        capacity = self._capacity(request.pool)
        return capacity is not None and capacity is not _UNKNOWN and not capacity.deferred

    def _drop_demand(self, key: Key, pool: PoolKey) -> None:
        """Drop one demand. What it would have got is for others, who must be enqueued."""
        if self._demands[pool].pop(key, None) is not None:
            self.recount(pool)

    def _allocate(self, key: Key, pool: PoolKey, requests: Sequence[_Request]) -> list[_Request]:
        """Allocate this Workflow's share of the free slots, resumes first. Returns the requests that get none."""
        allocated, demands = self._allocated[pool], self._demands[pool]
        self._update_allocated(pool)
        fresh = sorted(
            (request for request in requests if request.taskrun not in allocated),
            key=lambda request: not request.resumes,
        )
        if not fresh:
            self._drop_demand(key, pool)
            return []
        demands[key] = self._demand(key, pool, fresh)
        free = self._free(pool)
        share = divide(free, demands).get(key, 0)
        now = self._api.clock.monotonic()
        allocated.update((request.taskrun, _Slot(key, now)) for request in fresh[:share])
        if share == len(fresh):
            del demands[key]
        else:
            demands[key] = self._demand(key, pool, fresh[share:])
        if free > share:
            self.recount(pool)  # the rest is for others, or this Workflow demands less than before
        return fresh[share:]

    def _demand(self, key: Key, pool: PoolKey, requests: Sequence[_Request]) -> Demand:
        former = self._demands[pool].get(key)
        resumes = sum(request.resumes for request in requests)
        return Demand(
            held=sum(slot.holder == key for slot in self._allocated[pool].values()),
            resumes=resumes,
            starts=len(requests) - resumes,
            since=self._api.clock.monotonic() if former is None else former.since,
        )

    def _free(self, pool: PoolKey) -> int:
        self._update_allocated(pool)
        capacity = self._capacity(pool)
        return capacity.slots - len(self._allocated[pool]) if capacity is not None else 0

    def _update_allocated(self, pool: PoolKey) -> None:
        """Free the slots of TaskRuns that hold no pod, and count those that do: a former leader allocated them."""
        capacity, allocated = self._capacity(pool), self._allocated[pool]
        now, seen, before = self._api.clock.monotonic(), set[str](), self._seen[pool]
        for run in self._taskruns(index_key(pool)):
            name = run.metadata.name
            seen.add(name)
            match run.status.state:
                case State.SCHEDULED if not self._has_pod(run):
                    pass  # it keeps its slot, or waits for one
                case State.SCHEDULED | State.RUNNING:
                    allocated.setdefault(name, _Slot(Key(pool.namespace, run.spec.owner.name), now))
                case State.DEFERRED if capacity is not None and capacity.deferred:
                    allocated.setdefault(name, _Slot(Key(pool.namespace, run.spec.owner.name), now))
                case _:
                    allocated.pop(name, None)
        for name, slot in list(allocated.items()):
            if name not in seen and (name in before or now - slot.since > _UNSEEN_SECONDS):
                del allocated[name]
        self._seen[pool] = seen


def capacities(data: Mapping[str, str]) -> dict[str, Capacity]:
    """The pools of a ConfigMap: `gpu: "2"`, and `gpu.deferred: "true"` if deferred TaskRuns hold slots, too.

    An entry that is not a number of slots is not a pool.
    """
    return {
        name: Capacity(slots=int(text), deferred=data.get(f"{name}.deferred", "").strip().lower() == "true")
        for name, text in data.items()
        if text.strip().isdecimal() and len(text.strip()) <= _DIGITS and "." not in name
    }


def _request(key: Key, action: Action) -> _Request | None:
    match action:
        case CreatePod(taskrun=run) if run.spec.pool is not None:
            resumes = run.status.segment > 0
            return _Request(PoolKey(key.namespace, run.spec.pool), action, run.metadata.name, resumes=resumes)
        case CreateTaskRun(body=body) if body["spec"].get("pool") is not None:
            pool = PoolKey(key.namespace, body["spec"]["pool"])
            return _Request(pool, action, body["metadata"]["name"], resumes=False)
        case _:
            return None
