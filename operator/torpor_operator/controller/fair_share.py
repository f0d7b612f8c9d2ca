"""How the free slots of a pool are divided among the Workflows that want some. Pure.

Those that resume come first, over all Workflows: hours of waiting stand behind them. Then each free slot goes to the
Workflow that holds the fewest; among equals to the one that has wanted longest.
"""

import heapq
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one Workflow wants of a pool. `since` is a moment of any clock, the same for all."""

    held: int
    resumes: int
    starts: int
    since: float

    @property
    def wants(self) -> int:
        """How many slots more it would take."""
        return self.resumes + self.starts


def divided(free: int, claims: Mapping[K, Claim]) -> dict[K, int]:
    """How many more slots each may take now; who gets none is not in it."""
    if free >= sum(claim.wants for claim in claims.values()):
        return {key: claim.wants for key, claim in claims.items() if claim.wants}
    given: Counter[K] = Counter()
    for resuming in (True, False):
        line = [
            (claim.held + given[key], claim.since, place, key)
            for place, (key, claim) in enumerate(claims.items())
            if given[key] < _limit(claim, resuming=resuming)
        ]
        heapq.heapify(line)
        for _ in range(free - given.total()):
            if not line:
                break
            held, since, place, key = heapq.heappop(line)
            given[key] += 1
            if given[key] < _limit(claims[key], resuming=resuming):
                heapq.heappush(line, (held + 1, since, place, key))
    return dict(given)


def _limit(claim: Claim, *, resuming: bool) -> int:
    return claim.resumes if resuming else claim.wants
