"""Which watches a replica needs for the shards it owns, as field selectors. Pure.

The API server filters: one stream of the whole pool where most of it is ours anyway, else a stream a shard.
"""

from collections.abc import Set as AbstractSet

from torpor_wire import keys
from torpor_wire.state import State


def selectors(pool: str, owned: AbstractSet[int], shards: int = keys.SHARDS) -> frozenset[str]:
    """The field selectors that together show every wait of the owned shards."""
    whole = f"spec.triggerPool={pool},status.state={State.DEFERRED}"
    if 2 * len(owned) > shards:
        return frozenset({whole})
    return frozenset(f"{whole},status.trigger.shard={shard}" for shard in owned)
