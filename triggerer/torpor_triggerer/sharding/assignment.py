"""Assigns shards to replicas by highest random weight, with a bound on each replica's share. Pure.

Every replica computes the same from the same members, so no agreement is needed. A member that joins or leaves moves
about one shard in N. By weight alone, one in seventy sets of twenty members has a member with twice its share; so no
member gets more than `BOUND` times the mean. The excess goes to the next members by weight, in the order of shards,
which moves one or two more shards on a change.
"""

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from math import ceil

from torpor_wire import constants
from torpor_wire.state import State

BOUND = 1.5
STREAMS = 4
"""The most streams of a replica."""
SHOWN = 2.5
"""A replica watches at most so many times the shards that it owns: of two replicas, each may watch all."""


def owners(members: Iterable[str], shards: int = constants.SHARDS) -> tuple[str | None, ...]:
    """Return the owner of each shard; None without members."""
    known = sorted(set(members))
    slots = dict.fromkeys(known, ceil(BOUND * shards / len(known)) if known else 0)
    assigned: list[str | None] = []
    for shard in range(shards):
        member = max((member for member in known if slots[member]), key=lambda each: _weight(shard, each), default=None)
        if member is not None:
            slots[member] -= 1
        assigned.append(member)
    return tuple(assigned)


def owner(shard: int, members: Iterable[str]) -> str | None:
    """Return the owner of a shard; None without members."""
    return owners(members)[shard]


def owned(member: str, members: Iterable[str], shards: int = constants.SHARDS) -> frozenset[int]:
    """Return the shards of a member."""
    return frozenset(shard for shard, shard_owner in enumerate(owners(members, shards)) if shard_owner == member)


def _weight(shard: int, member: str) -> tuple[bytes, str]:
    return blake2b(f"{shard}/{member}".encode(), digest_size=8).digest(), member


def streams(running: Collection[frozenset[int]], owned: frozenset[int]) -> frozenset[frozenset[int]]:
    """Return the sets of shards to watch, each as one stream, given those that are watched.

    A stream lists its waits once. So the running ones stay, and what they lack becomes one more, until they are too
    many or show too much that others own. Then one stream of exactly the owned shards replaces them.
    """
    kept = {shards for shards in running if shards & owned}
    missing = owned.difference(*kept)
    wanted = frozenset(kept | {missing} if missing else kept)
    shown = sum(map(len, wanted))
    if len(wanted) > STREAMS or shown > SHOWN * len(owned):
        return frozenset({owned})
    return wanted


def selector(pool: str, watched: AbstractSet[int], shards: int = constants.SHARDS) -> str:
    """Return the field selector that matches every wait of these shards, and no wait of others.

    The API server has no selector for one of several values, so it excludes all other shards.
    """
    whole = f"spec.triggerPool={pool},status.state={State.DEFERRED}"
    if len(watched) == 1:
        return f"{whole},status.trigger.shard={next(iter(watched))}"
    others = (f",status.trigger.shard!={shard}" for shard in range(shards) if shard not in watched)
    return f"{whole}{''.join(others)}"
