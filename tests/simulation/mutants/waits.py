"""Guards of the triggerer: shard assignment, and waits that share a trigger or a query."""

from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

from torpor_kubernetes.client import lease
from torpor_triggerer.batching import results
from torpor_triggerer.batching.source import PollSource
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.running import capacity, lifecycle
from torpor_triggerer.running.scheduler import Scheduler
from torpor_triggerer.running.shared_triggers import SharedTriggers
from torpor_triggerer.running.state import SharedTrigger
from torpor_triggerer.sharding import membership

from tests.simulation.mutants.mutant import Mutant, put


def _any_segment() -> None:
    put(PackedWait, "is_same", lambda wait, served: wait.uid == served.uid)


def _closed_triggers() -> None:
    serve = SharedTriggers.serve
    latest: WeakKeyDictionary[SharedTriggers, dict[Hashable, SharedTrigger]] = WeakKeyDictionary()

    def join_closed(self: SharedTriggers, run: Any, trigger: Any, services: Any, key: Hashable) -> None:
        triggers = latest.setdefault(self, {})
        if key in triggers and triggers[key].closed:
            self.join(run, triggers[key])
            return
        serve(self, run, trigger, services, key)
        if run.shared is not None and run.shared.key is not None:
            triggers[run.shared.key] = run.shared

    put(SharedTriggers, "serve", join_closed)


def _all_leave() -> None:
    leave = SharedTriggers.leave

    def all_go(self: SharedTriggers, run: Any, **how: Any) -> bool:
        if run.shared is not None:
            run.shared.members = [run]
        return leave(self, run, **how)

    put(SharedTriggers, "leave", all_go)


def _first_wait_only() -> None:
    def build(host: Any, trigger_log: Any, clock: Any, spawn: Any, on_end: Any) -> SharedTriggers:
        async def end_first(run: Any, ended: Any) -> None:
            if run is run.shared.members[0]:
                await on_end(run, ended)

        return SharedTriggers(host, trigger_log, clock, spawn, end_first)

    put(lifecycle, "SharedTriggers", build)


def _no_expiry() -> None:
    put(lease, "expired", lambda *_: False)
    put(membership, "FORGET_AFTER", 1e9)


def _initial_shards() -> None:
    set_shards = Scheduler.set_shards
    initial: WeakKeyDictionary[Scheduler, frozenset[int]] = WeakKeyDictionary()

    def keep_initial(self: Scheduler, shards: frozenset[int]) -> None:
        initial[self] = initial.get(self) or shards
        set_shards(self, initial[self])

    put(Scheduler, "set_shards", keep_initial)


def _unused_capacity() -> None:
    left = capacity.FairSlots.leave

    def leave(self: Any, age: Any) -> None:
        left(self, age)

    put(capacity.FairSlots, "leave", leave)


def _rotated_results() -> None:
    poll = results.poll

    async def rotated(*args: Any) -> list[Any] | Exception:
        answers = await poll(*args)
        return answers if isinstance(answers, Exception) else [*answers[1:], *answers[:1]]

    put(results, "poll", rotated)


def _no_late_joins() -> None:
    def join(self: Any, member: Any) -> None:
        member.source = self

    join_first = PollSource.join
    put(PollSource, "join", lambda self, member: (join if self.members else join_first)(self, member))


MUTANTS = (
    Mutant(
        name="segment of a trigger",
        without="a trigger of an earlier segment continues for the next",
        switch=_any_segment,
    ),
    Mutant(
        name="joining a shared trigger",
        without="a wait joins a trigger that has fired or is stopping",
        switch=_closed_triggers,
    ),
    Mutant(
        name="leaving a shared trigger",
        without="one wait that leaves a shared trigger stops it for all",
        switch=_all_leave,
    ),
    Mutant(
        name="fire for all members", without="a shared trigger fires for its first wait only", switch=_first_wait_only
    ),
    Mutant(name="expired members", without="a dead replica keeps its shards", switch=_no_expiry),
    Mutant(name="freed capacity", without="freed capacity is not passed to queued waits", switch=_unused_capacity),
    Mutant(name="query result order", without="a batch query's results go to the wrong waits", switch=_rotated_results),
    Mutant(name="joining a batch", without="a batch ignores waits that join later", switch=_no_late_joins),
    Mutant(name="shard reassignment", without="a replica keeps serving its initial shards", switch=_initial_shards),
)
