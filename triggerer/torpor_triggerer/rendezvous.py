"""Which replica owns which shard: highest random weight over the live members.

Every replica computes the same from the same members, so nothing has to be agreed on; and a member that comes or goes
changes only the shards that it gains or loses, about one in N. Pure.
"""

from collections.abc import Iterable
from hashlib import blake2b

from torpor_wire import keys


def owner(shard: int, members: Iterable[str]) -> str | None:
    """The member that owns a shard; None where there are no members."""
    return max(members, key=lambda member: (_weight(shard, member), member), default=None)


def owned(member: str, members: Iterable[str], shards: int = keys.SHARDS) -> frozenset[int]:
    """The shards that a member owns."""
    known = list(members)
    return frozenset(shard for shard in range(shards) if owner(shard, known) == member)


def _weight(shard: int, member: str) -> bytes:
    return blake2b(f"{shard}/{member}".encode(), digest_size=8).digest()
