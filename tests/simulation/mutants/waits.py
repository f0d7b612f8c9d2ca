"""Guards of the triggerer: shard assignment, and waits that share a trigger or a query."""

from typing import Any

from torpor_kubernetes.client import lease
from torpor_triggerer.batching.source import PollSource
from torpor_triggerer.running import capacity, scheduler
from torpor_triggerer.running.shared_triggers import SharedTriggers
from torpor_triggerer.sharding import membership

from tests.simulation.mutants.mutant import Mutant, put


def _turn() -> None:
    settled = scheduler.Scheduler._reconcile

    def stale(self: Any, key: Any) -> None:
        wait, served = self._find(key), self._served(key)
        if wait is None or served is None or wait.segment_id == served.segment_id:
            settled(self, key)

    put(scheduler.Scheduler, "_reconcile", stale)


def _newcomers() -> None:
    def close(_: SharedTriggers, shared: Any) -> None:
        shared.closed = True

    put(SharedTriggers, "_close", close)


def _others() -> None:
    leave = SharedTriggers.leave

    def all_go(self: SharedTriggers, run: Any, **how: Any) -> bool:
        if run.shared is not None:
            run.shared.members = [run]
        return leave(self, run, **how)

    put(SharedTriggers, "leave", all_go)


def _everyone() -> None:
    end = SharedTriggers._end_members

    async def first(self: SharedTriggers, shared: Any, ends: Any) -> None:
        for run in list(shared.members)[1:]:
            shared.members.remove(run)
        await end(self, shared, ends)

    put(SharedTriggers, "_end_members", first)


def _silence() -> None:
    put(lease, "expired", lambda *_: False)
    put(membership, "FORGET_AFTER", 1e9)


def _settled_again() -> None:
    def own(self: Any, shards: frozenset[int]) -> None:
        self._shards = self._shards or shards

    put(scheduler.Scheduler, "set_shards", own)


def _room() -> None:
    left = capacity.FairSlots.leave

    def leave(self: Any, age: Any) -> None:
        left(self, age)

    put(capacity.FairSlots, "leave", leave)


def _whose_answer() -> None:
    deliver = PollSource._deliver

    async def mixed_up(self: Any, lot: Any, found: Any) -> None:
        await deliver(self, lot, [*found[1:], *found[:1]])

    put(PollSource, "_deliver", mixed_up)


def _come_late() -> None:
    def join(self: Any, member: Any) -> None:
        member.source = self

    joined = PollSource.join
    put(PollSource, "join", lambda self, member: (join if self.members else joined)(self, member))


MUTANTS = (
    Mutant(name="segment of a trigger", without="a trigger of an earlier segment continues for the next", switch=_turn),
    Mutant(
        name="joining a shared trigger",
        without="a wait joins a trigger that has fired or is stopping",
        switch=_newcomers,
    ),
    Mutant(
        name="leaving a shared trigger",
        without="one wait that leaves a shared trigger stops it for all",
        switch=_others,
    ),
    Mutant(name="fire for all members", without="a shared trigger fires for its first wait only", switch=_everyone),
    Mutant(name="expired members", without="a dead replica keeps its shards", switch=_silence),
    Mutant(name="freed capacity", without="freed capacity is not passed to queued waits", switch=_room),
    Mutant(name="query result order", without="a batch query's results go to the wrong waits", switch=_whose_answer),
    Mutant(name="joining a batch", without="a batch ignores waits that join later", switch=_come_late),
    Mutant(name="shard reassignment", without="a replica keeps serving its initial shards", switch=_settled_again),
)
