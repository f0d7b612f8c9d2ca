"""Divides the free slots of a pool among the Workflows that demand some. Pure.

TaskRuns that resume come first, over all Workflows: they have waited for hours. Then each free slot goes to the
Workflow that holds the fewest, and among equals to the one that has demanded longest.
"""

import heapq
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one Workflow demands of a pool. `since` is a time of any clock, the same for all."""

    held: int
    resumes: int
    starts: int
    since: float

    @property
    def total(self) -> int:
        """How many more slots it would take."""
        return self.resumes + self.starts


def divide(free: int, demands: Mapping[K, Demand]) -> dict[K, int]:
    """How many more slots each may take now. A Workflow that gets none is absent."""
    if free >= sum(demand.total for demand in demands.values()):
        return {key: demand.total for key, demand in demands.items() if demand.total}
    shares: Counter[K] = Counter()
    for resuming in (True, False):
        heap = [
            (demand.held + shares[key], demand.since, order, key)
            for order, (key, demand) in enumerate(demands.items())
            if shares[key] < _limit(demand, resuming=resuming)
        ]
        heapq.heapify(heap)
        for _ in range(free - shares.total()):
            if not heap:
                break
            held, since, order, key = heapq.heappop(heap)
            shares[key] += 1
            if shares[key] < _limit(demands[key], resuming=resuming):
                heapq.heappush(heap, (held + 1, since, order, key))
    return dict(shares)


def _limit(demand: Demand, *, resuming: bool) -> int:
    return demand.resumes if resuming else demand.total
