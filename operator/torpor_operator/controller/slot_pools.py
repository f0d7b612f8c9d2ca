"""Who holds slots of which pool, over all Workflows: what a plan wants to start is admitted here, or has to wait.

A pool is a name and a number in the ConfigMap `torpor-pools` of a namespace. A slot is given to a TaskRun by its name,
before it or its pod is created, and taken back when it holds no pod any more, so that no two plans take the last one.
It must not know what a task is.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Never

from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import CONFIG_MAPS
from torpor_api.models.taskrun import TaskRun
from torpor_wire import constants
from torpor_wire.state import State

from torpor_operator.controller.fair_share import Claim, divided
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import Action, CreatePod, CreateTaskRun

_LOG = logging.getLogger(__name__)
_EVERY = 5.0
_DIGITS = 9
_PAUSE = 0.1
_UNSEEN_SECONDS = 60.0
"""How long a TaskRun that was admitted may not be seen in the store before its slot is free again."""


class Capacity(NamedTuple):
    """How many TaskRuns may hold a slot of a pool at a time; `deferred`: also those that wait."""

    slots: int
    deferred: bool = False


_UNREAD = Capacity(slots=0)
"""Of a pool that may be there: nothing is known yet."""


class Place(NamedTuple):
    """A pool of a namespace."""

    namespace: str
    pool: str


class _Wish(NamedTuple):
    """One action that takes a slot, and for which TaskRun."""

    place: Place
    action: Action
    name: str
    resumes: bool


class _Slot(NamedTuple):
    """Which Workflow a slot was given to, and when by the monotonic clock."""

    holder: Key
    since: float


class SlotAllocator:
    """The slots of all pools.

    `runs` gives the TaskRuns of a pool, those that have not ended, by its word in their store; `has_pod` whether
    one's present pod exists.
    """

    def __init__(
        self,
        api: Api,
        runs: Callable[[str], Iterable[TaskRun]],
        has_pod: Callable[[TaskRun], bool],
        wake: Callable[[Key], None],
    ) -> None:
        self._api = api
        self._runs = runs
        self._has_pod = has_pod
        self._wake = wake
        self._changed: set[Place] = set()
        self._change = asyncio.Event()
        self._news = asyncio.Event()
        self._capacities: dict[str, dict[str, Capacity]] = {}  # by namespace, as far as it has been read
        self._asked: defaultdict[str, set[Key]] = defaultdict(set)  # by namespace: whose tasks name pools there
        self._given: defaultdict[Place, dict[str, _Slot]] = defaultdict(dict)  # by name of the TaskRun
        self._seen: defaultdict[Place, set[str]] = defaultdict(set)  # names of its TaskRuns at the last look
        self._claims: defaultdict[Place, dict[Key, Claim]] = defaultdict(dict)

    def room(self, key: Key, pool: str) -> int | None:
        """How many slots are free, 0 too while that is not known yet; None where there is no such pool."""
        place = Place(key.namespace, pool)
        self._asked[key.namespace].add(key)
        if key.namespace not in self._capacities:
            self._news.set()
        return None if self._capacity(place) is None else self._free(place)

    def holds(self, run: TaskRun) -> bool:
        """Whether a TaskRun has a slot of its pool."""
        pool = run.spec.pool
        return pool is not None and run.metadata.name in self._given[Place(run.metadata.namespace, pool)]

    def _capacity(self, place: Place) -> Capacity | None:
        pools = self._capacities.get(place.namespace)
        return _UNREAD if pools is None else pools.get(place.pool)

    def admitted(self, key: Key, actions: Sequence[Action]) -> list[Action]:
        """What of a plan may be done now: all but what wants a slot of a pool that has none for it."""
        wishes: defaultdict[Place, list[_Wish]] = defaultdict(list)
        for action in actions:
            wish = _wish(key, action)
            if wish is not None and not self._only_waits(wish):
                wishes[wish.place].append(wish)
        for place in [place for place, claims in self._claims.items() if key in claims and place not in wishes]:
            self._drop_claim(key, place)
        refused = {id(wish.action) for place, some in wishes.items() for wish in self._refused(key, place, some)}
        return [action for action in actions if id(action) not in refused]

    def changed(self, place: Place) -> None:
        """A TaskRun of the pool has changed: a slot may be free."""
        if self._claims.get(place):
            self._changed.add(place)
            self._change.set()

    async def run(self) -> Never:
        """Read the pools that are in use, and wake whoever can have a slot, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_reading())
            while True:
                await self._change.wait()
                self._change.clear()
                for place in sorted(self._changed):
                    self._look(place)
                self._changed.clear()
                await self._api.clock.sleep(_PAUSE)

    async def _keep_reading(self) -> Never:
        while True:
            self._news.clear()
            for namespace in sorted(namespace for namespace, asking in self._asked.items() if asking):
                try:
                    await self._read(namespace)
                except errors.ApiError as error:
                    _LOG.warning("cannot read the pools of %s: %s", namespace, error.message)
            await self._until_news()

    async def _until_news(self) -> None:
        """Wait for the next time to read, or for a namespace that was not read yet."""
        waits: list[asyncio.Task[object]] = [
            asyncio.create_task(self._news.wait()),
            asyncio.create_task(self._api.clock.sleep(_EVERY)),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    def _look(self, place: Place) -> None:
        for key in divided(self._free(place), self._claims[place]):
            self._wake(key)

    def _only_waits(self, wish: _Wish) -> bool:
        """Whether it begins with a wait, and the pool does not count those."""
        if not isinstance(wish.action, CreateTaskRun) or "trigger" not in wish.action.body["spec"]:
            return False
        capacity = self._capacity(wish.place)
        return capacity is not None and capacity is not _UNREAD and not capacity.deferred

    def forget(self, key: Key) -> None:
        """A Workflow that wants nothing any more, having gone."""
        self._asked[key.namespace].discard(key)
        self.withdraw(key)

    def withdraw(self, key: Key) -> None:
        """A Workflow that wants nothing for now."""
        for place in list(self._claims):
            self._drop_claim(key, place)

    def _drop_claim(self, key: Key, place: Place) -> None:
        """Without it the others may have more, and nobody else would tell them."""
        if self._claims[place].pop(key, None) is not None:
            self.changed(place)

    def _refused(self, key: Key, place: Place, wishes: Sequence[_Wish]) -> list[_Wish]:
        given = self._given[place]
        self._settle(place)
        fresh = sorted((wish for wish in wishes if wish.name not in given), key=lambda wish: not wish.resumes)
        claims = self._claims[place]
        if not fresh:
            self._drop_claim(key, place)
            return []
        claims[key] = self._claim(key, place, fresh)
        free = self._free(place)
        allowed = divided(free, claims).get(key, 0)
        now = self._api.clock.monotonic()
        given.update((wish.name, _Slot(key, now)) for wish in fresh[:allowed])
        if allowed == len(fresh):
            del claims[key]
        else:
            claims[key] = self._claim(key, place, fresh[allowed:])
        if free > allowed:
            self.changed(place)  # it asks for less than before, or what is left is for others
        return fresh[allowed:]

    def _claim(self, key: Key, place: Place, fresh: Sequence[_Wish]) -> Claim:
        former = self._claims[place].get(key)
        resumes = sum(wish.resumes for wish in fresh)
        return Claim(
            held=sum(slot.holder == key for slot in self._given[place].values()),
            resumes=resumes,
            starts=len(fresh) - resumes,
            since=self._api.clock.monotonic() if former is None else former.since,
        )

    def _free(self, place: Place) -> int:
        self._settle(place)
        capacity = self._capacity(place)
        return capacity.slots - len(self._given[place]) if capacity is not None else 0

    def _settle(self, place: Place) -> None:
        """Take back the slots of those that hold no pod, and note those that do: another leader may have let them."""
        capacity, given = self._capacity(place), self._given[place]
        now, seen, before = self._api.clock.monotonic(), set[str](), self._seen[place]
        for run in self._runs(word(*place)):
            name = run.metadata.name
            seen.add(name)
            match run.status.state:
                case State.SCHEDULED if not self._has_pod(run):
                    pass  # it keeps its slot, or waits for one
                case State.SCHEDULED | State.RUNNING:
                    given.setdefault(name, _Slot(Key(place.namespace, run.spec.workflow.name), now))
                case State.DEFERRED if capacity is not None and capacity.deferred:
                    given.setdefault(name, _Slot(Key(place.namespace, run.spec.workflow.name), now))
                case _:
                    given.pop(name, None)
        for name, slot in list(given.items()):
            if name not in seen and (name in before or now - slot.since > _UNSEEN_SECONDS):
                del given[name]
        self._seen[place] = seen

    async def _read(self, namespace: str) -> None:
        try:
            found = (await self._api.get(CONFIG_MAPS, namespace, constants.POOLS_CONFIG)).get("data") or {}
        except errors.NotFound:
            found = {}
        read = capacities(found)
        if read != self._capacities.get(namespace):
            self._capacities[namespace] = read
            for key in sorted(self._asked[namespace]):
                self._wake(key)


def word(namespace: str, pool: str) -> str:
    """By which the TaskRuns of a pool are found in the store."""
    return f"pool {namespace}/{pool}"


def capacities(data: Mapping[str, str]) -> dict[str, Capacity]:
    """The pools of a ConfigMap: `gpu: "2"`, and `gpu.deferred: "true"` where those that wait count too.

    What is no number of slots is no pool.
    """
    return {
        name: Capacity(slots=int(text), deferred=data.get(f"{name}.deferred", "").strip().lower() == "true")
        for name, text in data.items()
        if text.strip().isdecimal() and len(text.strip()) <= _DIGITS and "." not in name
    }


def _wish(key: Key, action: Action) -> _Wish | None:
    match action:
        case CreatePod(taskrun=run) if run.spec.pool is not None:
            resumes = run.status.segment > 0
            return _Wish(Place(key.namespace, run.spec.pool), action, run.metadata.name, resumes=resumes)
        case CreateTaskRun(body=body) if body["spec"].get("pool") is not None:
            return _Wish(Place(key.namespace, body["spec"]["pool"]), action, body["metadata"]["name"], resumes=False)
        case _:
            return None
