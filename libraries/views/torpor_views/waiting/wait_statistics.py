"""Counts of many waits: by class, by host and by age, what shares a trigger, and what is due next. Pure.

Waits are added one by one and not kept, so memory is bounded for any number of them.
"""

import heapq
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_views import json_fields
from torpor_views.instance import InstanceView, TriggerView
from torpor_views.json_fields import Fields
from torpor_views.waiting import wait_groups, wait_source

DUE_MAX = 500
KINDS_MAX = 50
"""Classes and hosts that are counted apart; the others are one."""
SHARED_MAX = 20
OTHERS = "others"
_KEYS_MAX = 20_000
_BLAMED_MAX = 50
_AGES = (
    (60.0, "under 1 min"),
    (600.0, "1 to 10 min"),
    (3600.0, "10 to 60 min"),
    (6 * 3600.0, "1 to 6 h"),
    (24 * 3600.0, "6 to 24 h"),
    (7 * 24 * 3600.0, "1 to 7 days"),
)
_OLDEST = "over 7 days"
_STUCK = frozenset({Reason.QUEUED, Reason.POOL_UNSERVED, Reason.FIRE_FORBIDDEN})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DueWait:
    """A wait whose end is known. `at`: seconds since the epoch."""

    at: float
    namespace: str
    workflow: str
    ref: str
    class_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedWaits:
    """A running trigger that serves several waits."""

    class_name: str
    subject: str
    waits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedWait:
    """A wait whose trigger blocked the event loop, as its message says."""

    namespace: str
    workflow: str
    ref: str
    class_name: str
    message: str
    since: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWaits:
    """The waits of a pool. `stuck`: those that no triggerer looks after."""

    waits: int = 0
    stuck: int = 0


@dataclass(slots=True)
class WaitStatistics:
    """What was added. `now` is in seconds since the epoch."""

    now: float
    total: int = 0
    triggers: int = 0
    """Running triggers that serve the waits."""
    blamed: list[BlamedWait] = field(default_factory=list)
    _classes: Counter[str] = field(default_factory=Counter)
    _hosts: Counter[str] = field(default_factory=Counter)
    _ages: Counter[str] = field(default_factory=Counter)
    _pools: dict[str, PoolWaits] = field(default_factory=dict)
    _keys: dict[Hashable, list[int]] = field(default_factory=dict)
    _subjects: dict[Hashable, tuple[str, str]] = field(default_factory=dict)
    _due: list[tuple[float, int, DueWait]] = field(default_factory=list)

    def add(self, body: Fields) -> None:
        """Count a TaskRun's JSON, if it waits. Never raises for its content."""
        instance = InstanceView.parse(json_fields.fields(body))
        if instance.state is not State.DEFERRED:
            return
        trigger = instance.trigger or TriggerView(class_name="unknown")
        self.total += 1
        _count(self._classes, trigger.class_name)
        _count(self._hosts, host_of(trigger))
        self._ages[_age(instance, self.now)] += 1
        pool = self._pools.get(instance.trigger_pool, PoolWaits())
        stuck = pool.stuck + (instance.reason in _STUCK)
        self._pools[instance.trigger_pool] = PoolWaits(waits=pool.waits + 1, stuck=stuck)
        self._share(instance, trigger)
        self._blame(instance, trigger)
        self._await(instance, trigger)

    @property
    def by_class(self) -> tuple[tuple[str, int], ...]:
        """Classes with their waits, the most first."""
        return tuple(self._classes.most_common())

    @property
    def by_host(self) -> tuple[tuple[str, int], ...]:
        """Hosts that waits look at with their waits, the most first. Waits without a host are left out."""
        return tuple((host, number) for host, number in self._hosts.most_common() if host)

    @property
    def by_age(self) -> tuple[tuple[str, int], ...]:
        """Ages with their waits, the youngest first."""
        return tuple((label, self._ages[label]) for label in (*(label for _, label in _AGES), _OLDEST))

    @property
    def pools(self) -> Mapping[str, PoolWaits]:
        """The waits of each pool."""
        return self._pools

    @property
    def shared(self) -> tuple[SharedWaits, ...]:
        """The triggers that serve the most waits, those with at least two."""
        most = heapq.nlargest(SHARED_MAX, self._keys.items(), key=lambda item: item[1][0])
        return tuple(
            SharedWaits(class_name=self._subjects[key][0], subject=self._subjects[key][1], waits=number)
            for key, [number] in most
            if number > 1
        )

    @property
    def due(self) -> tuple[DueWait, ...]:
        """The waits whose end is known, the soonest first."""
        return tuple(sorted(wait for _, _, wait in self._due))

    def _share(self, instance: InstanceView, trigger: TriggerView) -> None:
        source = wait_source.wait_source(instance, trigger)
        number = self._keys.get(source.trigger)
        if number is not None:
            number[0] += 1
            return
        self.triggers += 1
        if len(self._keys) < _KEYS_MAX:
            self._keys[source.trigger] = [1]
            self._subjects[source.trigger] = (trigger.class_name, source.label)

    def _blame(self, instance: InstanceView, trigger: TriggerView) -> None:
        if instance.reason == Reason.LOOP_BLOCKED and len(self.blamed) < _BLAMED_MAX:
            message = json_fields.message_line(instance.message)
            self.blamed.append(
                BlamedWait(
                    namespace=instance.namespace,
                    workflow=instance.workflow,
                    ref=instance.ref,
                    class_name=trigger.class_name,
                    message=message,
                    since=instance.deferred_at,
                )
            )

    def _await(self, instance: InstanceView, trigger: TriggerView) -> None:
        """Keep the wait if it ends sooner than those that are kept. Of equal ones, the first stay."""
        at = wait_groups.end_of(instance, trigger, self.now)
        if at is None or (len(self._due) >= DUE_MAX and at >= -self._due[0][0]):
            return
        wait = DueWait(
            at=at,
            namespace=instance.namespace,
            workflow=instance.workflow,
            ref=instance.ref,
            class_name=trigger.class_name,
        )
        entry = (-at, -self.total, wait)
        if len(self._due) < DUE_MAX:
            heapq.heappush(self._due, entry)
        else:
            heapq.heapreplace(self._due, entry)


def host_of(trigger: TriggerView) -> str:
    """Return the host that a wait looks at; empty for one that looks at none."""
    kwargs = json_fields.fields(json_fields.decoded(trigger.kwargs))
    host = json_fields.text(kwargs.get("host"))
    url = json_fields.text(kwargs.get("url"))
    if not host and "://" in url:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            host = ""
    return json_fields.one_line(host, 100)


def _count(counter: Counter[str], kind: str) -> None:
    counter[kind if kind in counter or len(counter) < KINDS_MAX else OTHERS] += 1


def _age(instance: InstanceView, now: float) -> str:
    age = 0.0 if instance.deferred_at is None else now - instance.deferred_at
    return next((label for limit, label in _AGES if age < limit), _OLDEST)
