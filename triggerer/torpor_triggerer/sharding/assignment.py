"""Which replica owns which shard: highest random weight over the live members, and none has far more than the others.

Every replica computes the same from the same members, so nothing has to be agreed on; and a member that comes or goes
changes the shards that it gains or loses, about one in N. By weight alone, one set of twenty names in seventy leaves a
member with twice its share; so none takes more than `BOUND` times the mean. What is over goes to the next by weight, in
the order of the shards, and a change then moves a shard or two more. Pure.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from math import ceil

from torpor_wire import constants
from torpor_wire.state import State

BOUND = 1.5


def owners(members: Iterable[str], shards: int = constants.SHARDS) -> tuple[str | None, ...]:
    """The member that owns each shard, by shard; None where there are no members."""
    known = sorted(set(members))
    room = dict.fromkeys(known, ceil(BOUND * shards / len(known)) if known else 0)
    found: list[str | None] = []
    for shard in range(shards):
        one = max((member for member in known if room[member]), key=lambda each: _weight(shard, each), default=None)
        if one is not None:
            room[one] -= 1
        found.append(one)
    return tuple(found)


def owner(shard: int, members: Iterable[str]) -> str | None:
    """The member that owns a shard; None where there are no members."""
    return owners(members)[shard]


def owned(member: str, members: Iterable[str], shards: int = constants.SHARDS) -> frozenset[int]:
    """The shards that a member owns."""
    return frozenset(shard for shard, one in enumerate(owners(members, shards)) if one == member)


def _weight(shard: int, member: str) -> tuple[bytes, str]:
    return blake2b(f"{shard}/{member}".encode(), digest_size=8).digest(), member


def selectors(pool: str, owned: AbstractSet[int], shards: int = constants.SHARDS) -> frozenset[str]:
    """The field selectors that together show every wait of the owned shards."""
    whole = f"spec.triggerPool={pool},status.state={State.DEFERRED}"
    if 2 * len(owned) > shards:
        return frozenset({whole})
    return frozenset(f"{whole},status.trigger.shard={shard}" for shard in owned)
